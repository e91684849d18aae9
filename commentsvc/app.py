"""The composition root: the only module that knows all parts.

Each part is built from the previous ones and pushed on one exit stack. So a failure at any step
undoes the steps before, in reverse order, and a stop does the same: accept no more commands, answer
what is in flight, write what is queued, release the lock. If a new server takes over, it gets our
sockets and the lock at the very end; if it fails, everything is built again.
"""

import asyncio
import errno
import gc
import logging
import os
import secrets
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from commentsvc.admin.dashboard import Figures
from commentsvc.admin.routes import AdminPages, ProgramInterface
from commentsvc.api.author import AuthorActions
from commentsvc.api.avatars import Avatars
from commentsvc.api.comments import CommentsApi
from commentsvc.api.errors import as_http
from commentsvc.api.feeds import Feeds
from commentsvc.api.images import CommentImages
from commentsvc.api.openapi import ApiDescription
from commentsvc.api.reactions import PageReactions
from commentsvc.api.serialize import CommentSerializer
from commentsvc.api.static_files import Files
from commentsvc.api.stream import CommentStream
from commentsvc.api.submit import HttpSubmissions
from commentsvc.api.views import PageViews
from commentsvc.auth import edit_tokens
from commentsvc.auth.signed_links import SignedLinks
from commentsvc.backup.scheduled import ScheduledBackup
from commentsvc.cluster.leader import Leader, SoleLeader, Work, meanwhile
from commentsvc.comments import queries
from commentsvc.comments.page_urls import Sites
from commentsvc.compat.stacosys import CommentsXmlFile, Stacosys, below_web
from commentsvc.context import ServiceContext
from commentsvc.db.database import Database
from commentsvc.db.engine import Location, describe, load_postgresql
from commentsvc.db.errors import DatabaseError
from commentsvc.db.lock import Lock
from commentsvc.db.migrations import upgrade
from commentsvc.db.schema.outbox import WEBMENTIONS
from commentsvc.feedback.views import ViewCounter
from commentsvc.http.bridge import Bridge
from commentsvc.http.messages import CorsPolicy
from commentsvc.http.miss_limit import MissLimiter
from commentsvc.http.router import Route, Router
from commentsvc.inbox.hook import InboxHook
from commentsvc.mentions.endpoint import WebmentionEndpoint
from commentsvc.moderation import site_names
from commentsvc.monitoring.health import Health
from commentsvc.outbox import builds, channels
from commentsvc.outbox import outbox as outbox_queue
from commentsvc.outbox.builds import ChangedSites
from commentsvc.outbox.channel import Channel
from commentsvc.outbox.worker import OutboxWorker
from commentsvc.pages.comment_forms import CommentForms
from commentsvc.pages.comment_page import CommentPermalink
from commentsvc.pages.embed import Embed
from commentsvc.pages.follow import FollowPages
from commentsvc.pages.mail_links import LinkPages
from commentsvc.pages.personal_data import PersonalDataPages
from commentsvc.pages.reader_sign_in import SignInPages
from commentsvc.runtime import handover, maintenance, process, request_trace, rerender
from commentsvc.runtime.control import Control, NoServer, Request, ShowSettings, TryMail
from commentsvc.runtime.control_commands import CommandResult
from commentsvc.runtime.handover import Handover, InheritedState
from commentsvc.runtime.https_redirect import redirecting
from commentsvc.runtime.systemd import Notifier
from commentsvc.settings import data_dir
from commentsvc.settings.schema import ServerSettings, Settings
from commentsvc.spam.bans import Bans
from commentsvc.spam.protected_names import ProtectedNames
from commentsvc.submissions.service import SubmissionService
from commentsvc.util.clock import Clock
from commentsvc.util.threads import PROCESS, run_in, stop_all

if TYPE_CHECKING:
    from commentsvc.cluster.instance import Instance

_log = logging.getLogger(__name__)

# The file descriptor for lines about requests.
STDERR: Final = 2
# Seconds for running commands at a stop.
COMMAND_GRACE: Final = 2.0
# Errors of file systems without sockets: those of some networks and memory cards.
WITHOUT_SOCKETS: Final = (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)
# Allocations minus deallocations before the garbage collector examines the youngest generation.
COLLECT_AFTER: Final = 20_000


class Start(NamedTuple):
    """How the program is started: on the folder `data`, with a demo `blog` or none.

    `announce` is called with the address when all is ready. With `takes_over`, the server that runs
    on this data is asked to hand over. With `traced`, a line for each request is written to stderr.
    `instance` is the number of a process that a supervisor started with its `listeners`, else 0.
    It shares the clients with so many `processes` through the memory behind the descriptor
    `counts`: see `runtime.processes`.
    """

    data: Path
    blog: Path | None
    announce: Callable[[str], None]
    manager: Notifier
    takes_over: bool
    traced: bool = False
    instance: int = 0
    listeners: tuple[int, ...] = ()
    counts: int = -1
    processes: int = 0


def run(settings: Settings, start: Start) -> None:
    """Serve until a signal, or a successor, asks to stop.

    Raise DataUnusable, KeyUnusable, SocketsUnusable, ControlError, DatabaseError or OSError if it
    cannot start.
    """
    process.set_up_logging()
    process.raise_file_limit(settings.server.max_connections)
    try:
        place = asyncio.run(_serve(settings, start, None))
        while place is not None:
            place = asyncio.run(_serve(settings, start, place))
    finally:
        stop_all()


async def _serve(
    settings: Settings, start: Start, place: InheritedState | None
) -> InheritedState | None:
    """Serve with the state `place` or a new one; return our state if a successor failed."""
    told_to_stop = process.expect_stop()
    if start.instance:
        process.expect_end_of_input(told_to_stop)
    succession = Handover(told_to_stop, place)
    try:
        await _compose(settings, start, succession, told_to_stop)
    finally:
        process.end_at_once()
        left = await succession.conclude()
    return left


async def _compose(
    settings: Settings, start: Start, succession: Handover, told_to_stop: asyncio.Event
) -> None:
    data = start.data
    async with AsyncExitStack() as stack:
        data_dir.prepare(data)
        await _find_place(start, succession)
        name = data_dir.lock(start.instance)
        lock = stack.enter_context(Lock(data, succession.place.lock, name))
        location = settings.database.url or data / data_dir.DATABASE
        if isinstance(location, Path):  # before there is a key: beside one, it must not be empty
            upgrade.upgrade(location)
        else:
            upgrade.is_current(location)  # raises an exception if it cannot be used
        key = data / data_dir.SECRET_KEY
        makes_key = not settings.auth.secret_key and not key.exists()
        keys, leader = _join(stack, location, settings, key)
        bridge = Bridge(_with_room(settings), request_trace.LINES if start.traced else 0)
        stack.enter_context(_observed(bridge, start.traced))
        bans, names = Bans(), ProtectedNames(settings)
        changed = ChangedSites(settings)
        watchers = (bans.forget, names.forget, changed.note)
        instance = await _instance(stack, settings, bridge, watchers)
        database = _open(settings, location, bridge, watchers, instance)
        stack.push_async_callback(database.close)
        data_dir.remember_served(data, describe(location) if settings.database.url else "")
        await _sync_database(database, settings)
        if makes_key and await database.read(queries.has_comments):
            _log.warning(
                "%s was missing and is a new key now: edit tokens, sign-ins, second factors and"
                " links in mails made with the old one are invalid. If you have the old file, stop"
                " the service and put it there",
                key,
            )
        views = ViewCounter(database)
        stack.push_async_callback(views.store)
        clock = Clock()
        sites = Sites(settings.sites, settings.server.public_url)
        service = ServiceContext(settings, database, sites, keys, clock)
        ways = channels.channels(settings, SignedLinks(keys), clock, database)
        ways.update(_sent_mentions(service))
        outbox = OutboxWorker(database, ways, clock, leads=leader.leads)
        backups = ScheduledBackup(settings.backup, location, clock)
        state = instance.state if instance else lambda: None
        ops = Health(service, bridge.stats, outbox, backups, state)
        files = Files(settings, start.blog)
        admin_pages = AdminPages(service, Figures(bridge.stats, backups, state))
        programs = ProgramInterface(service, bridge)
        others = [*admin_pages.routes(), *programs.routes(), *ops.routes(), *files.routes()]
        submissions = SubmissionService(service, bans, names)
        inbox, fetching = _inbox(service, submissions)
        others += [*inbox.routes(), *WebmentionEndpoint(service).routes()]
        others += [*SignInPages(service, names).routes(), *PageViews(service, views).routes()]
        fetching += _mentions(service, submissions)
        if settings.stacosys.rss_file:
            fetching.append(CommentsXmlFile(service).run)
        router = _router(service, submissions, bridge, others)
        await stack.enter_async_context(redirecting(settings.server, succession))
        if start.instance:
            bridge.share_clients(start.counts, start.instance, start.processes)
        bridge.serve(router, succession.place.sockets, router.target_rules)
        stack.push_async_callback(_stop, bridge, settings.server.stop_grace, succession, lock)
        scheme = "" if bridge.address.startswith("unix:") else "http://"
        ready = CommandResult(
            address=scheme + bridge.address,
            proxy_header=settings.server.proxy_protocol,
            manager=start.manager.address,
        )

        async def execute(request: Request) -> CommandResult:
            match request:
                case ShowSettings():
                    return CommandResult(settings=settings)
                case TryMail():
                    from commentsvc.outbox.mail_trial import try_mail  # mail may never be used

                    await try_mail(settings, request.recipient, clock.now_ms())
                    return CommandResult()
            return await database.write(request.apply, clock.now_ms())

        control = Control(
            data / data_dir.control_socket(start.instance),
            execute=execute,
            ready=ready,
            give_way=succession.begin,
        )
        await _listen(control, data)
        stack.push_async_callback(control.stop, COMMAND_GRACE)
        works: list[Work] = [
            outbox.run,
            partial(maintenance.run, database, settings, clock),
            partial(rerender.run, database),
            backups.run,
            partial(builds.watch, changed, database, settings, clock),
            *fetching,
        ]
        leading = leader.run(*works)
        await stack.enter_async_context(
            meanwhile(
                leading,
                outbox.watch(),
                programs.queue.run(),
                views.run(),
                start.manager.watch(),
            )
        )
        stack.enter_context(spared_collector())
        start.announce(ready.address)
        start.manager.notify("READY=1", f"MAINPID={os.getpid()}")
        succession.be_ready()
        await told_to_stop.wait()
        start.manager.notify("STOPPING=1")


def _with_room(settings: Settings) -> ServerSettings:
    """Return the server's settings, with room in a body for an uploaded picture and a form."""
    server = settings.server
    if not any(site.images for site in settings.sites):
        return server
    room = settings.comments.image_kib + settings.server.max_body_kib
    return msgspec.structs.replace(server, max_body_kib=room)


def _join(
    stack: AsyncExitStack, location: Location, settings: Settings, key: Path
) -> tuple[tuple[bytes, ...], Leader]:
    """Return the secret keys, and what says whether this instance leads, until `stack` is closed.

    Make the file `key` if it is needed. Raise KeyUnusable; DatabaseError, and then leave no new
    file behind.
    """
    is_new = not key.exists()
    keys = edit_tokens.load_keys(key, settings.auth.secret_key)
    try:
        return keys, stack.enter_context(_leader(location, settings, keys))
    except DatabaseError:
        if is_new:
            key.unlink(missing_ok=True)
        raise


@contextmanager
def _leader(location: Location, settings: Settings, keys: Sequence[bytes]) -> Iterator[Leader]:
    """Yield what says whether this instance leads; raise DatabaseError.

    A PostgreSQL database is upgraded once the other instances are known to have equal settings.
    """
    if isinstance(location, Path):
        yield SoleLeader()
        return
    load_postgresql()  # says what is missing without its driver
    from commentsvc.cluster.election import Election, agreement
    from commentsvc.db.postgresql import upgrade as postgresql_upgrade

    with Election(location, agreement(settings, keys)) as election:
        upgrade.upgrade(location)
        if stranger := postgresql_upgrade.strangers(location):
            _log.warning("%s", stranger)
        yield election


def _inbox(service: ServiceContext, submissions: SubmissionService) -> tuple[InboxHook, list[Work]]:
    """Return the hook for answers by mail and the leader's work; imported only if needed.

    Raise OSError if `inbox.ca_file` cannot be read.
    """
    settings = service.settings.inbox
    if not settings.address:
        return InboxHook("", None), []
    from commentsvc.inbox.receiver import MailReceiver

    receiver = MailReceiver(service, submissions)
    works: list[Work] = [receiver.run]
    if settings.host:
        from commentsvc.inbox.imap import ImapFetcher

        works.append(ImapFetcher(settings, receiver.take, service.database, service.clock).run)
    proxies = service.settings.server.trusted_proxies
    return InboxHook(settings.hook_secret, receiver.take, proxies, service.clock), works


def _mentions(service: ServiceContext, submissions: SubmissionService) -> list[Work]:
    """Return the leader's work for replies from elsewhere; imported only if a site has any."""
    works: list[Work] = []
    sites = service.settings.sites
    if any(site.webmentions for site in sites):
        from commentsvc.mentions.verifier import MentionVerifier

        works.append(MentionVerifier(service, submissions).run)
    names_posts = any(site.social_sitemap for site in sites)
    if names_posts or any(site.social_accounts or site.social_posts for site in sites):
        from commentsvc.mentions.poller import PostPoller

        works.append(PostPoller(service, submissions).run)
    if names_posts:
        from commentsvc.mentions.page_posts import PageReader

        works.append(PageReader(service).run)
    return works


def _sent_mentions(service: ServiceContext) -> dict[str, Channel]:
    """Return the channel of webmentions, by its name, if a site sends them."""
    if not any(site.send_webmentions for site in service.settings.sites):
        return {}
    from commentsvc.mentions.sender import WebmentionSender

    return {WEBMENTIONS: WebmentionSender(service)}


async def _find_place(start: Start, succession: Handover) -> None:
    """Get what others have opened for us: the service manager, or the server that we replace."""
    if succession.place.lock >= 0:
        return
    passed = start.listeners or start.manager.sockets()
    if start.takes_over:
        with suppress(NoServer):
            place = start.data / data_dir.control_socket(start.instance)
            await run_in(PROCESS, succession.succeed, place, start.manager.address)
    if passed:
        succession.take_passed(passed)


async def _instance(
    stack: AsyncExitStack,
    settings: Settings,
    bridge: Bridge,
    watchers: Sequence[Callable[[Sequence[str]], None]],
) -> "Instance | None":
    """Join the instances on the database, for as long as `stack` is not closed; None with a file.

    The `watchers` are called with the tags of each remote purge, before it.
    """
    if not settings.database.url:
        return None
    load_postgresql()  # says what is missing without its driver
    from commentsvc.cluster.instance import Instance

    strict = settings.database.coherence == "strict"
    instance = Instance(settings.database.url, bridge, strict=strict)
    instance.on_remote += watchers
    instance.start()
    stack.push_async_callback(run_in, PROCESS, instance.stop)
    return instance


def _open(
    settings: Settings,
    location: Location,
    bridge: Bridge,
    watchers: Sequence[Callable[[Sequence[str]], None]],
    instance: "Instance | None",
) -> Database:
    """Open the database; the `watchers` are called with the tags of each purge, before it."""

    def purge(tags: Sequence[str]) -> None:
        for watcher in watchers:
            watcher(tags)
        bridge.purge(tags)

    database = Database(location, settings.database, purge=purge, announce=bridge.announce)
    database.open(peers=instance)
    return database


async def _listen(control: Control, data: Path) -> None:
    """Listen for commands, unless the folder `data` cannot hold sockets, as on some networks."""
    try:
        await control.start()
    except OSError as error:
        if error.errno not in WITHOUT_SOCKETS:
            raise
        _log.warning(
            "%s cannot hold a socket (%s): commands do not reach this server, and --take-over"
            " cannot take its place; moderate in the browser",
            data,
            error.strerror,
        )


async def _stop(bridge: Bridge, grace: float, succession: Handover, lock: Lock) -> None:
    """Answer what was read; keep the sockets for a server that waits for them."""
    if succession.has_other_server:
        await bridge.stop(min(grace, handover.GRACE), keep=True)
        succession.hold(bridge.release(), lock.fileno())
    else:
        await bridge.stop(grace)


async def _sync_database(database: Database, settings: Settings) -> None:
    """Update the sites and the recipients of messages in the database from the settings."""
    names = [site.name for site in settings.sites]
    await database.write(queries.sync_sites, names)
    for site in await database.read(site_names.hidden, names):
        _log.warning("%s", site_names.explain(site, names))
    mathematical = [site.name for site in settings.sites if site.math]
    await database.write(queries.set_math, mathematical)
    pictured = [site.name for site in settings.sites if site.images]
    await database.write(queries.set_images, settings.server.public_url.rstrip("/"), pictured)
    targets = channels.targets(settings)
    await database.write(outbox_queue.sync_targets, targets)


def _router(
    service: ServiceContext, taken: SubmissionService, bridge: Bridge, others: Sequence[Route]
) -> MissLimiter:
    """Return the handlers for readers, and their routes together with the routes of `others`."""
    settings = service.settings
    cors = CorsPolicy(settings.sites)
    submissions = HttpSubmissions(service, cors, taken)
    serializer = CommentSerializer(service.sites, service.keys[0])
    api = CommentsApi(service, cors, submissions, serializer)
    actions = AuthorActions(service, cors, submissions, serializer)
    page_reactions = PageReactions(service, cors)
    comment_images = CommentImages(service, cors)
    feeds = Feeds(service)
    isso, isso_questions = _isso(service, submissions, actions, feeds, cors)
    routes = [
        *api.routes(),
        *actions.routes(),
        *CommentStream(service, bridge, secrets.randbelow).routes(),
        *Avatars(settings, service.sites, service.clock).routes(),
        *feeds.routes(),
        *Embed(service, submissions, serializer, page_reactions, comment_images).routes(),
        *page_reactions.routes(),
        *comment_images.routes(),
        *CommentForms(service, actions).routes(),
        *CommentPermalink(service, serializer).routes(),
        *Stacosys(service, submissions, api, feeds).routes(),
        *isso,
        *_foreign(service, submissions, serializer),
        *LinkPages(service).routes(),
        *PersonalDataPages(service).routes(),
        *FollowPages(service, cors).routes(),
        *others,
    ]
    description = ApiDescription(settings, routes)
    router = Router(
        [*description.routes(), *routes, *below_web(routes)],
        cors,
        as_http,
        settings.server.max_body_kib << 10,
    )
    return MissLimiter(router, settings.server, service.clock, isso_questions)


def _isso(
    service: ServiceContext,
    submissions: HttpSubmissions,
    actions: AuthorActions,
    feeds: Feeds,
    cors: CorsPolicy,
) -> tuple[Sequence[Route], frozenset[str]]:
    """Return the routes for Isso's clients, and the paths at which POST only reads.

    The package is imported only if a site has such clients: it takes 3 ms.
    """
    sites = service.settings.sites
    if not any(site.isso for site in sites):
        return (), frozenset()
    from commentsvc.compat.isso import routes

    handlers = routes.Handlers(submissions, actions, feeds, cors)
    return routes.routes(service, handlers), routes.questions(sites)


def _foreign(
    service: ServiceContext, submissions: HttpSubmissions, serializer: CommentSerializer
) -> Sequence[Route]:
    """Return the routes for clients of Waline and Artalk, imported only if a site has such."""
    sites, routes = service.settings.sites, []
    if any(site.waline for site in sites):
        from commentsvc.compat import waline

        routes += waline.routes(service, submissions, serializer)
    if any(site.artalk for site in sites):
        from commentsvc.compat import artalk

        routes += artalk.routes(service, submissions, serializer)
    return routes


@contextmanager
def _observed(bridge: Bridge, traced: bool) -> Iterator[None]:
    """Log the core's counters at each SIGUSR1, and each request when `traced`."""

    def log_statistics() -> None:
        from commentsvc.monitoring import metrics

        for line in metrics.statistics(bridge.stats(), Path("/proc/self/status").read_text()):
            _log.info("%s", line)

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, log_statistics)
    try:
        with request_trace.writing(bridge.take_trace, STDERR) if traced else nullcontext():
            yield
    finally:
        loop.remove_signal_handler(signal.SIGUSR1)


@contextmanager
def spared_collector() -> Iterator[None]:
    """Let the garbage collector ignore permanent objects, and run less often.

    A request leaves no reference cycles, but each collection examined 100,000 objects of modules
    and classes, which took a tenth of the time of a submission.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 50)
    gc.enable()  # `serve` switched it off for the start
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
