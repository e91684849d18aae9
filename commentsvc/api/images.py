"""Images in comments: uploaded ahead of the comment, and shown with it. See `comments.images`.

Each uploaded picture is read and written anew by a process of its own (`api.image_worker`), at most
AT_ONCE at a time.
"""

import asyncio
import logging
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta

from commentsvc.api.parameters import LanguageTag, PageQuery
from commentsvc.api.serialize import UploadedImage
from commentsvc.api.submit import HttpSubmissions
from commentsvc.comments import images
from commentsvc.comments.submission import SubmissionError
from commentsvc.context import ServiceContext
from commentsvc.errors import ImagesFull, ImagesWait
from commentsvc.http.messages import (
    ANY_ORIGIN,
    EMBEDDABLE,
    NO_SNIFFING,
    CorsPolicy,
    HttpError,
    Request,
    Response,
    TrustedProxies,
    json_answer,
    too_fast,
    too_many,
)
from commentsvc.http.operation import Content, handles, json_of
from commentsvc.markup import image_names
from commentsvc.model import thread_tag
from commentsvc.spam.pending_limit import NETWORK_FULL
from commentsvc.util.client_network import NetworkHashes, network_of, wide_network
from commentsvc.util.i18n import gettext as _
from commentsvc.util.ratelimit import RateLimiter
from commentsvc.util.text import one_line

# Pictures from one network: those of five comments.
UPLOADS: Final = "20/day"
AT_ONCE: Final = 2  # processes that read pictures
WAITING: Final = 8  # uploads that wait for one; each has the bytes of its picture in memory
PATIENCE: Final = 20.0  # seconds for one picture
# As `api.image_worker` says it; importing that needs Pillow.
TOO_LARGE: Final = b"too large"
UNFILTERED: Final = 3
RETRY: Final = 3_600  # seconds until pictures of a network may have been approved, or removed
UNUSABLE: Final = _(
    "This picture cannot be used. Send a complete JPEG, PNG, WebP or GIF file that is not animated."
)
OVERSIZED: Final = _("This picture is too large. Please make it smaller.")
FULL: Final = _("This site has no room for more pictures.")
PREFIX: Final = "/images/"
SUFFIX: Final = ".webp"
# The script runs in no browser, and never as another type; "inline" for the name of a saved file.
HEADERS: Final = (
    ("Content-Type", "image/webp"),
    ("Content-Security-Policy", "default-src 'none'; sandbox"),
    EMBEDDABLE,
    NO_SNIFFING,
)
UNDESCRIBED: Final = _("Please describe the picture for people who cannot see it.")
ALT_LENGTH: Final = 300  # characters of a description
_SPECIAL: Final = re.compile(r"[\\\[\]<>*_`~$&!]").sub
EXTRA: Final = "images"  # of the package
UNCONFINED: Final = (
    "this kernel or processor cannot filter system calls (seccomp): a hostile picture opens no file"
    " and no socket, but could trace other processes of its user; do not run the service as root"
)
_log = logging.getLogger(__name__)
_MADE: Final = re.compile(rb"([0-9]{1,4})x([0-9]{1,4})\n(RIFF.*)", re.DOTALL).fullmatch


class UploadQuery(PageQuery, frozen=True):
    """The page whose comment gets the image, and the language of errors."""

    lang: LanguageTag = "en"


class CommentImages:
    """The handlers of images, and what makes them."""

    def __init__(
        self, service: ServiceContext, cors: CorsPolicy, submissions: HttpSubmissions
    ) -> None:
        settings = service.settings
        self._submissions = submissions
        self._database = service.database
        self._sites = service.sites
        self._clock = service.clock
        self._cors = cors
        self._bytes = settings.comments.image_kib << 10
        self._total = settings.comments.images_mib << 20
        self._limiter = service.lasting.get(
            "uploads", RateLimiter, "off" if settings.spam.rate_limit == "off" else UPLOADS
        )
        self._hashes = NetworkHashes(service.keys[0], settings.privacy.keep_network_days)
        self._proxies = TrustedProxies(settings.server.trusted_proxies)
        self._headers = (
            ("Cache-Control", settings.server.cache_control),
            ANY_ORIGIN,
            *HEADERS,
        )
        self._lane = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0
        if any(site.images for site in settings.sites) and is_installed() and not is_confined():
            _log.warning("pictures: %s", UNCONFINED)

    @handles(
        "POST",
        "/api/images",
        {201: json_of(UploadedImage)},
        body=(Content("application/octet-stream"),),
        errors=(400, 401, 403, 404, 429, 503),
        takes_file=True,
    )
    async def upload(self, request: Request, query: UploadQuery) -> Response:
        """Upload a picture for a comment.

        It is a JPEG, PNG, WebP or GIF file. A comment shows it by ``![description](image)``
        in its Markdown, with `image` from the answer; `url` is its address from when the
        comment is approved. It is removed after a day without a comment. The service makes
        a new file of it, without metadata. 400 if the picture cannot be used, 401 where only
        readers who have signed in may write, 403 for a foreign page, 404 if the site shows no
        images, 429, 503.
        """
        site = self._sites.locate(query.url, query.site).site
        headers = self._cors.check(request, site)
        self._submissions.writer(request, site)
        name = await self.store(request, site, request.body)
        base = self._sites.options[site].images
        body = UploadedImage(f"image:{name}", f"{base}{PREFIX}{name}{SUFFIX}")
        return json_answer(body, *headers, status=201)

    async def store(self, request: Request, site: str, content: bytes) -> str:
        """Make an image of an uploaded file; return its name.

        Raise SubmissionError that names the field `image`, HttpError, or DatabaseError.
        """
        if not self._sites.options[site].images:
            raise HttpError(404, "not_found", _("Pictures are disabled on this site."))
        if len(content) > self._bytes:
            raise SubmissionError({"image": OVERSIZED})
        client = wide_network(network_of(self._proxies.client(request)))
        if wait := self._limiter.take(client, self._clock.monotonic_ms()):
            raise too_fast(wait)
        made = await self._make(content)
        match = _MADE(made)
        if match is None:
            raise SubmissionError({"image": OVERSIZED if made == TOO_LARGE else UNUSABLE})
        name = image_names.name(match[3], int(match[1]), int(match[2]))
        now = self._clock.now_ms()
        quota = images.Quota(self._total, self._hashes.hashes(client, now))
        try:
            await self._database.write(images.put, site, name, match[3], now, quota)
        except ImagesFull:
            raise SubmissionError({"image": FULL}) from None
        except ImagesWait:
            raise too_many(NETWORK_FULL, RETRY) from None
        return name

    async def add_by_form(self, request: Request, site: str, content: bytes, alt: str) -> str:
        """Make an image of a file in a form; return the Markdown that shows it. Raise as `store`.

        `alt` is its description.
        """
        self._cors.check(request, site)
        described = one_line(alt)[:ALT_LENGTH]
        if not described:
            raise SubmissionError({"alt": UNDESCRIBED})
        name = await self.store(request, site, content)
        return f"![{_SPECIAL(_escape, described)}](image:{name})"

    @handles(
        "GET",
        "/images/{path}",
        Content("image/webp"),
        path_type=Annotated[
            str, Meta(description="Its name.", pattern=rf"^{image_names.NAME}\.webp$")
        ],
        errors=(400, 404, 503),
    )
    async def image(self, request: Request) -> Response:
        """A picture of an approved comment.

        404 unless a comment that shows it is approved. Cached.
        """
        name = request.path.removeprefix(PREFIX).removesuffix(SUFFIX)
        found = await self._database.read_for_public(images.shown, name)
        if found is None or request.path != f"{PREFIX}{name}{SUFFIX}":
            raise HttpError(404, "not_found", "There is no such picture.")
        disposition = ("Content-Disposition", f'inline; filename="{name}{SUFFIX}"')
        tags = (thread_tag(found.site, found.url),)
        return Response(200, (*self._headers, disposition), found.content, tags)

    async def _make(self, content: bytes) -> bytes:
        """Return what the image worker says of a file. Raise HttpError 503 if too many wait."""
        if self._waiting >= WAITING:
            busy = _("The server is busy. Please try again in a few seconds.")
            raise HttpError(503, "busy", busy, headers=(("Retry-After", "5"),))
        self._waiting += 1
        try:
            async with self._lane:
                return await _run_worker(content)
        finally:
            self._waiting -= 1


def _escape(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


def is_installed() -> bool:
    """Return whether pictures can be read."""
    return find_spec("PIL") is not None


def is_confined() -> bool:
    """Return whether the image worker can be kept from other system calls than it needs."""
    nothing = subprocess.DEVNULL
    worker = subprocess.run(_command(), stdin=nothing, stderr=nothing, env={}, cwd="/", check=False)
    return worker.returncode != UNFILTERED


def _command() -> tuple[str, ...]:
    return sys.executable, "-I", str(Path(__file__).with_name("image_worker.py"))


async def _run_worker(content: bytes) -> bytes:
    worker = await asyncio.create_subprocess_exec(
        *_command(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
        cwd="/",
    )
    try:
        async with asyncio.timeout(PATIENCE):
            made, _error = await worker.communicate(content)
    except TimeoutError:
        return b""
    finally:
        if worker.returncode is None:
            worker.kill()
            await worker.wait()
    return made
