"""Downloads page: everything that the service has, as a file.

A download has all texts and addresses of readers, and a backup the hashes of passwords too. So it
takes the owner's password. An export is sent while it is written, in pieces: neither the memory nor
the disk holds it. An archive and a backup are first made in a folder for temporary files.
"""

import asyncio
import logging
import shutil
import tempfile
import zipfile
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from commentsvc.admin.access import RequestContext, get, post
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.reauthentication import WRONG_PASSWORD
from commentsvc.admin.review_queue import unreadable_decision
from commentsvc.archive import static_pages
from commentsvc.backup import archive
from commentsvc.backup.result import BackupError
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot
from commentsvc.db.errors import DatabaseError
from commentsvc.exports import contents, formats
from commentsvc.exports.hugo import DataFilesError
from commentsvc.exports.output import Output
from commentsvc.http.messages import NO_SNIFFING, NOT_STORED, Response
from commentsvc.http.pieces import PieceFile, written
from commentsvc.moderation.permissions import Permission
from commentsvc.settings.schema import origins
from commentsvc.util.i18n import Text
from commentsvc.util.i18n import gettext as _

_log = logging.getLogger(__name__)

# Downloads at the same time, for each of which a thread waits.
MOST: Final = 2
# Seconds until the first piece must be there: the core ends an answer that has none after 30.
PATIENCE: Final = 25.0


class Kind(NamedTuple):
    """A kind of download: its label, the end of the file's name, and its media type."""

    label: Text
    suffix: str
    media_type: str


KINDS: Final = {
    "commentsvc": Kind(_("Everything, for another commentsvc"), ".ndjson", "application/x-ndjson"),
    "wordpress": Kind(_("Comments, for WordPress"), ".xml", "application/xml"),
    "disqus": Kind(_("Comments, for Disqus"), ".xml", "application/xml"),
    "archive": Kind(_("Web pages of all threads"), ".zip", "application/zip"),
    "backup": Kind(_("A backup, to be restored"), ".backup", "application/octet-stream"),
}
TOO_MANY: Final = _("Two downloads are being made already. Please try again when they have ended.")
TOO_SLOW: Final = _("This takes too long here. Please use the command line on the server.")
FAILED: Final = _("This could not be written. The reason is in the log of the service.")


class DownloadRefused(Exception):
    """A download that is not made now; `text` says why, and what to do."""

    def __init__(self, text: Text) -> None:
        super().__init__(str(text))
        self.text = text


class Downloads:
    """Makes downloads of a service, a few at the same time."""

    def __init__(self, service: ServiceContext) -> None:
        self._sites = service.settings.sites
        self._votes = service.settings.comments.votes
        self._database = service.database
        self._running: list[str] = service.lasting.get("downloads", list)

    async def send(self, kind: str, site: str, who: str, now: int) -> Response:
        """Return the answer with a download: its head and its beginning, and the rest in pieces.

        `kind` is one of KINDS, `site` the name of a site or "" for all; `who` asks for it at the
        time `now` (Unix milliseconds). Raise DownloadRefused.
        """
        site = "" if kind == "backup" else site
        if len(self._running) >= MOST:
            raise DownloadRefused(TOO_MANY)
        pieces = self._noted(kind, written(self._writer(kind, site)))
        try:
            async with asyncio.timeout(PATIENCE):
                first = await anext(pieces, b"")
        except TimeoutError:
            raise DownloadRefused(TOO_SLOW) from None
        except (BackupError, DatabaseError, DataFilesError, OSError) as error:
            _log.error("a download cannot be made: %s", error)
            raise DownloadRefused(FAILED) from error
        _log.info("%s downloads: %s", who, kind)
        day = datetime.fromtimestamp(now / 1_000, UTC)
        name = "-".join(filter(None, ("comments", site, f"{day:%Y-%m-%d}")))
        disposition = f'attachment; filename="{name}{KINDS[kind].suffix}"'
        headers = (
            ("Content-Type", KINDS[kind].media_type),
            ("Content-Disposition", disposition),
            NOT_STORED,
            NO_SNIFFING,
        )
        return Response(200, headers, first, pieces=pieces)

    async def _noted(self, kind: str, pieces: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        self._running.append(kind)
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    yield piece
        finally:
            self._running.remove(kind)

    def _writer(self, kind: str, site: str) -> Callable[[PieceFile], object]:
        """Return the function that writes a download to a file."""
        if kind == "backup":
            return self._write_backup
        if kind == "archive":
            return partial(self._write_archive, site)
        selection = contents.Selection(site)

        def write(snapshot: Snapshot, file: PieceFile) -> None:
            output = Output(file)  # type: ignore[arg-type]  # it only writes
            formats.write(kind, snapshot, selection, origins(self._sites), output)

        return lambda file: self._database.read_alone(write, file)

    def _write_archive(self, site: str, file: PieceFile) -> None:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "comments"

            def write(snapshot: Snapshot) -> None:
                sites, made = [*self._sites], file.check
                static_pages.write(
                    snapshot, sites, target, site, lambda _comments: made(), self._votes
                )

            self._database.read_alone(write)
            pack = partial(zipfile.ZipFile, mode="w", compression=zipfile.ZIP_DEFLATED)
            with pack(file) as packed:  # it only writes and flushes
                for path in sorted(target.rglob("*")):
                    packed.write(path, path.relative_to(folder))

    def _write_backup(self, file: PieceFile) -> None:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "comments.backup"
            archive.write(self._database.location, target, unwanted=file.is_unwanted)
            with target.open("rb") as copy:
                shutil.copyfileobj(copy, file)


class DownloadPage:
    """The handlers of the downloads page."""

    def __init__(self, context: AdminContext) -> None:
        self._sites = [site.name for site in context.service.settings.sites]
        self._layout = context.layout
        self._reauthentication = context.reauthentication
        self._downloads = Downloads(context.service)

    @get("/downloads", Permission.ADMINISTER)
    async def page(self, context: RequestContext) -> Response:
        """What can be downloaded."""
        return await self._show(context)

    @post("/downloads", Permission.ADMINISTER)
    async def send(self, context: RequestContext) -> Response:
        """Download a file.

        `kind` is commentsvc, wordpress, disqus, archive or backup; `site` a site, or all without
        it. It takes the account's `password`. 200 with the file; 400, 403, 429, 503.
        """
        kind, site = context.first("kind"), context.first("site")
        if kind not in KINDS or (site and site not in self._sites):
            raise unreadable_decision()
        if not await self._reauthentication.passes(context):
            return await self._show(context.refused(403, WRONG_PASSWORD))
        try:
            return await self._downloads.send(kind, site, context.moderator.name, context.now)
        except DownloadRefused as error:
            return await self._show(context.refused(503, error.text))

    async def _show(self, context: RequestContext) -> Response:
        return await self._layout.render(
            "downloads.html", context, here="settings", kinds=KINDS, sites=self._sites
        )
