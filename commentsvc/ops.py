"""Ops: what operators and machines ask of a running service, and the files it ships.

DESIGN. All files are found once, at the start, and a request only looks a name up: no path that
a client sends ever reaches the file system. The shipped files and the OpenAPI document are in
memory; those of a demo blog are read when the store misses them.
"""

from collections.abc import Callable, Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from urllib.parse import quote, unquote

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector
from prometheus_client import generate_latest as generate
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from commentsvc import openapi
from commentsvc.backups import Backups
from commentsvc.config import Settings
from commentsvc.database import Database
from commentsvc.metrics import CoreCollector
from commentsvc.moments import rfc3339
from commentsvc.outbox import Outbox
from commentsvc.router import Route
from commentsvc.web import (
    ANY_ORIGIN,
    JSON,
    NO_SNIFFING,
    NOT_STORED,
    HttpError,
    Proxies,
    Request,
    Response,
    encode,
)

TAG = ("static",)

# By a file's suffix; all else is sent as bytes, which browsers save.
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".gif": "image/gif",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": JSON,
    ".map": JSON,
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".xml": "application/xml",
}


class OutboxCollector(Collector):
    """What was sent and what waits, by channel; the rows as of the outbox's last round."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    def collect(self) -> Iterable[Metric]:
        """Give the metrics named ``commentsvc_outbox_…``."""
        for name, text, counts in (
            ("sent", "messages taken by the other side", self._outbox.sent),
            ("errors", "attempts that failed", self._outbox.errors),
        ):
            counter = CounterMetricFamily(f"commentsvc_outbox_{name}", text, labels=["channel"])
            for channel in self._outbox.channels:
                counter.add_metric([channel], counts[channel])
            yield counter
        for name, text in (
            ("queued", "messages that wait"),
            ("failed", "messages that were given up"),
            ("oldest_timestamp_seconds", "when the oldest waiting message was made, 0 for none"),
            ("error_timestamp_seconds", "when an attempt failed last, 0 for never"),
        ):
            gauge = GaugeMetricFamily(f"commentsvc_outbox_{name}", text, labels=["channel"])
            for channel, values in self._outbox.states().items():
                gauge.add_metric([channel], values[name])
            yield gauge


class BackupCollector(Collector):
    """What became of the backups that the server makes; nothing where it makes none."""

    def __init__(self, backups: Backups) -> None:
        self._backups = backups

    def collect(self) -> Iterable[Metric]:
        """Give the metrics named ``commentsvc_backup_…``."""
        state = self._backups.state()
        if state is None:
            return
        for name, text, value in (
            ("timestamp_seconds", "when the newest backup was made, 0 for never", state.newest),
            ("bytes", "its size", state.size),
            ("failing", "1 while the last attempt failed", bool(state.error)),
        ):
            yield GaugeMetricFamily(f"commentsvc_backup_{name}", text, value)
        yield CounterMetricFamily(
            "commentsvc_backup_failures", "attempts that failed since the start", state.failures
        )


class Ops:
    """The handlers for health, metrics, the OpenAPI document and files."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        stats: Callable[[], dict[str, int]],
        outbox: Outbox,
        backups: Backups,
        now: Callable[[], float],
        blog: Path | None = None,
    ) -> None:
        """Take the core's `stats`, a clock, and the folder of a built blog to serve at ``/``."""
        self._database = database
        self._now = now
        self._proxies = Proxies(settings.server.trusted_proxies)
        self._public = (("Cache-Control", settings.server.cache_control), ANY_ORIGIN, NO_SNIFFING)
        self._document = encode(openapi.document(settings))
        self._shipped = {
            name: file.read_bytes() for name, file in _below(files("commentsvc") / "static")
        }
        self._blog = blog_paths(blog) if blog else {}
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(CoreCollector(stats))
        self._registry.register(OutboxCollector(outbox))
        self._registry.register(BackupCollector(backups))
        ProcessCollector(registry=self._registry)

    def routes(self) -> list[Route]:
        """Give the table of routes; that of the blog comes last."""
        routes = [
            Route("GET", "/healthz", self.health),
            Route("GET", "/readyz", self.ready),
            Route("GET", "/metrics", self.metrics),
            Route("GET", "/api/client", self.client),
            Route("GET", "/openapi.json", self.openapi),
            Route("GET", "/static/{path}", self.static),
        ]
        if self._blog:
            routes.append(Route("GET", "/{path}", self.blog))
        return routes

    def health(self, request: Request) -> Response:
        """GET /healthz: 200 while the event loop answers. Not stored."""
        return _told({"status": "alive"})

    def ready(self, request: Request) -> Response:
        """GET /readyz: 200 while the database can be read, else 503. Not stored."""
        self._database.read_now(lambda reader: reader.execute("SELECT 1 FROM site").fetchone())
        return _told({"status": "ready"})

    def metrics(self, request: Request) -> Response:
        """GET /metrics: 200 with what core, outbox and process count, as Prometheus text."""
        return Response(
            200, (("Content-Type", CONTENT_TYPE_LATEST), NOT_STORED), generate(self._registry)
        )

    def client(self, request: Request) -> Response:
        """GET /api/client: 200 with what we take whoever asks for; for `commentsvc doctor`.

        No script of another page may read it, and nothing but one's own address is in it.
        """
        return _told(
            {
                "address": self._proxies.client(request),
                "host": request.header("host") or "",
                "time": rfc3339(int(self._now() * 1_000)),
            }
        )

    def openapi(self, request: Request) -> Response:
        """GET /openapi.json: 200 with the OpenAPI document of this service. Stored."""
        return Response(200, (("Content-Type", JSON), *self._public), self._document, TAG)

    def static(self, request: Request) -> Response:
        """GET /static/PATH: 200 with a file of the widget, 404 for all else. Stored."""
        name = unquote(request.path).removeprefix("/static/")
        try:
            return self._file(name, self._shipped[name])
        except KeyError:
            raise HttpError(404, "not_found", "There is no such file here.") from None

    def blog(self, request: Request) -> Response:
        """GET /PATH: 200 with a page or file of the demo blog, 301 to a folder, 404. Stored."""
        name = unquote(request.path)
        try:
            path = self._blog[name]
            return self._file(path.name, path.read_bytes())
        except (KeyError, OSError):
            if name + "/" in self._blog:
                return Response(301, (("Location", quote(name) + "/"), NOT_STORED), b"")
            raise HttpError(404, "not_found", "There is no such page here.") from None

    def _file(self, name: str, content: bytes) -> Response:
        suffix = name[name.rfind(".") :] if "." in name else ""
        media_type = TYPES.get(suffix, "application/octet-stream")
        return Response(200, (("Content-Type", media_type), *self._public), content, TAG)


def _told(value: dict[str, str]) -> Response:
    return Response(200, (("Content-Type", JSON), NOT_STORED), encode(value))


def _below(folder: Traversable, prefix: str = "") -> Iterable[tuple[str, Traversable]]:
    """Give every file below a folder of the package, with its path from there."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _below(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry


def blog_paths(folder: Path) -> dict[str, Path]:
    """Map every path of a built static site to its file; ``index.html`` also to its folder.

    What a symbolic link leads out of the folder to is left out.
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
