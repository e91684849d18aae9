"""Static files: the widget's, those of a demo blog, and a page at the root if there is no blog.

All files are found once, at the start, and a request only looks a name up: no path from a client
reaches the file system. The shipped files are in memory; those of a demo blog are read when the
cache does not have them.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final
from urllib.parse import quote

from commentsvc.api.parameters import LanguageQuery
from commentsvc.http.compression import compressed
from commentsvc.http.messages import (
    ANY_ORIGIN,
    EMBEDDABLE,
    HTML_UTF8,
    JSON,
    NO_SNIFFING,
    NOT_STORED,
    Headers,
    HttpError,
    Request,
    Response,
)
from commentsvc.http.operation import Content, handles
from commentsvc.http.router import Route, declared_routes
from commentsvc.settings.schema import Settings
from commentsvc.util.i18n import find_language
from commentsvc.util.templates import Templates
from commentsvc.util.threads import ANSWERS, run_in

TAG = ("static",)
TEMPLATES: Final = Templates("")
# By the suffix of a file; others are sent as bytes, which browsers save.
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".gif": "image/gif",
    ".html": HTML_UTF8,
    ".ico": "image/x-icon",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "text/javascript",
    ".json": JSON,
    ".map": JSON,
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".xml": "application/xml",
}


# The widget's texts in a language, or a part of them. The widget names the language of the page,
# whatever it is, so that it need not know which languages there are.
_TEXTS = re.compile(
    r"locales/(.*?)(?:-(tools|form|reactions|views|fresh|since|images|note|moderation))?\.json",
    re.DOTALL,
).fullmatch


def _below(folder: Traversable, prefix: str = "") -> Iterable[tuple[str, Traversable]]:
    """Yield every file below a folder of the package, with its path from there."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _below(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry


@cache
def _shipped() -> Mapping[str, bytes]:
    """Return the content of each of the widget's files, which stay as they were at the start."""
    return {name: file.read_bytes() for name, file in _below(files("commentsvc") / "static")}


_COMMENT: Final = rb"/\*(?:[^*]|\*(?!/))*\*/"
_GAP: Final = rb"(?:\s|//.*|" + _COMMENT + rb")+"
_STRING: Final = rb""""(?:[^"\\\n]|\\(?s:.))*"|'(?:[^'\\\n]|\\(?s:.))*'"""
# A string, a template or a pattern, which stay; a gap that stays a space, between two words or two
# signs; another gap; an end of a statement that another sign ends too. A division stands between
# spaces, a template contains no other, and no statement is empty.
_SCRIPT = re.compile(
    rb"(" + _STRING + rb"|`(?:[^`\\]|\\(?s:.))*`"
    rb"|/(?![/*])(?!(?<=[\w$)\]}\"'`+-] /)(?<!return /) )"
    rb"(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/)"
    rb"|(?:(?<=[\w$])" + _GAP + rb"(?=[\w$#])|(?<=[+-])" + _GAP + rb"(?=[+-]))()"
    rb"|" + _GAP + rb"|;(?=(?:" + _GAP + rb")?\})"
)
# A string; an end of a rule, a sign or an edge that needs no space; a space that has a meaning
_STYLE = re.compile(
    rb"(" + _STRING + rb")|\s*;?\s*(\})\s*|\s*([{;,>])\s*|(?<=[:(])\s+|\s+(?=[)!])|\s+()"
)
_STYLE_COMMENT = re.compile(rb"(" + _STRING + rb")|\s*" + _COMMENT)


def _kept(found: re.Match[bytes]) -> bytes:
    *kept, space = found.groups()
    return next(filter(None, kept), b"" if space is None else b" ")


def lean(name: str, content: bytes) -> bytes:
    """Return a script or stylesheet, as `prettier` writes it, without comments and white space.

    Other files are returned as they are. Tests refuse what would not stay the same.
    """
    if name.endswith(".js"):
        return _SCRIPT.sub(_kept, content)
    if name.endswith(".css"):
        return _STYLE.sub(_kept, _STYLE_COMMENT.sub(rb"\1", content)).strip()
    return content


def widget_texts(name: str) -> bytes | None:
    """Return the JSON file of that name with texts of the widget; None if it is another file."""
    found = _TEXTS(name)
    if found is None:
        return None
    tag, part = found.groups()
    language = find_language(tag)
    return language.part(part) if part else language.widget_json


def blog_paths(folder: Path) -> dict[str, Path]:
    """Return the file for every path of a built static site; ``index.html`` also for its folder.

    Symbolic links to files outside of the folder are left out.
    """
    root = folder.resolve()
    paths = {}
    for path in root.rglob("*"):
        if path.is_file() and path.resolve().is_relative_to(root):
            name = "/" + path.relative_to(root).as_posix()
            paths[name] = path
            if path.name == "index.html":
                paths[name.removesuffix("index.html")] = path
    return paths


# Files that pages load with CORS: modules, and what these ask for.
WITH_CORS: Final = (".js", ".json")


def public_headers(settings: Settings) -> Headers:
    """Return the headers of every public file: caching as in the settings, and any origin."""
    caching = ("Cache-Control", settings.server.cache_control)
    return (caching, ANY_ORIGIN, NO_SNIFFING)


class Files:
    """The handlers for the widget's files, and for those of a demo blog."""

    def __init__(self, settings: Settings, blog: Path | None = None) -> None:
        """Take the settings, and the folder of a built blog to serve at ``/``."""
        self._public = public_headers(settings)
        self._shipped = _shipped()
        self._sent: dict[bytes, Response] = {}  # by what these contain, when they were requested
        self._blog = blog_paths(blog) if blog else {}
        self._sites = settings.sites

    def routes(self) -> list[Route]:
        """Return the table of routes; that of the blog matches every path and comes last."""
        if not self._blog:
            return declared_routes(self)
        _root, static = declared_routes(self)
        return [static, Route("GET", "/{path}", self.blog, target_rule="only")]  # without a query

    @handles("GET", "/", Content("text/html"), ignores_unknown=True, cached=True, errors=(400,))
    def root(self, query: LanguageQuery) -> Response:
        """A page that says what this service is."""
        language = find_language(query.lang)
        page = TEMPLATES.render("root.html", language, sites=self._sites).encode()
        headers = (("Content-Type", TYPES[".html"]), *self._public)
        is_known = query.lang == language.tag  # others have no end
        return Response(200, headers, page, TAG if is_known else ())

    @handles(
        "GET", "/static/{path}", Content("*/*"), ignores_unknown=True, cached=True, errors=(404,)
    )
    async def static(self, request: Request) -> Response:
        """A file of the widget."""
        name = request.decoded_path().removeprefix("/static/")
        content = widget_texts(name) or self._shipped.get(name)
        if content is None:
            raise HttpError(404, "not_found", "There is no such file here.")
        if content not in self._sent:
            self._sent[content] = await run_in(ANSWERS, self._shortened, name, content)
        return self._sent[content]

    def blog(self, request: Request) -> Response:
        """GET /PATH: 200 with a page or file of the demo blog, 301 to a folder, 404. Cached."""
        name = request.decoded_path()
        try:
            path = self._blog[name]
            return self._file(path.name, path.read_bytes())
        except (KeyError, OSError):
            if name + "/" in self._blog:
                return Response(301, (("Location", quote(name) + "/"), NOT_STORED), b"")
            raise HttpError(404, "not_found", "There is no such page here.") from None

    def _shortened(self, name: str, content: bytes) -> Response:
        return compressed(self._file(name, lean(name, content)), best=True)

    def _file(self, name: str, content: bytes) -> Response:
        suffix = name[name.rfind(".") :] if "." in name else ""
        media_type = TYPES.get(suffix, "application/octet-stream")
        headers: Headers = (("Content-Type", media_type), *self._public)
        if suffix not in WITH_CORS:
            headers = (*headers, EMBEDDABLE)
        return Response(200, headers, content, TAG)
