"""Helpers for tests of the widget: Chromium, a built blog, and a service made of routes."""

import functools
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from playwright.sync_api import Locator, Page, Route

from commentsvc.api.static_files import lean, widget_texts
from tests.background import background
from tests.e2e.program import wait_for

ROOT = Path(__file__).parents[2]
WIDGET = ROOT / "static"
# The widget's scripts, without those of the moderation pages and of pages made for other systems.
SCRIPTS = [
    *WIDGET.glob("*.js"),
    *(
        file
        for part in ("form", "pictures", "reader", "thread")
        for file in (WIDGET / part).glob("*.js")
    ),
]
SERVICE = "https://comments.test"  # answered by Playwright's routes; the name does not resolve
POST = "/posts/wet-wood/"
NOW = "2026-11-21T12:00:00Z"  # in the browser
TEXT = "Two coats, and do it the same day."
# The HTML of a comment with a task, code, a footnote, a formula and a mention of comment 3
RICH = (
    '<ul class="contains-task-list"><li>☑ Oil</li></ul><pre><code>a</code></pre>'
    '<p>Oak<sup><a href="#commentsvc-note-a-1" id="commentsvc-ref-a-1" role="doc-noteref">1</a>'
    '</sup> <math alttext="x" display="block"><mi>x</mi></math>'
    '<a href="#commentsvc-3">@Ada Byron</a></p><section role="doc-endnotes"><ol>'
    '<li id="commentsvc-note-a-1"><p>Or ash <a href="#commentsvc-ref-a-1" role="doc-backlink">↩</a>'
    "</p></li></ol></section>"
)

# What a reader's browser loads, besides the catalogues: to show counts, to show a thread, and when
# a comment is begun. Everything else is loaded when it is used.
COUNTING = ("count.js",)
READING = ("comments.css", "comments.js", "common.js")
WRITING = ("form.css", "form/form.js", "thread/actions.js")

TYPES = {".js": "text/javascript", ".css": "text/css", ".json": "application/json"}


def build_blog(hugo: str, service: str, folder: Path, **environ: str) -> Path:
    """Build the demo blog into `folder`, for a service at the address `service`."""
    subprocess.run(
        [hugo, "--source", WIDGET / "demo", "--destination", folder, "--noBuildLock"],
        env={**os.environ, "HUGO_PARAMS_COMMENTSVC_HOST": service, **environ},
        capture_output=True,
        check=True,
        timeout=300,
    )
    return folder


class Blog(ThreadingHTTPServer):
    """A static web server for the blog in `folder`, at an origin of its own.

    Its pages have the strictest policy that allows the widget of `service`.
    """

    def __init__(self, folder: Path, service: str = "") -> None:
        super().__init__(("127.0.0.1", 0), functools.partial(_Files, directory=str(folder)))
        self.folder = folder
        self.service = service

    @property
    def origin(self) -> str:
        """Return the origin as the site's `origins` in the settings have it."""
        return f"http://127.0.0.1:{self.server_port}"


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Do not log."""

    def end_headers(self) -> None:
        """Add the policy."""
        assert isinstance(self.server, Blog)
        allowed = f"'self' {self.server.service}"
        policy = f"default-src {allowed}; base-uri 'none'; object-src 'none'"
        self.send_header("Content-Security-Policy", policy)
        super().end_headers()


@contextmanager
def serve(folder: Path, service: str = "") -> Iterator[Blog]:
    """Serve the blog in `folder` on a thread of its own."""
    with background(Blog(folder, service)) as blog:
        yield blog


def pause_clock(page: Page) -> None:
    """Stop the clock of a tab, so that nothing begins that begins later, such as live updates."""
    page.clock.install(time=NOW)
    page.clock.pause_at(NOW.replace("12:00:00", "12:00:01"))


def wait_in(page: Page, condition: Callable[[], bool], what: str) -> None:
    """Do as `wait_for` while the events of `page` are taken, such as requests to `Answers`.

    The state `networkidle` is reached once for each document, and after a moment without requests,
    which may also be one in which a busy machine runs no script.
    """
    wait_for(lambda: page.evaluate("0") == 0 and condition(), what)


def open_form(page: Page) -> Locator:
    """Use the field below the comments, which becomes a form."""
    thread = page.locator("section.commentsvc-thread")
    thread.locator("> .commentsvc-input, > form textarea").focus()
    form = thread.locator("> form")
    form.wait_for()
    return form


def fill(form: Locator, message: str = TEXT) -> None:
    """Write a comment into `form`, which may have been folded, without sending it."""
    if not form.count():
        open_form(form.page)
    form.locator("textarea").fill(message)
    name = form.locator("[name=author]")
    if name.is_visible():
        name.fill("Rosa Weber")


def send(form: Locator) -> None:
    """Press the button of `form`."""
    form.locator("> .commentsvc-actions > .commentsvc-button").click()


def comment(number: int, message: str, **more: object) -> dict[str, object]:
    """Return a comment as the service sends it."""
    return {
        "id": number,
        "parent": None,
        "author": "Ada Byron",
        "avatar": "",
        "content": message,
        "html": f"<p>{message}</p>",
        "date": "2026-11-20 09:30:00",
        "published": "2026-11-20T08:30:00Z",
        "votes": 0,
        **more,
    }


@functools.cache
def _file(name: str) -> str:
    """Return a file of the widget as the service sends it."""
    texts = widget_texts(name)
    return (lean(name, (WIDGET / name).read_bytes()) if texts is None else texts).decode()


ACTS = ("/votes", "/reports", "/reactions")  # on a comment


class Answers:
    """A fake service in Playwright's routes: it has `comments` on one page and can fail."""

    def __init__(self) -> None:
        self.comments: list[dict[str, object]] = []
        self.deleted: list[dict[str, object]] = []  # comments that have replies
        self.status = "approved"  # of a new comment
        self.part = 1000  # comments in one answer
        self.work: object = None  # the proof of work that a form has to do
        self.length = 8000  # characters that a message may have
        self.posts: list[str] = []  # about the page, on Mastodon
        self.likes = 0  # of the page, on other sites
        self.notices = False  # whether a report may have a contact
        self.images = 0  # bytes that a picture may have; 0 if comments have none
        self.uploads: list[bytes] = []
        self.notify = False  # whether mails about replies are sent
        self.sign_in = False  # whether readers may sign in
        self.notes: list[dict[str, Any]] | None = None  # private ones, if the site takes them
        self.asks: dict[str, object] = {}  # what the site asks for, if it is not the usual
        self.expires: str | None = "2026-11-21T12:15:00Z"  # until when a comment can be changed
        self.closes: str | None = None
        self.voting: str | None = None
        self.emoji: list[str] = []  # with which readers react to comments
        self.reactions: dict[str, int] = {}  # to each page
        self.own: dict[int, str] = {}  # the reader's reactions to comments
        self.reacted: list[dict[str, Any]] = []  # Any: JSON as the widget sent it
        self.latest: list[dict[str, object]] = []
        self.popular: list[dict[str, object]] = []
        self.views: dict[str, int] = {}  # of each page
        self.viewed: list[dict[str, object]] = []
        self.found: list[dict[str, object]] = []  # what a search finds, two at a time
        self.requests: list[tuple[str, str]] = []
        self.submissions: list[dict[str, Any]] = []  # Any: JSON as the widget sent it
        self.acts: list[tuple[str, int, dict[str, Any], str]] = []  # Any: as above
        self._refusals: dict[str, dict[str, Any]] = {}  # Any: keywords of Route.fulfill

    def refuse(
        self,
        method: str,
        status: int,
        fields: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
    ) -> None:
        """Answer requests of `method` with this error until `recover`; 0 breaks the connection."""
        error = {"code": "code", "message": "The service says why.", "fields": dict(fields or {})}
        if not fields:
            del error["fields"]
        body = json.dumps({"error": error}) if body is None else body
        self._refusals[method] = {"status": status, "headers": dict(headers or {}), "body": body}

    def recover(self) -> None:
        """Stop failing."""
        self._refusals.clear()

    def answer(self, route: Route) -> None:
        """Handle a request to SERVICE."""
        request = route.request
        parts = urlsplit(request.url)
        if request.method == "OPTIONS":
            allowed = {"Headers": "content-type, authorization", "Methods": "PATCH, DELETE"}
            headers = {f"Access-Control-Allow-{what}": names for what, names in allowed.items()}
            self._send(route, 204, headers=headers)
            return
        self.requests.append((request.method, request.url.removeprefix(SERVICE)))
        if parts.path.startswith("/static/"):
            name = unquote(parts.path).removeprefix("/static/")
            self._send(route, 200, _file(name), {"Content-Type": TYPES[Path(name).suffix]})
        elif refusal := self._refusals.get(request.method):
            if refusal["status"]:
                self._send(route, **refusal)
            else:
                route.abort()
        elif parts.path.endswith("/stream"):
            self._send(route, 204)  # which ends the stream
        elif request.method in ("PATCH", "DELETE") or (
            parts.path.startswith("/api/comments/") and parts.path.endswith(ACTS)
        ):
            self._act(route, int(parts.path.split("/")[3]))
        elif request.method == "POST":
            self._write(route, parts.path, parse_qs(parts.query))
        else:
            self._read(route, parts.path, parse_qs(parts.query))

    def _write(self, route: Route, path: str, query: dict[str, list[str]]) -> None:
        if path == "/api/reactions":
            sent = json.loads(route.request.post_data or "")
            self.reacted.append(sent)
            self.reactions[sent["emoji"]] += 1 if sent["given"] else -1
            self._send(route, 200, json.dumps({"reactions": self.reactions}))
        elif path == "/api/views":
            [url] = query["url"]
            if url in self.views:
                self.views[url] += 1
            self._send(route, 204 if url in self.views else 404)
        elif path == "/api/images":
            self.uploads.append(route.request.post_data_buffer or b"")
            name = f"{len(self.uploads):032x}-40x30"
            url = f"{SERVICE}/images/{name}.webp"
            self._send(route, 201, json.dumps({"image": f"image:{name}", "url": url}))
        elif path == "/api/notes":
            if self.notes is None:
                error = {"code": "no_notes", "message": "Private notes are not accepted here."}
                self._send(route, 404, json.dumps({"error": error}))
                return
            self.notes.append(json.loads(route.request.post_data or ""))
            self._send(route, 202, json.dumps({"status": "received"}))
        elif path == "/api/preview":
            message = json.loads(route.request.post_data or "")["message"]
            self._send(route, 200, json.dumps({"html": f"<p>{message}</p>"}))
        else:
            self._submit(route)

    def _read(self, route: Route, path: str, query: dict[str, list[str]]) -> None:
        if path == "/api/form-token":
            invitation = {
                "form_token": "a form token",
                "proof_of_work": self.work,
                "length": self.length,
            }
            offered = {"notify": self.notify, **({"sign_in": True} if self.sign_in else {})}
            asks = {"asks": self.asks} if self.asks else {}
            notes = {} if self.notes is None else {"notes": True}
            options = {**invitation, **offered, "images": self.images, **asks, **notes}
            self._send(route, 200, json.dumps(options))
            return
        if path == "/api/reader":
            self._send(route, 200, json.dumps({"name": "Eva", "comments": []}))
            return
        if path == "/api/comments/counts":
            urls = query.get("url", [])
            found = {
                "counts": {url: len(self.comments) if url == POST else 0 for url in urls},
                "reactions": dict.fromkeys(urls, self.reactions),
                "latest": self.latest,
                "popular": dict.fromkeys(query.get("popular", []), self.popular),
                "views": {url: self.views[url] for url in urls if url in self.views},
                "viewed": self.viewed,
            }
            asked = {"counts", *(name for name in found if name in query)}
            self._send(route, 200, json.dumps({name: found[name] for name in asked}))
            return
        if path == "/api/search":
            start = int(query.get("before", ["0"])[0])
            part: dict[str, object] = {"data": self.found[start : start + 2]}
            more = {"next": start + 2} if start + 2 < len(self.found) else {}
            self._send(route, 200, json.dumps(part | more))
            return
        start = int(query.get("after", ["0"])[0])
        step = -1 if query.get("sort") == ["newest"] else 1
        data = self.comments[::step][start : start + self.part]
        body: dict[str, object] = {"data": data, "count": len(self.comments)}
        if self.likes:
            body["likes"] = self.likes
        known = {"posts": self.posts, "deleted": self.deleted, "notices": self.notices}
        body |= {name: value for name, value in known.items() if value}
        if self.closes:
            body["closes"] = self.closes
        if self.voting:
            body["voting"] = self.voting
        if self.emoji:
            body |= {"voting": "reactions", "emoji": self.emoji}
        if start + self.part < len(self.comments):
            body["next"] = str(start + self.part)
        self._send(route, 200, json.dumps(body))

    def _submit(self, route: Route) -> None:
        sent = json.loads(route.request.post_data or "")
        self.submissions.append(sent)
        number = 100 + len(self.submissions)
        author = sent.get("author") or "Anonymous"
        new = comment(number, sent["message"], author=author, parent=sent.get("parent"))
        if self.status == "approved":
            self.comments.append(new)
        body = {
            "status": self.status,
            "comment": new,
            "token": "t",
            "token_expires": self.expires,
            "replies_feed": f"feed/replies.atom?t={new['id']}-word",
        }
        self._send(route, 201 if self.status == "approved" else 202, json.dumps(body))

    def _act(self, route: Route, number: int) -> None:
        """Change, delete or vote on the comment with that number; record what was sent."""
        sent = json.loads(route.request.post_data or "{}")
        token = route.request.headers.get("authorization", "")
        self.acts.append((route.request.method, number, sent, token))
        if "/reactions" in route.request.url:
            self._react(route, number, sent["emoji"])
        elif route.request.url.endswith("/reports"):
            self._send(route, 204)
        elif route.request.method == "DELETE":
            self.comments = [known for known in self.comments if known["id"] != number]
            self._send(route, 204)
        elif route.request.method == "PATCH":
            new = comment(number, sent["message"], edited=NOW)
            if self.status == "approved":
                self.comments = [new if it["id"] == number else it for it in self.comments]
            self._send(route, 200, json.dumps({"status": self.status, "comment": new}))
        else:
            self._send(route, 200, json.dumps({"votes": 3 + sent["vote"], "vote": sent["vote"]}))

    def _react(self, route: Route, number: int, emoji: str) -> None:
        """Count a reaction in place of the reader's last one to that comment."""
        [known] = [each for each in self.comments if each["id"] == number]
        counts: dict[str, int] = {**known.get("reactions", {})}  # type: ignore[dict-item]  # a dict
        for each, more in ((self.own.pop(number, ""), -1), (emoji, 1)):
            if each:
                counts[each] = counts.get(each, 0) + more
                self.own[number] = emoji
        known["reactions"] = {each: count for each, count in counts.items() if count}
        all_ = {each: counts.get(each, 0) for each in self.emoji}
        self._send(route, 200, json.dumps({"reactions": all_, "emoji": emoji}))

    def _send(
        self, route: Route, status: int, body: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        cors = {
            "Access-Control-Allow-Origin": "*",
            "Access-Control-Expose-Headers": "Retry-After",
            "Content-Type": "application/json",
        }
        route.fulfill(status=status, body=body, headers={**cors, **(headers or {})})
