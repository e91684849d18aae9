"""The command `page-view`: a reader's first view of a page with 20 comments, on a slow phone.

Chromium slows its CPU down four times, and its network to 1.6 Mbit/s with 150 ms of latency, as its
developer tools do. The blog's page has a heading, the thread, and a paragraph below it, for which
space is reserved. Each round has an empty browser profile. Then the reader writes a comment and
sends it. nginx compresses the answers of other servers, as it would where they are used. The floor
is the same page with the same comments as plain HTML in it, and no service.

| figure | what it is |
| --- | --- |
| `visible` | ms from the start of the navigation until the frame with all comments is painted |
| `distance` | of that, what is above the floor, as a share of what Isso's median is |
| `bytes`, `requests` | of the comment service, heads included, until a second after that |
| `main` | ms of CPU time of the main thread until then, of the blog's page too |
| `cls` | the cumulative layout shift until then |
| `inp` | ms from the press of the button that sends the comment to the next frame |
"""

import gzip
import json
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from html import escape
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from threading import Thread
from typing import Any, Final
from urllib.parse import urlencode
from urllib.request import urlopen

import click

from loadtest.data.blog import Text, texts
from loadtest.harness.environment import Environment, prepare_empty, sum_up
from loadtest.harness.measurement import Row
from loadtest.harness.programs import MissingError
from loadtest.harness.result import Summary
from loadtest.harness.rounds import rotated
from loadtest.harness.running import Running, free_port
from loadtest.harness.service import JSON, PATIENCE, Service, ServiceError
from loadtest.report.command import extent_of, finish, rounds, short
from loadtest.report.table import align, cells
from loadtest.servers.competitors import ISSO
from loadtest.servers.peer import environment

COMMENTS: Final = 20
PAGE: Final = "/post/"
LISTED: Final = "{0}/api/comments?" + urlencode({"url": PAGE, "sort": "oldest", "limit": 100})
CHROMIUM: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SLOWER: Final = 4  # times, the CPU
LATENCY: Final = 150  # ms
DOWN, UP = 1_600_000 / 8, 750_000 / 8  # bytes per second
SCREEN: Final = {"width": 360, "height": 740}
POLLING: Final = 200  # ms
SETTLED: Final = 1_000  # ms after which all that belongs to the view has come
HEADS: Final = {
    "visible": "visible, ms",
    "distance": "above the floor, of Isso's",
    "bytes": "bytes",
    "requests": "requests",
    "main": "main thread, CPU ms",
    "cls": "layout shift",
    "inp": "INP of sending, ms",
}

DOCUMENT: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>A post</title>
<meta name="viewport" content="width=device-width">
<style>
body {{ color: #222; font: 1em/1.5 sans-serif; }}
{element}:not(:has({shown})) {{ display: block; min-height: 100vh; overflow-anchor: none; }}
</style>
<h1>A post</h1>
{thread}
<p>Below the comments.</p>"""

# Notes when all comments are shown, shifts of the layout, and the longest interaction.
WATCH: Final = """
(selector, number) => {
  window.seen = { visible: 0, cls: 0, inp: 0 };
  new MutationObserver((_, observer) => {
    if (document.querySelectorAll(selector).length < number) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => {
      seen.visible = performance.now();
      tell("visible");
    }));
  }).observe(document, { childList: true, subtree: true });
  const observe = (type, add) =>
    new PerformanceObserver((list) => list.getEntries().forEach(add)).observe({
      type, buffered: true, durationThreshold: 16,
    });
  observe("layout-shift", (entry) => { if (!entry.hadRecentInput) seen.cls += entry.value; });
  observe("event", (entry) => {
    if (entry.interactionId) seen.inp = Math.max(seen.inp, entry.duration);
  });
}"""


@dataclass(frozen=True, slots=True)
class Widget:
    """A comment service: how it is started, and how its client is embedded and used.

    `start` runs the server with these comments for a blog at an origin, and yields its address, or
    the HTML of the comments. The rest are what is put into the page with that, and selectors.
    """

    name: str
    text: str
    start: Callable[[Environment, str, Sequence[Text]], AbstractContextManager[str]]
    element: str
    shown: str  # in the element, once it is shown
    thread: str
    comment: str
    box: str = ""  # to press before a comment is written; "" if it is a form already
    message: str = ""
    author: str = ""
    send: str = ""  # "" if nobody can write


@contextmanager
def _ours(stage: Environment, origin: str, comments: Sequence[Text]) -> Iterator[str]:
    settings = {"COMMENTSVC_SITE_ORIGINS": origin}
    with Service(stage.folder / "data", stage.cores[:1], settings=settings) as service:
        for text in comments:
            fields = {"url": PAGE, "author": text.author, "message": text.message}
            _post(service.port, "/api/comments", fields)
        yield f"http://127.0.0.1:{service.port}"


@contextmanager
def _isso(stage: Environment, origin: str, comments: Sequence[Text]) -> Iterator[str]:
    python = environment("isso", sys.executable, ISSO, alone=False)
    file = stage.folder / "isso.cfg"
    file.write_text(
        f"[general]\ndbpath = {stage.folder}/isso.sqlite\nhost = {origin}\n"
        "[guard]\nenabled = false\n[hash]\nsalt = load\n"
    )
    port = free_port()
    words = [
        str(python),
        "-m",
        "gunicorn",
        "--preload",
        "-w",
        "2",
        "-b",
        f"127.0.0.1:{port}",
        "isso.run",
    ]
    settings = {"ISSO_SETTINGS": str(file)}
    log = stage.folder / "isso.log"
    with Running(words, port, log, stage.cores[:1], settings), compressed(stage, port) as address:
        for text in comments:
            target = "/new?" + urlencode({"uri": PAGE})
            _post(port, target, {"author": text.author, "text": text.message, "title": "A post"})
        yield address


@contextmanager
def _floor(stage: Environment, origin: str, comments: Sequence[Text]) -> Iterator[str]:
    with _ours(stage, origin, comments) as address, urlopen(LISTED.format(address)) as answer:
        listed = json.load(answer)["data"]
    yield "".join(
        f"<article><h3>{escape(each['author'])}</h3> <time>{each['date']}</time>{each['html']}"
        "</article>"
        for each in listed
    )


OURS: Final = Widget(
    "ours",
    "commentsvc",
    _ours,
    "comment-thread",
    "section",
    '<script type="module" src="{0}/static/comments.js"></script>'
    f'<comment-thread url="{PAGE}"></comment-thread>',
    ".commentsvc-comment",
    ".commentsvc-thread > .commentsvc-input",
    ".commentsvc-form textarea",
    ".commentsvc-form [name=author]",
    ".commentsvc-form .commentsvc-actions > .commentsvc-button",
)
# As the Hugo module writes them
HINTS: Final = (
    '<link rel="modulepreload" href="{0}/static/common.js">'
    '<link rel="preload" as="style" href="{0}/static/comments.css">'
    f'<link rel="preload" as="fetch" crossorigin href="{LISTED}">'
    '<link rel="preload" as="fetch" crossorigin href="{0}/static/locales/en.json">'
)
HINTED: Final = replace(
    OURS,
    name="hinted",
    text="commentsvc, Hugo module",
    thread=OURS.thread.replace("<comment-thread", f"{HINTS}<comment-thread"),
)
WIDGETS: Final = (
    Widget("floor", "plain HTML", _floor, "main", "*", "<main>{0}</main>", "article"),
    OURS,
    HINTED,
    Widget(
        "isso",
        "Isso 0.14, its own client",
        _isso,
        "#isso-thread",
        "*",
        '<script data-isso="{0}/" src="{0}/js/embed.min.js" async></script>'
        f'<section id="isso-thread" data-title="A post" data-isso-id="{PAGE}"></section>',
        ".isso-comment",
        "",
        ".isso-postbox .isso-textarea",
        ".isso-postbox [name=author]",
        ".isso-postbox [type=submit]",
    ),
)


def _post(port: int, target: str, fields: dict[str, str]) -> None:
    """Store a comment. Raise ServiceError if it is refused."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("POST", target, json.dumps(fields), {"Content-Type": JSON})
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    if response.status != 201:
        raise ServiceError(f"{target} answers {response.status}: {answer[:200]!r}")


@contextmanager
def compressed(stage: Environment, port: int) -> Iterator[str]:
    """Run an nginx that compresses what the server at `port` answers; yield its address."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin")
    if program is None:
        raise MissingError("nginx is missing. Run: apt-get install -y nginx")
    own, folder = free_port(), stage.folder
    file = folder / "nginx.conf"
    file.write_text(
        "daemon off; pid nginx.pid; error_log stderr; events {}\n"
        "http { access_log off; gzip on; gzip_types *; gzip_proxied any; gzip_comp_level 6;\n"
        "client_body_temp_path body; proxy_temp_path proxy;\n"
        "fastcgi_temp_path 1; uwsgi_temp_path 2; scgi_temp_path 3;\n"
        f"server {{ listen 127.0.0.1:{own}; location / {{ proxy_pass http://127.0.0.1:{port};\n"
        "proxy_set_header Host $http_host; } } }\n"
    )
    words = [program, "-c", str(file), "-p", str(folder)]
    with Running(words, own, folder / "nginx.log", stage.cores[:1]):
        yield f"http://127.0.0.1:{own}"


@contextmanager
def serving(document: dict[str, str]) -> Iterator[str]:
    """Serve `document["text"]` as every page of a blog; yield the blog's origin."""

    class Blog(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = gzip.compress(document["text"].encode())
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Do not log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Blog)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def view(browser: Any, origin: str, address: str, widget: Widget) -> dict[str, float]:
    """Return the figures of one reader. `browser` is Playwright's, which only tests install."""
    context = browser.new_context(viewport=SCREEN, is_mobile=True, locale="en-GB")
    page = context.new_page()
    asked: dict[str, str] = {}
    sizes: list[int] = []

    def note(event: dict[str, Any]) -> None:  # Any: as Chromium tells it
        asked[event["requestId"]] = event["request"]["url"]

    def add(event: dict[str, Any]) -> None:
        if asked.get(event["requestId"], "").startswith(address):
            sizes.append(event["encodedDataLength"])

    devtools = context.new_cdp_session(page)
    devtools.on("Network.requestWillBeSent", note)
    devtools.on("Network.loadingFinished", add)
    devtools.send("Network.enable")
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    network = {"latency": LATENCY, "downloadThroughput": DOWN, "uploadThroughput": UP}
    devtools.send("Network.emulateNetworkConditions", {"offline": False, **network})
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    messages: list[str] = []
    devtools.on("Runtime.bindingCalled", lambda event: messages.append(event["payload"]))
    devtools.send("Runtime.enable")
    devtools.send("Runtime.addBinding", {"name": "tell"})
    page.add_init_script(f"({WATCH})({json.dumps(widget.comment)}, {COMMENTS})")
    page.goto(origin + PAGE, wait_until="commit")
    # Nothing is asked of the page before: Playwright's script alone takes a phone 0.2 s.
    while not messages:
        page.wait_for_timeout(POLLING)
    page.wait_for_timeout(SETTLED)
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    seconds = next(one["value"] for one in metrics if one["name"] == "TaskDuration")
    seen = page.evaluate("seen")
    figures = {
        "visible": seen["visible"],
        "bytes": float(sum(sizes)),
        "requests": float(len(sizes)),
        "main": seconds * 1_000,
        "cls": seen["cls"],
    }
    if widget.send:
        figures["inp"] = send(page, widget)
    context.close()
    return figures


def send(page: Any, widget: Widget) -> float:
    """Write and send a comment; return the ms until the press of the button had an effect."""
    if widget.box:
        page.locator(widget.box).first.focus()
    page.locator(widget.message).first.fill("Two coats, and do it the same day.")
    page.locator(widget.author).first.fill("Rosa Weber")
    page.evaluate("seen.inp = 0")
    page.locator(widget.send).first.click()
    page.wait_for_function(
        "([selector, number]) => document.querySelectorAll(selector).length > number",
        arg=[widget.comment, COMMENTS],
    )
    page.wait_for_function("seen.inp > 0")
    return float(page.evaluate("seen.inp"))


def play(stage: Environment, browser: Any, report: Callable[[Row], None]) -> Iterator[Row]:
    """Yield the figures of each widget in each round. Raise ServiceError, MissingError."""
    comments = list(islice(texts(seed=3), COMMENTS))
    document = {"text": ""}
    for round_number in range(1, stage.extent.rounds + 1):
        for widget in rotated(WIDGETS, round_number):
            with ExitStack() as stack:
                origin = stack.enter_context(serving(document))
                address = stack.enter_context(widget.start(stage, origin, comments))
                document["text"] = DOCUMENT.format(
                    element=widget.element,
                    shown=widget.shown,
                    thread=widget.thread.format(address),
                )
                figures = view(browser, origin, address, widget)
            for file in stage.folder.iterdir():
                shutil.rmtree(file) if file.is_dir() else file.unlink()
            row: Row = {"round": round_number, "scenario": widget.name, "disturbed": False}
            row |= figures
            report(row)
            yield row


def with_distances(rows: Sequence[Row]) -> list[Row]:
    """Return the rows, with how far each is above the floor, as a share of Isso's distance.

    Both are medians: in a single round, a disturbance of the floor would outweigh all else.
    """
    floor, isso = (
        statistics.median(row["visible"] for row in rows if row["scenario"] == name)
        for name in ("floor", "isso")
    )
    return [row | {"distance": (row["visible"] - floor) / (isso - floor)} for row in rows]


def table(summaries: Sequence[Summary]) -> str:
    """Return the medians."""
    rows = [(one.text, *cells(one.medians, HEADS)) for one in summaries]
    return align([("page view", *HEADS.values()), *rows])


def _show(row: Row) -> None:
    line = "  ".join(
        f"{name} {shown}" for name, shown in zip(HEADS, cells(row, HEADS), strict=True)
    )
    click.echo(f"round {row['round']}  {row['scenario']:<8}{line}")


@click.command
@rounds(5)
@short
def main(rounds: int, short: bool) -> None:
    """A page with 20 comments on a slow phone: our widget beside Isso's, and plain HTML.

    Needs Playwright and a Chromium, as the tests do, and nginx.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise MissingError("Playwright is missing. Run: sh config/bootstrap.sh test") from None
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    with prepare_empty(extent_of(short, rounds, 1)) as stage, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        about = stage.about | {"browser": browser.version, "columns": HEADS}
        rows = with_distances(list(play(stage, browser, _show)))
        browser.close()
    names = {widget.name: widget.text for widget in WIDGETS}
    result = sum_up(about, names, rows)
    finish(result, "page-view", table(result.summaries), short=short)
