"""Templates: the set-up of jinja2 for pages, feeds and mails.

Values are escaped in HTML, and a name without a value is an error. Templates are read with
importlib.resources, since jinja2's PackageLoader does not find a package installed as editable.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from commentsvc.util import i18n
from commentsvc.util.i18n import Language
from commentsvc.util.origin import host_of
from commentsvc.util.text import hue, initial

if TYPE_CHECKING:
    from jinja2 import Environment, Template


class Templates:
    """A folder of templates, or `""` for the templates that are in no folder.

    jinja2 is imported for the first template, since it takes 20 ms of a start and 2 MiB. A template
    is compiled at its first use, which takes up to 20 ms.
    """

    def __init__(
        self,
        folder: str,
        filters: Mapping[str, Callable[..., object]] | None = None,
        constants: Mapping[str, object] | None = None,
        *,
        is_lenient: bool = False,
        autoescape: bool = True,
    ) -> None:
        """Take the filters and constants for templates.

        With `is_lenient`, a missing value is shown as nothing; otherwise it is an error.
        """
        self._folder = folder
        self._filters = filters or {}
        self._constants = constants or {}
        self._is_lenient = is_lenient
        self._autoescape = autoescape
        self._own: Mapping[str, str] | None = None

    def with_own(self, texts: Mapping[str, str]) -> "Templates":
        """Return these templates with `texts` by name in place of some; they run in a sandbox."""
        made = Templates(
            self._folder,
            self._filters,
            self._constants,
            is_lenient=self._is_lenient,
            autoescape=self._autoescape,
        )
        made._own = texts
        return made

    @cached_property
    def environment(self) -> "Environment":
        """Return the Environment for the folder."""
        from jinja2 import ChainableUndefined, Environment, FunctionLoader, StrictUndefined
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        folder, own = files("commentsvc").joinpath("templates", *self._folder.split()), self._own
        kind = Environment if own is None else ImmutableSandboxedEnvironment
        made = kind(
            loader=FunctionLoader(
                lambda name: (own or {}).get(name) or (folder / name).read_text("utf-8")
            ),
            autoescape=self._autoescape,
            undefined=ChainableUndefined if self._is_lenient else StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            extensions=["jinja2.ext.i18n"],
        )
        made.filters["host"] = host_of
        made.filters["hue"] = hue
        made.filters["initial"] = initial
        made.policies["ext.i18n.trimmed"] = True  # line breaks inside {% trans %} become spaces
        made.install_gettext_callables(  # type: ignore[attr-defined] # the extension adds it
            _gettext, _ngettext, newstyle=True, pgettext=_pgettext
        )
        made.filters.update(self._filters)
        made.globals.update(self._constants)
        return made

    def find(self, name: str) -> "Template":
        """Return the template of that name."""
        return self.environment.get_template(name)

    def render(
        self,
        name: str,
        language: Language,
        /,
        **values: Any,  # Any: what it shows
    ) -> str:
        """Return the text of a template with `values`; it gets the `language`, too."""
        template = self.find(name)
        with i18n.speaking(language):
            return template.render(language=language, **values)


def _gettext(text: str) -> str:
    return i18n.spoken().translations.gettext(text)


def _ngettext(singular: str, plural: str, number: int) -> str:
    return i18n.spoken().translations.ngettext(singular, plural, number)


def _pgettext(context: str, text: str) -> str:
    return i18n.spoken().translations.pgettext(context, text)
