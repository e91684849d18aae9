"""The templates of mails: ours, and those in a folder of the operator (`mail.templates`).

A file replaces ours of the same name, and one such as `reply.de.jinja` only in that language. They
are read once, at the start, and checked: `faults` says what is wrong, with file and line. Templates
of the operator run in jinja2's sandbox. If one fails nevertheless, the mail is made by ours, so
that none is lost. Templates make the body of a mail alone, so they cannot change its header.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from commentsvc.util.i18n import Language, languages
from commentsvc.util.suggestions import no_such
from commentsvc.util.templates import Templates

SIZE: Final = 262_144  # bytes of a template
# What the templates of all mails know, besides functions for translations.
_ALWAYS: Final = frozenset({"days", "language", "layout", "parts", "site", "subject"})
_QUOTED: Final = {"page", "quotation"}
_ASKED: Final = {"link", "link_days", "page"}
# What each template knows besides, as docs/mail.md says. `reports` is not always there.
CONTEXTS: Final[Mapping[str, frozenset[str]]] = {
    name: _ALWAYS | values
    for name, values in {
        "account": {"link"},
        "confirm": _ASKED,
        "decided": _ASKED | {"checked", "day", "ground", "outcome", "reason", "statement"},
        "follow": _ASKED,
        "followed": {"comments", "page", "stop"},
        "invitation": {"actor", "link", "until"},
        "note": {
            *("author", "quote_of", "message", "email", "page", "look"),
            *("refused", "may_answer", "account"),
        },
        "note_answer": {"answer", "page"},
        "notes": {"look"},
        "mailed": {"link", "page"},
        "own": {"erase", "export", "link_days"},
        "published": _QUOTED | {"stop"},
        "received": _QUOTED | {"actions", "answer", "look", "refused", "stop"},
        "reply": _QUOTED | {"answered", "may_answer", "stop"},
        "sign_in": {"link", "page"},
        "submitted": {"account", "comments", "may_answer", "number", "reports"},
        "test": {"base"},
    }.items()
}
_SHARED: Final = ("layout.html", "layout.txt", "parts.html", "parts.txt")
NAMES: Final = (*(f"{name}.jinja" for name in CONTEXTS), *_SHARED)
_NAMED = re.compile(r"(\w+)(?:\.([A-Za-z]{2,3}(?:-\w+)*))?\.(\w+)", re.ASCII).fullmatch
# Copies that editors, packages and people leave beside a file; they must not keep a service down.
_COPY = re.compile(r"\A[.#]|(?:~|#|\.(?:bak|old|orig|rej|save|(?:dpkg|ucf)-\w+|rpm\w+))\Z").search

_ENCODING: Final = "utf-8-sig"  # some editors begin a file with a byte order mark

_log = logging.getLogger(__name__)


def _quoted(text: str) -> str:
    """Return a text with ">" before each line, so that no line looks like one of ours."""
    return "\n".join(f"> {each}".rstrip() for each in text.splitlines())


# Each mail is one template, which writes it as text and as HTML.
_AS_TEXT: Final = Templates(
    "mail", {"quoted": _quoted}, {"layout": "layout.txt", "parts": "parts.txt"}, autoescape=False
)
_AS_HTML: Final = Templates(
    "mail", {"quoted": _quoted}, {"layout": "layout.html", "parts": "parts.html"}
)
_OURS: Final = (_AS_TEXT, _AS_HTML)


class MailTemplates:
    """Writes mails by the templates in a folder, and by ours where it has none; "" is no folder."""

    def __init__(self, folder: str) -> None:
        """Raise OSError or UnicodeError if a file cannot be read; `faults` says so before."""
        self._texts = dict(_read(Path(folder))) if folder else {}
        self._pair = lru_cache(len(languages()))(self._of_language)

    def render(self, name: str, language: Language, **values: Any) -> list[str]:  # Any: as shown
        """Return the text and the HTML of a mail by the template of that name."""
        if self._texts:
            try:
                return _render(self._pair(language.tag), name, language, values)
            except Exception:  # whatever the operator's template does
                _log.exception("mail.templates: %s.jinja failed, so ours is used", name)
        return _render(_OURS, name, language, values)

    def _of_language(self, tag: str) -> tuple[Templates, Templates]:
        chosen = {name: text for (name, of), text in self._texts.items() if not of}
        chosen |= {name: text for (name, of), text in self._texts.items() if of == tag}
        return _AS_TEXT.with_own(chosen), _AS_HTML.with_own(chosen)


def _render(
    pair: tuple[Templates, Templates], name: str, language: Language, values: Mapping[str, object]
) -> list[str]:
    return [templates.render(f"{name}.jinja", language, **values) for templates in pair]


def _read(folder: Path) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the texts of a folder's templates, by their name and language ("" for all)."""
    for path in sorted(folder.iterdir()):
        if (named := _NAMED(path.name)) and f"{named[1]}.{named[3]}" in NAMES:
            yield (f"{named[1]}.{named[3]}", named[2] or ""), path.read_text(_ENCODING)


def faults(folder: str) -> Iterator[str]:
    """Yield a line for everything that is wrong in a folder of templates; "" is no folder."""
    if not folder:
        return
    try:
        paths = sorted(path for path in Path(folder).iterdir() if not _COPY(path.name))
    except OSError as error:
        yield f"mail.templates is {folder}, which cannot be read: {error.strerror}."
        return
    for path in paths:
        yield from (f"mail.templates: {path}{fault}" for fault in _faults_of(path))


def _faults_of(path: Path) -> Iterator[str]:
    """Yield what is wrong with a file, each to be written after its name."""
    named = _NAMED(path.name)
    name = f"{named[1]}.{named[3]}" if named else path.name
    if name not in NAMES:
        yield f": {no_such('template', path.name, NAMES)}"
    elif named and named[2] and named[2] not in languages():
        yield f": {no_such('language', named[2], [*languages()])}"
    else:
        try:
            if path.stat().st_size > SIZE:
                yield f" has more than {SIZE >> 10} KiB. Make it shorter."
            else:
                yield from _faults_in(path.read_text(_ENCODING), name)
        except OSError as error:
            yield f" cannot be read: {error.strerror}."
        except UnicodeDecodeError:
            yield " is not UTF-8. Save it in UTF-8."


def _faults_in(text: str, name: str) -> Iterator[str]:
    """Yield what is wrong with a text as the template of that name."""
    from jinja2 import TemplateSyntaxError, nodes
    from jinja2.meta import find_referenced_templates

    environment = _AS_TEXT.with_own({name: text}).environment
    try:
        environment.compile(text, name)
        tree = environment.parse(text)
    except TemplateSyntaxError as error:
        yield f", line {error.lineno}: {error.message}"
        return
    known = _known(name)
    for variable, line in _unknown(tree, known):
        yield f", line {line}: {no_such('variable', variable, sorted(known))}"
    for other in find_referenced_templates(tree):
        if other is not None and other not in NAMES:
            yield f": {no_such('template', other, NAMES)}"
        elif other == name:
            yield " includes or extends itself. Copy what you need of ours into it."
    blocks = {block.name for block in tree.find_all(nodes.Block)}
    if name.startswith("layout.") and "content" not in blocks:
        yield " has no {% block content %}, where the words of all mails stand. Add it."


def _known(name: str) -> frozenset[str]:
    """Return the variables of a template; those in all mails need each to be `is defined`."""
    return CONTEXTS.get(name.partition(".")[0]) or frozenset().union(*CONTEXTS.values())


def _unknown(tree: Any, known: frozenset[str]) -> list[tuple[str, int]]:  # Any: jinja2's nodes
    """Return the variables of a template that no mail gives it, with the lines where they stand."""
    from jinja2 import nodes
    from jinja2.meta import find_undeclared_variables

    # A block does not see what was imported or set outside of it; jinja2 itself does.
    own = {node.name for node in tree.find_all(nodes.Name) if node.ctx != "load"}
    own |= {node.name for node in tree.find_all(nodes.Macro)}
    own |= {node.target for node in tree.find_all(nodes.Import)}
    for node in tree.find_all(nodes.FromImport):
        own |= {each if isinstance(each, str) else each[1] for each in node.names}
    found = find_undeclared_variables(tree) - known - own - {*_AS_TEXT.environment.globals}
    lines: dict[str, int] = {}
    for node in tree.find_all(nodes.Name):
        if node.name in found:
            lines.setdefault(node.name, node.lineno)
    return sorted(lines.items(), key=lambda each: each[1])
