"""Words: every text that users see is in the catalogues; a name in the code means one thing.

Two tests search templates and Python for texts that are not marked for translation, whether or not
a test shows them. The third uses a pseudo-language that encloses each text in ⟦ and ⟧: text outside
of these in a mail or page bypassed the catalogue, or was written by a reader.
"""

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jinja2 import nodes

from commentsvc.util import i18n
from commentsvc.util.templates import Templates

PACKAGE = Path(i18n.__file__).parent.parent
TEMPLATES = sorted(
    path
    for path in (PACKAGE / "templates").rglob("*.*")
    if path.suffix in (".html", ".jinja", ".txt")
)
# Whole packages and modules whose texts are for operators and programmers only, in English. What
# Isso's clients are told appears in a browser's console.
TECHNICAL = {
    "archive", "backup", "cli", "compat/isso", "db", "exports", "imports", "inbox", "monitoring",
    "runtime", "settings",
    "api/openapi.py", "auth/edit_tokens.py",
    "admin/api",
    "mentions", "http/forms.py", "http/operation.py", "http/refusals.py", "util/http_client.py",
    "markup/foreign_html.py", "moderation/site_names.py", "util/connect.py", "util/suggestions.py",
    "blog", "util/polite_client.py", "util/connect_advice.py", "http/listening.py",
}  # fmt: skip
SPEAKING = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if not {str(each) for each in (path.relative_to(PACKAGE), *path.relative_to(PACKAGE).parents)}
    & TECHNICAL
)
MARKS = {"_", "gettext", "ngettext", "pgettext"}
# The arguments of these are for programmers, operators or machines.
SILENT = {
    "Operation", "page_operation", "Meta", "_described",
    "Redirection", "warning", "info", "exception", "_log",
}  # fmt: skip
# How texts of other modules begin that are only shown to a program with a wrong request or to an
# operator, and those of errors for which `api.errors` has texts of its own.
FOR_PROGRAMS = (
    "Bearer ", "Mac OS",
    # What our own forms and JSON never contain.
    "A key has ", "A vote has at most ", "Only a message can be sent here.", "Please look at: ",
    "Ask for at most ", "Send JSON to this address.", "Send a form", "Send the body ",
    "The body ", "There are more ",
    "There is no such f", "There is no such p", "There is nothing at this address.",
    "This goes with the order ", "This is not where a list can go on.", "This key was used ",
    "This must be ", "The request cannot be read.", " is not possible here; ", " or ",
    # Errors for those who put the widget into a page.
    "No site has this token.",
    "Answer `OK`", "List the comments of a page (Stac", "Count the comments of a page, or of ",
    "The address of the page ", ", which is not an origin of this site.", "There is no site with ",
    # Texts of exceptions that are replaced by other texts, or go to the log.
    "the thread ", " takes no more comments", " is not in this thread", "no site is named ",
    "the key was used before", "this is not ", "too long", " has a line break", " is no address",
    ": see spam.akismet_key", "Too many pages are kept open", "The server made a mistake.",
    "a role is ", "no moderator is called ", "name one: ", " may not ", " may only read",
    "blog: ", "passkey: ", "provider: ", "Basic ",
)  # fmt: skip

SPOKEN = {"title", "aria-label", "placeholder", "alt", "label"}
# Attributes that a template assembles outside of a tag, classes, and addresses of examples.
ATTRIBUTE = re.compile(r'[\w-]+="[^"]*"?|^/[\w/]+$|^small$')
# What a page shows in every language: names of formats, programs and keys, and signs.
NAMES = {
    "Atom", "RSS", "JSON", "Feed", "UTC", "Markdown", "commentsvc", "moderator", "add", "NAME",
    "data", "DIR", "toml", "MB", "MiB", "j", "k", "a", "s", "d", "u", "x", "o",
}  # fmt: skip


class Visible(HTMLParser):
    """The visible texts of HTML: between tags, and in attributes that screen readers announce."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._silent = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in ("style", "script", "code", "kbd", "svg")
        self.texts += [value for name, value in attrs if name in SPOKEN and value]

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("style", "script", "code", "kbd", "svg")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.texts.append(data)


def words(text: str) -> list[str]:
    """Return the words of a text that differ between languages."""
    text = ATTRIBUTE.sub("", text)
    return [word for word in re.findall(r"[^\W\d_]+", text) if word not in NAMES]


def unmarked(template: Path) -> Iterator[str]:
    """Yield the texts of a template outside of {% trans %} and `_`."""
    folder = template.parent.relative_to(PACKAGE / "templates").as_posix()
    environment = Templates("" if folder == "." else folder).environment
    tree = environment.parse(template.read_text("utf-8"))
    # An expression is replaced by "0", which is no word; HTML tags may span several pieces.
    pieces = []
    for output in tree.find_all(nodes.Output):
        for node in output.nodes:
            pieces.append(node.data if isinstance(node, nodes.TemplateData) else "0")
            for shown in shown_constants(node):
                yield from words(shown)
    if template.suffix == ".html":
        for text in Visible("".join(pieces)).texts:
            yield from words(text)
    else:
        yield from words("".join(pieces))


def shown_constants(node: nodes.Node) -> Iterator[str]:
    """Yield the constants that an expression may show: those of its branches."""
    if isinstance(node, nodes.Const) and isinstance(node.value, str):
        if " " in node.value.strip() or node.value[:1].isupper():
            yield node.value
    elif isinstance(node, nodes.CondExpr):
        for branch in (node.expr1, node.expr2):
            if branch is not None:
                yield from shown_constants(branch)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_a_template_shows_no_text_past_the_catalogue(template: Path) -> None:
    assert list(unmarked(template)) == []


def called(node: ast.AST) -> str:
    """Return the name of the function that is called; "" if the node is no call."""
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def sentences(node: ast.AST, *, raised: bool = False) -> Iterator[str]:
    """Yield the English texts below a node that are not marked for translation.

    They begin with a capital letter, except in the arguments of an error that is `raised`.
    """
    body: list[ast.AST]
    if called(node) in MARKS | SILENT:
        return
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
        body = [*node.body[1 if ast.get_docstring(node) is not None else 0 :]]
    elif isinstance(node, ast.Assert):
        body = []
    else:
        body = list(ast.iter_child_nodes(node))
    text = node.value if isinstance(node, ast.Constant) else None
    raised = raised or isinstance(node, ast.Raise)
    if (
        isinstance(text, str)
        and not text.startswith(FOR_PROGRAMS)
        and (re.match(r"[A-Z][a-z]*(?: |\.$)", text) or (raised and " " in text.strip()))
    ):
        yield text
    for child in body:
        yield from sentences(child, raised=raised)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('raise HttpError(404, "not_found", "Gone for good.")', ["Gone for good."]),
        ('raise BanRefused(f"{value} is no domain")', [" is no domain"]),
        ('title = "Comments on " + page', ["Comments on "]),
        ('title = _("Comments on %(page)s", page=page)', []),
        ('signal = Signal(5, "no-work")', []),
    ],
)
def test_a_text_past_the_catalogue_is_found(source: str, found: list[str]) -> None:
    assert list(sentences(ast.parse(source))) == found


@pytest.mark.parametrize("module", SPEAKING, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_nobody_is_told_anything_past_the_catalogue(module: Path) -> None:
    assert list(sentences(ast.parse(module.read_text("utf-8")))) == []


# Texts at which readers, moderators and newcomers stopped, and which say the same plainly now; and
# promises that we could not keep. The translations are in the language of their file.
REPLACED = {
    "po/messages.pot": [
        "Web site", "Mail me when somebody answers", "That was a lot at once", "Best first",
        "do not fit together", "Codes of an app", "Who finds out your password",
        "Present password", "History, edit", "no form stamp", "Taken, as on all pages",
        "Always taken", "No longer taken", "Two pages are one", "holds from now on",
        "Somebody, you we hope", "No more of these mails", "All is sent",
    ],
    "po/de.po": ["Der Kommentar ist gelöscht"],
    "po/fr.po": ["vous seul "],
    "po/es.po": ["Han sido muchos de una vez"],
    "README.md": [
        "before it is kept", "Inside the elements stands", "All counts of a page come",
        "shut it in", "keep them too, once", "Authors get all that is kept", "told to a manager",
        "Four systems left", "every released version", "all of these", "these methods and more",
    ],
    "static/README.md": ["calls go downward only"],
    "config/README.md": ["shut it in"],
}  # fmt: skip


@pytest.mark.parametrize("name", REPLACED)
def test_no_text_comes_back_that_was_hard_to_read_or_untrue(name: str) -> None:
    text = (PACKAGE.parent / name).read_text()
    text = " ".join(re.sub(r'"\s*\n"', "", text).split())
    assert [each for each in REPLACED[name] if each in text] == []


# Words that meant several things, what is said instead, and where a name must not end with them.
_CODE = ("commentsvc", "core", "static", "tests", "loadtest")
_DELIVERY = ("commentsvc/delivery", "commentsvc/auth", "tests/unit/delivery", "tests/unit/auth")
_NO_PERSONS = tuple(
    f"commentsvc/{name}"
    for name in ("db", "delivery", "settings", "http", "imports/sources", "inbox")
)
SAID_INSTEAD: dict[str, tuple[str, tuple[str, ...]]] = {
    "place": ("page, network, location, position, index or slot", _CODE),
    "told": ("what it is, such as lines, message or sent", _CODE),
    "look": ("check, or the skeleton of a name", _CODE),
    "desk": ("moderation", _CODE),
    "ways": ("channels, or the methods of signing in", _CODE),
    "finding": ("signal", ("commentsvc/spam", "tests/unit/spam")),
    "letter": ("envelope", _DELIVERY),
    "post": ("row, unless HTTP's POST is meant", ("commentsvc/delivery", "tests/unit/delivery")),
    "reader": ("snapshot, parser or thread: a reader is a person", _NO_PERSONS),
}
# Where such a word has its ordinary meaning: a person, HTTP's POST, a letter of the alphabet.
ORDINARY = {
    "commentsvc/db/schema": {"reader"},
    "commentsvc/settings/schema.py": {"reader"},
    "tests/unit/auth/test_signed_links.py": {"letter"},
    "tests/unit/delivery/test_builds.py": {"post"},
}
NAMED_BY_OTHERS = {"PyUnicode_InternInPlace", "do_POST"}
_NOT_CODE = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`""", re.DOTALL
)


def names_in(path: Path) -> Iterator[str]:
    """Yield the names that a file of Python gives, or all that one of C or JavaScript uses.

    A name of another library that Python code only uses is not ours; the names of tests are
    sentences.
    """
    source = path.read_text("utf-8")
    if path.suffix != ".py":
        yield from re.findall(r"[A-Za-z_]\w*", _NOT_CODE.sub(" ", source))
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield "" if node.name.startswith("test_") else node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.asname or ""


def last_word(name: str) -> str:
    """Return the last word of a name in lower case, without a plural's s."""
    words_of_it = re.sub(r"([a-z])(?=[A-Z])", r"\1_", name).lower().strip("_").split("_")
    return words_of_it[-1]


def unclear(path: Path) -> Iterator[str]:
    """Yield the names of a file that say a word that another one is said for."""
    relative = path.relative_to(PACKAGE.parent).as_posix()
    own = set[str]().union(*(each for name, each in ORDINARY.items() if relative.startswith(name)))
    here = [
        word
        for word, (_, folders) in SAID_INSTEAD.items()
        if word not in own and relative.startswith(tuple(f"{each}/" for each in folders))
    ]
    # Reading the names of Python takes long, and many files have none of these words.
    if not re.search(rf"(?i)(?:{'|'.join(here)})s?_*\b", path.read_text("utf-8")):
        return
    for name in {*names_in(path)} - NAMED_BY_OTHERS:
        word = last_word(name)
        for each in here:
            if word in (each, f"{each}s"):
                yield f"{relative}: {name}; say {SAID_INSTEAD[each][0]}"


def test_a_name_says_the_word_that_means_one_thing() -> None:
    files = [
        path
        for folder in _CODE
        for path in sorted((PACKAGE.parent / folder).rglob("*.*"))
        if path.suffix in (".py", ".c", ".h", ".js", ".mjs") and "node_modules" not in path.parts
    ]
    assert [found for path in files for found in unclear(path)] == []


@pytest.mark.parametrize(
    ("name", "code", "found"),
    [
        ("commentsvc/new.py", "def find_place(): ...\nplaceholder = place.replaced = 1", 1),
        ("commentsvc/new.py", "for _place, x.places in (): pass", 2),
        ("commentsvc/delivery/new.py", "lambda post: 0", 1),
        ("commentsvc/api/new.py", "lambda post: 0", 0),
        ("core/new.c", "/* a place */ int lastPlace; char *text = \"place\";", 1),
        ("static/new.js", "const PLACES = `place`, replace = 1;", 1),
    ],
)  # fmt: skip
def test_a_name_with_a_word_that_is_not_said_any_more_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str, found: int
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(code)
    monkeypatch.setattr("tests.test_words.PACKAGE", tmp_path / "commentsvc")
    assert len(list(unclear(path))) == found
