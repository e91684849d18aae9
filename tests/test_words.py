"""Every text that people see is in the catalogue: in templates, in Python, and as it is shown.

Two looks at the sources find texts that are marked nowhere, whether or not a test shows them. The
third is a language in which each text is wrapped in ⟦ and ⟧: what stands outside of these in a
mail or page was said past the catalogue, or was written by a reader.
"""

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jinja2 import nodes

from commentsvc.util import i18n, templates

PACKAGE = Path(i18n.__file__).parent.parent
TEMPLATES = sorted(
    path
    for path in (PACKAGE / "templates").rglob("*.*")
    if path.suffix in (".html", ".jinja", ".txt")
)
# Modules whose texts are for readers and moderators. What `pages.embed` says in Python is for those
# who build pages.
SPEAKING = [*sorted((PACKAGE / "admin").glob("*.py")), PACKAGE / "pages/mail_links.py"]
SPEAKING.append(PACKAGE / "pages/personal_data.py")
MARKS = {"_", "gettext", "ngettext", "pgettext"}
# What these get is for programmers, operators or machines.
SILENT = {"Operation", "page_operation", "link_operation", "Meta", "warning", "info", "exception"}

SPOKEN = {"title", "aria-label", "placeholder", "alt", "label"}
# Attributes that a template puts together outside of a tag, classes, and addresses of examples.
ATTRIBUTE = re.compile(r'[\w-]+="[^"]*"?|^/[\w/]+$|^small$')
# What a page says in every language: names of formats, programs and keys, and signs.
NAMES = {
    "Atom", "RSS", "JSON", "Feed", "UTC", "Markdown", "commentsvc", "moderator", "add", "NAME",
    "data", "DIR", "toml", "MB", "MiB", "j", "k", "a", "s", "d", "u", "x", "o",
}  # fmt: skip


class Visible(HTMLParser):
    """The visible texts of HTML: between the tags, and in attributes that are read out."""

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
    """Return the words of a text that are not the same in every language."""
    text = ATTRIBUTE.sub("", text)
    return [word for word in re.findall(r"[^\W\d_]+", text) if word not in NAMES]


def unmarked(template: Path) -> Iterator[str]:
    """Give the texts of a template that stand outside of {% trans %} and `_`."""
    folder = template.parent.relative_to(PACKAGE / "templates").as_posix()
    environment = templates.environment("" if folder == "." else folder)
    tree = environment.parse(template.read_text("utf-8"))
    # What is computed stands as a name that is no word; HTML tags may span several pieces.
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
    """Give the constants of an expression that it may show: those of its branches."""
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
    """Return the name of what is called; "" for no call."""
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def sentences(node: ast.AST) -> Iterator[str]:
    """Give the English texts below a node that are not marked."""
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
    if isinstance(text, str) and re.match(r"[A-Z][a-z]+(?: |\.$)", text) and text != "Mac OS":
        yield text
    for child in body:
        yield from sentences(child)


@pytest.mark.parametrize("module", SPEAKING, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_a_page_is_told_nothing_past_the_catalogue(module: Path) -> None:
    assert list(sentences(ast.parse(module.read_text("utf-8")))) == []
