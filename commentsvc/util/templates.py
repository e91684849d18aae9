"""Templates: the set-up of jinja2 for pages, feeds and mails.

Values are escaped in HTML, and a name without a value is an error. Templates are read with
importlib.resources, since jinja2's PackageLoader does not find a package installed as editable.
"""

from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template, Undefined

from commentsvc.util import i18n
from commentsvc.util.i18n import Language


def environment(
    folder: str, undefined: type[Undefined] = StrictUndefined, *, autoescape: bool = True
) -> Environment:
    """Return the Environment for a folder of templates; compiling a template takes 20 ms."""
    templates = files("commentsvc").joinpath("templates", *folder.split())
    made = Environment(
        loader=FunctionLoader(lambda name: (templates / name).read_text("utf-8")),
        autoescape=autoescape,  # noqa: S701 - off only for plain text of mails
        undefined=undefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
    )
    made.filters["host"] = lambda address: urlsplit(address).hostname or ""
    made.policies["ext.i18n.trimmed"] = True  # line breaks inside {% trans %} become spaces
    made.install_gettext_callables(  # type: ignore[attr-defined] # the extension adds it
        _gettext, _ngettext, newstyle=True, pgettext=_pgettext
    )
    return made


def render(template: Template, language: Language, **values: Any) -> str:  # Any: what it shows
    """Return `template` with `values`, in a language, which the template gets as `language`."""
    with i18n.speaking(language):
        return template.render(language=language, **values)


def _gettext(text: str) -> str:
    return i18n.spoken().translations.gettext(text)


def _ngettext(singular: str, plural: str, number: int) -> str:
    return i18n.spoken().translations.ngettext(singular, plural, number)


def _pgettext(context: str, text: str) -> str:
    return i18n.spoken().translations.pgettext(context, text)
