"""The composition root: the only module that knows all parts. It works in three steps.

`_open` opens the folder, the database and the core. `build` makes all handlers and background work
and connects them, without opening anything, so unit tests call it too. `_serve` answers requests
until a signal, or a successor, asks to stop.

What is opened is pushed on one exit stack. So a failure at any step undoes the steps before, in
reverse order, and a stop does the same: accept no more commands, answer what is in flight, write
what is queued, release the lock. If a new server takes over, it gets our sockets and the lock at
the very end; if it fails, everything is opened and built again.
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
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec

from commentsvc.admin.api.thread_moderation import ThreadModerationApi
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
from commentsvc.api.search import CommentSearch
from commentsvc.api.serialize import CommentSerializer
from commentsvc.api.static_files import Files
from commentsvc.api.stream import CommentStream, Publisher
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
from commentsvc.db.engine import Location, describe
from commentsvc.db.errors import DatabaseError
from commentsvc.db.lock import Lock
from commentsvc.db.migrations import upgrade
from commentsvc.db.schema.outbox import WEBMENTIONS
from commentsvc.delivery import builds, channels
from commentsvc.delivery.builds import ChangedSites
from commentsvc.delivery.channel import Channel
from commentsvc.delivery.settings_rows import sync_settings
from commentsvc.delivery.worker import OutboxWorker
from commentsvc.feedback.views import ViewCounter
from commentsvc.http.bridge import Bridge
from commentsvc.http.messages import CorsPolicy
from commentsvc.http.miss_limit import MissLimiter
from commentsvc.http.router import Route, Router, declared_routes
from commentsvc.inbox.hook import InboxHook
from commentsvc.mentions.endpoint import WebmentionEndpoint
from commentsvc.model import EVERY_TAG
from commentsvc.moderation import site_names
from commentsvc.monitoring.conditions import Conditions, Machine
from commentsvc.monitoring.health import Health
from commentsvc.pages.comment_forms import CommentForms
from commentsvc.pages.comment_page import CommentPermalink
from commentsvc.pages.comments_by_mail import CommentsByMail
from commentsvc.pages.embed import Embed
from commentsvc.pages.error_pages import ErrorPages
from commentsvc.pages.follow import FollowPages
from commentsvc.pages.mail_links import LinkPages, errors_as_pages
from commentsvc.pages.numbers_page import NumbersPages
from commentsvc.pages.personal_data import PersonalDataPages
from commentsvc.pages.privacy_page import PrivacyPage
from commentsvc.pages.reader_sign_in import SignInPages
from commentsvc.pages.search import SearchPage
from commentsvc.runtime import handover, maintenance, process, request_trace, rerender
from commentsvc.runtime.control import Control, NoServer, Request, ShowSettings, TryMail
from commentsvc.runtime.control_commands import CommandResult
from commentsvc.runtime.handover import Handover, InheritedState
from commentsvc.runtime.https_redirect import redirecting
from commentsvc.runtime.settings_watch import RunningParts, SettingsInForce
from commentsvc.runtime.systemd import Notifier
from commentsvc.settings import data_dir
from commentsvc.settings.loader import LoadedSettings
from commentsvc.settings.schema import ServerSettings, Settings
from commentsvc.spam.bans import Bans
from commentsvc.spam.protected_names import ProtectedNames
from commentsvc.submissions.service import SubmissionService
from commentsvc.util.clock import Clock
from commentsvc.util.threads import PROCESS, run_in, stop_all

if TYPE_CHECKING:
    from commentsvc.cluster.instance import Instance
    from commentsvc.inbox.receiver import MailReceiver

_log = logging.getLogger(__name__)

# The file descriptor for lines about requests.
STDERR: Final = 2
# Seconds for running commands at a stop.
COMMAND_GRACE: Final = 2.0
# Errors of file systems without sockets: those of some networks and memory cards.
WITHOUT_SOCKETS: Final = (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)
# Allocations minus deallocations before the garbage collector examines the youngest generation.
COLLECT_AFTER: Final = 20_000
# Seconds after the start until the blog is asked for pages that have moved.
SEARCH_AFTER: Final = 600.0


class Start(NamedTuple):
    """How the program is started: on the folder `data`, with a demo `blog` or none.

    `announce` is called with the address when all is ready. With `takes_over`, the server that runs
    on this data is asked to hand over. With `traced`, a line for each request is written to stderr.
    `instance` is the number of a process that a supervisor started with its `listeners`, else 0.
    It shares the clients with so many `processes` through the memory behind the descriptor
    `counts`: see `runtime.supervisor`.
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
    settings_file: Path | None = None


def run(loaded: LoadedSettings, start: Start) -> None:
    """Serve until a signal, or a successor, asks to stop.

    Raise DataUnusable, KeyUnusable, SocketsUnusable, ControlError, DatabaseError or OSError if it
    cannot start.
    """
    process.set_up_logging()
    process.raise_file_limit(loaded.settings.server.max_connections)
    try:
        inherited = asyncio.run(_run_once(loaded, start, None))
        while inherited is not None:
            inherited = asyncio.run(_run_once(loaded, start, inherited))
    finally:
        stop_all()


async def _run_once(
    loaded: LoadedSettings, start: Start, inherited: InheritedState | None
) -> InheritedState | None:
    """Serve with the state `inherited` or a new one; return our state if a successor failed."""
    told_to_stop = process.expect_stop()
    if start.instance:
        process.expect_end_of_input(told_to_stop)
    succession = Handover(told_to_stop, inherited)
    try:
        async with AsyncExitStack() as stack:
            opened = await _open(stack, loaded, start, succession)
            running = RunningParts(
                opened.memory.in_force, opened.service.database, partial(_make, opened, start.blog)
            )
            stack.push_async_callback(running.parts.views.store)
            await _serve(stack, opened, running, start, succession)
            await told_to_stop.wait()
            start.manager.notify("STOPPING=1")
    finally:
        process.end_at_once()
        left = await succession.conclude()
    return left


class Memory(msgspec.Struct, frozen=True):
    """What this process remembers of the database until it is purged."""

    bans: Bans
    names: ProtectedNames
    changed: ChangedSites
    in_force: SettingsInForce

    @classmethod
    def of(cls, loaded: LoadedSettings) -> "Memory":
        """Return an empty memory."""
        settings = loaded.settings
        names, changed = ProtectedNames(settings), ChangedSites(settings)
        return cls(Bans(), names, changed, SettingsInForce(loaded))

    def forget(self, tags: Sequence[str]) -> None:
        """Forget what the purge of `tags` concerns."""
        self.bans.forget(tags)
        self.names.forget(tags)
        self.changed.note(tags)
        self.in_force.forget(tags)


class _Opened(msgspec.Struct, frozen=True):
    """What `_open` has opened."""

    lock: Lock
    service: ServiceContext
    memory: Memory
    bridge: Bridge
    leader: Leader
    figures: Figures


async def _open(
    stack: AsyncExitStack, loaded: LoadedSettings, start: Start, succession: Handover
) -> _Opened:
    """Open what the service needs of this machine, until `stack` is closed."""
    data, settings = start.data, loaded.settings
    data_dir.prepare(data)
    await _inherit(start, succession)
    name = data_dir.lock(start.instance)
    lock = stack.enter_context(Lock(data, succession.inherited.lock, name))
    location = settings.database.url or data / data_dir.DATABASE
    if isinstance(location, Path):  # before there is a key: beside one, it must not be empty
        upgrade.upgrade(location)
    else:
        upgrade.is_current(location)  # raises an exception if it cannot be used
    key = data / data_dir.SECRET_KEY
    makes_key = not settings.auth.secret_key and not key.exists()
    keys, leader = _join(stack, location, loaded, key)
    pages = ErrorPages(Sites(settings.sites))
    bridge = Bridge(_with_room(settings), request_trace.LINES if start.traced else 0, pages)
    stack.enter_context(_observed(bridge, start.traced))
    memory = Memory.of(loaded)
    instance = await _instance(stack, settings, bridge, memory)
    database = _open_database(settings, location, bridge, memory, instance)
    stack.push_async_callback(database.close)
    data_dir.remember_served(data, describe(location) if settings.database.url else "")
    memory.in_force.renew(database)
    settings = memory.in_force.settings
    await database.write(sync_settings, settings)
    names = [site.name for site in settings.sites]
    for site in await database.read(site_names.hidden, names):
        _log.warning("%s", site_names.explain(site, names))
    if makes_key and await database.read(queries.has_comments):
        _log.warning(
            "%s was missing and is a new key now: edit tokens, sign-ins, second factors and"
            " links in mails made with the old one are invalid. If you have the old file, stop"
            " the service and put it there",
            key,
        )
    clock = Clock()
    sites = Sites(settings.sites, settings.server.public_url, settings.comments.votes)
    service = ServiceContext(settings, database, sites, keys, clock, loaded)
    backups = ScheduledBackup(settings.backup, location, clock)
    folder = location.parent if isinstance(location, Path) else None
    machine = Machine(folder, start.settings_file, clock)
    state = instance.state if instance else lambda: None
    figures = Figures(bridge.stats, backups, state, machine)
    return _Opened(lock, service, memory, bridge, leader, figures)


def _with_room(settings: Settings) -> ServerSettings:
    """Return the server's settings, with room in a body for a picture and a form, or for a mail."""
    room = settings.server.max_body_kib
    if any(site.images for site in settings.sites):
        room += settings.comments.image_kib
    if settings.inbox.hook_secret:
        from commentsvc.inbox.message import MAIL_SIZE

        room = max(room, (MAIL_SIZE >> 10) + 1)
    return msgspec.structs.replace(settings.server, max_body_kib=room)


def _join(
    stack: AsyncExitStack, location: Location, loaded: LoadedSettings, key: Path
) -> tuple[tuple[bytes, ...], Leader]:
    """Return the secret keys, and what says whether this instance leads, until `stack` is closed.

    Make the file `key` if it is needed. Raise KeyUnusable; DatabaseError, and then leave no new
    file behind.
    """
    is_new = not key.exists()
    keys = edit_tokens.load_keys(key, loaded.settings.auth.secret_key)
    try:
        return keys, stack.enter_context(_leader(location, loaded, keys))
    except DatabaseError:
        if is_new:
            key.unlink(missing_ok=True)
        raise


@contextmanager
def _leader(location: Location, loaded: LoadedSettings, keys: Sequence[bytes]) -> Iterator[Leader]:
    """Yield what says whether this instance leads; raise DatabaseError.

    A PostgreSQL database is upgraded once the other instances are known to have equal settings.
    """
    if isinstance(location, Path):
        yield SoleLeader()
        return
    from commentsvc.cluster.election import Election, agreement
    from commentsvc.db import postgresql_sessions

    with Election(location, agreement(loaded, keys)) as election:
        upgrade.upgrade(location)
        if stranger := postgresql_sessions.strangers(location):
            _log.warning("%s", stranger)
        yield election


async def _inherit(start: Start, succession: Handover) -> None:
    """Get what others have opened for us: the service manager, or the server that we replace."""
    if succession.inherited.lock >= 0:
        return
    passed = start.listeners or start.manager.sockets()
    if start.takes_over:
        with suppress(NoServer):
            path = start.data / data_dir.control_socket(start.instance)
            await run_in(PROCESS, succession.succeed, path, start.manager.address)
    if passed:
        succession.take_passed(passed)


async def _instance(
    stack: AsyncExitStack,
    settings: Settings,
    bridge: Bridge,
    memory: Memory,
) -> "Instance | None":
    """Join the instances on the database, for as long as `stack` is not closed; None with a file.

    The `memory` forgets what each remote purge concerns, before it.
    """
    if not settings.database.url:
        return None
    from commentsvc.cluster.instance import Instance

    strict = settings.database.coherence == "strict"
    instance = Instance(settings.database.url, bridge, strict=strict)
    instance.on_remote += (memory.forget,)
    instance.start()
    stack.push_async_callback(run_in, PROCESS, instance.stop)
    return instance


def _open_database(
    settings: Settings,
    location: Location,
    bridge: Bridge,
    memory: Memory,
    instance: "Instance | None",
) -> Database:
    """Open the database. The `memory` forgets what each purge concerns, before it."""

    def purge(tags: Sequence[str]) -> None:
        memory.forget(tags)
        if EVERY_TAG in tags:
            bridge.purge_all()
        else:
            bridge.purge(tags)

    database = Database(location, settings.database, purge=purge, announce=bridge.announce)
    database.open(peers=instance)
    return database


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


class Parts(msgspec.Struct, frozen=True):
    """The parts of a service. They are connected, but nothing runs yet.

    `routes` are those of the interface, `pages` those for moderators; `router` has both, and
    `handler` limits what one network may ask of it. The leader sends what is in the `outbox` and
    does `leader_works`, and each instance `own_works`.
    """

    submissions: SubmissionService
    receiver: "MailReceiver | None"
    outbox: OutboxWorker
    views: ViewCounter
    stream: CommentStream
    programs: ProgramInterface
    routes: Sequence[Route]
    pages: Sequence[Route]
    router: Router
    handler: MissLimiter
    leader_works: Sequence[Work]
    own_works: Sequence[Work]

    def go_on(self, former: "Parts") -> None:
        """Go on where the `former` parts, made with other settings, have ended."""
        self.outbox.go_on(former.outbox)
        self.views.go_on(former.views)
        self.programs.queue.go_on(former.programs.queue)


def _make(opened: _Opened, blog: Path | None, settings: Settings, former: Parts | None) -> Parts:
    """Return the parts for the settings in force, in place of the `former` ones."""
    service = opened.service.with_settings(settings)
    parts = build(
        service,
        opened.bridge,
        opened.memory,
        opened.figures,
        leads=opened.leader.leads,
        blog=blog,
    )
    opened.memory.names.take(settings)
    opened.bridge.show_errors(ErrorPages(service.sites))
    if former:
        parts.go_on(former)
    return parts


def build(
    service: ServiceContext,
    core: Publisher,
    memory: Memory,
    figures: Figures,
    *,
    leads: Callable[[], bool] = lambda: True,
    blog: Path | None = None,
) -> Parts:
    """Return all parts, connected. `core` sends live updates, if this instance `leads` also mails.

    Raise OSError if `inbox.ca_file` cannot be read.
    """
    settings, database, clock = service.settings, service.database, service.clock
    submissions = SubmissionService(service, memory.bans, memory.names)
    outgoing = channels.channels(
        settings, SignedLinks(service.keys), clock, database, service.lasting
    )
    outgoing.update(_sent_mentions(service))
    outbox = OutboxWorker(database, outgoing, clock, leads=leads)
    views = ViewCounter(database)
    receiver, hook, fetching = _inbox(service, submissions)
    trouble = _inbox_trouble(fetching)
    conditions = Conditions(database, outbox, figures.backups, figures.machine, trouble)
    stream = CommentStream(service, core, secrets.randbelow)
    programs = ProgramInterface(service, core)
    cors = CorsPolicy(settings.sites)
    page_views = PageViews(service, views)
    public, read_only_posts = _routes_for_readers(service, submissions, cors, page_views)
    as_pages = partial(errors_as_pages, service.sites)
    routes = [
        *public,
        *declared_routes(SignInPages(service, memory.names), wrap=as_pages),
        *programs.routes(),
        *Files(settings, blog).routes(),
        *declared_routes(
            stream,
            page_views,
            WebmentionEndpoint(service),
            hook,
            Health(service, figures.core, figures.instance, conditions),
        ),
    ]
    routes += declared_routes(ApiDescription(settings, routes))
    pages = AdminPages(service, programs.queue, figures, conditions.now).routes()
    both = [*routes, *pages]
    router = Router([*both, *below_web(both)], cors, as_http, settings.server.max_body_kib << 10)
    leader_works: list[Work] = [
        partial(maintenance.run, database, settings, clock),
        partial(rerender.run, database),
        partial(builds.watch, memory.changed, database, settings, clock),
        *(each.run for each in (receiver, *fetching) if each),
        *_mentions(service, submissions),
        *_asked_of_blogs(service),
        *([CommentsXmlFile(service).run] if settings.stacosys.rss_file else []),
    ]
    return Parts(
        submissions=submissions,
        receiver=receiver,
        outbox=outbox,
        views=views,
        stream=stream,
        programs=programs,
        routes=routes,
        pages=pages,
        router=router,
        handler=MissLimiter(router, settings.server, clock, service.lasting, read_only_posts),
        leader_works=leader_works,
        own_works=(outbox.watch, programs.queue.run, views.run),
    )


class _Fetcher(Protocol):
    """What fetches mails or decisions until cancelled; `trouble` says why it cannot, or ""."""

    trouble: str

    async def run(self) -> None: ...


def _inbox_trouble(fetching: Sequence[_Fetcher]) -> Callable[[], str]:
    """Return what says why something is not fetched, "" if all is."""
    return lambda: " ".join(each.trouble for each in fetching if each.trouble)


def _routes_for_readers(
    service: ServiceContext, taken: SubmissionService, cors: CorsPolicy, views: PageViews
) -> tuple[list[Route], frozenset[str]]:
    """Return the routes for readers, and the paths of Isso's clients at which POST only reads.

    What other systems' clients need is imported only if a site has such clients: Isso's takes 3 ms.
    """
    settings = service.settings
    submissions = HttpSubmissions(service, cors, taken)
    serializer = CommentSerializer(service.sites, service.keys[0])
    api = CommentsApi(service, cors, submissions, serializer)
    actions = AuthorActions(service, cors, submissions, serializer)
    in_thread = ThreadModerationApi(service, cors, serializer)
    reactions = PageReactions(service, cors)
    images = CommentImages(service, cors, submissions)
    feeds = Feeds(service)
    searches = CommentSearch(service)
    as_pages = partial(errors_as_pages, service.sites)
    routes = [
        *declared_routes(
            api,
            actions,
            in_thread,
            Avatars(settings, service.sites, service.clock, service.lasting),
            feeds,
            reactions,
            images,
            searches,
            CommentPermalink(service, serializer),
        ),
        *Embed(service, submissions, serializer, reactions, images).routes(),
        *CommentForms(service, actions).routes(),
        *Stacosys(service, submissions, api, feeds).routes(),
        *declared_routes(
            LinkPages(service),
            PersonalDataPages(service),
            PrivacyPage(service),
            NumbersPages(service),
            SearchPage(service, searches),
            CommentsByMail(service, submissions),
            wrap=as_pages,
        ),
        *FollowPages(service, cors).routes(),
    ]
    read_only_posts: frozenset[str] = frozenset()
    if not any(site.isso or site.waline or site.artalk for site in settings.sites):
        return routes, read_only_posts
    from commentsvc.compat.common import Handlers

    handlers = Handlers(submissions, serializer, actions, reactions, views, feeds, cors)
    if any(site.isso for site in settings.sites):
        from commentsvc.compat.isso import routes as isso

        routes += isso.routes(service, handlers)
        read_only_posts = isso.read_only_posts(settings.sites)
    if any(site.waline for site in settings.sites):
        from commentsvc.compat import waline

        routes += waline.routes(service, handlers)
    if any(site.artalk for site in settings.sites):
        from commentsvc.compat import artalk

        routes += artalk.routes(service, handlers)
    return routes, read_only_posts


def _inbox(
    service: ServiceContext, submissions: SubmissionService
) -> "tuple[MailReceiver | None, InboxHook, list[_Fetcher]]":
    """Return what takes answers by mail, its hook, and what fetches mails and pressed buttons.

    They are imported only if needed. Raise OSError if `inbox.ca_file` cannot be read.
    """
    settings = service.settings.inbox
    fetching: list[_Fetcher] = []
    if service.settings.hooks.telegram_decides:
        from commentsvc.delivery.telegram_buttons import TelegramButtons

        fetching.append(TelegramButtons(service.settings, service.database, service.clock))
    if not settings.address:
        return None, InboxHook("", None, service.lasting), fetching
    from commentsvc.inbox.receiver import MailReceiver

    receiver = MailReceiver(service, submissions)
    if settings.host:
        from commentsvc.inbox.imap import ImapFetcher

        fetching.append(ImapFetcher(settings, receiver.take, service.database, service.clock))
    proxies = service.settings.server.trusted_proxies
    hook = InboxHook(settings.hook_secret, receiver.take, service.lasting, proxies, service.clock)
    return receiver, hook, fetching


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
        from commentsvc.mentions.page_posts import PostFinder

        works.append(PostFinder(service).run)
    return works


def _asked_of_blogs(service: ServiceContext) -> list[Work]:
    """Return the leader's work for pages that have moved and for translations of pages."""
    works: list[Work] = [partial(_search_moved_pages, service)]
    if any(site.translations for site in service.settings.sites):
        from commentsvc.blog.translations import PageTranslations

        works.append(PageTranslations(service).run)
    return works


async def _search_moved_pages(service: ServiceContext) -> None:
    """Search for pages that have moved, not at each start; its code is imported only then, too."""
    await asyncio.sleep(SEARCH_AFTER)
    from commentsvc.blog.unlisted import UnlistedPages

    await UnlistedPages(service).run()


def _sent_mentions(service: ServiceContext) -> dict[str, Channel]:
    """Return the channel of webmentions, by its name, if a site sends them."""
    if not any(site.send_webmentions for site in service.settings.sites):
        return {}
    from commentsvc.mentions.sender import WebmentionSender

    return {WEBMENTIONS: WebmentionSender(service)}


async def _serve(
    stack: AsyncExitStack,
    opened: _Opened,
    running: RunningParts[Parts],
    start: Start,
    succession: Handover,
) -> None:
    """Begin to answer requests and commands and to do background work; say that all is ready."""
    settings, bridge = opened.service.settings, opened.bridge
    await stack.enter_async_context(redirecting(settings.server, succession))
    if start.instance:
        bridge.share_clients(start.counts, start.instance, start.processes)
    rules = running.parts.handler.target_rules
    bridge.serve(running, succession.inherited.sockets, rules)
    stack.push_async_callback(_stop, bridge, settings.server.stop_grace, succession, opened.lock)
    scheme = "" if bridge.address.startswith("unix:") else "http://"
    ready = CommandResult(
        address=scheme + bridge.address,
        proxy_header=settings.server.proxy_protocol,
        manager=start.manager.address,
    )
    control = Control(
        start.data / data_dir.control_socket(start.instance),
        execute=partial(_execute, opened.service, running),
        ready=ready,
        accept=succession.begin,
    )
    await _listen(control, start.data)
    stack.push_async_callback(control.stop, COMMAND_GRACE)
    running.watch()
    working = _work(opened.leader, opened.figures, running)
    await stack.enter_async_context(meanwhile(working, start.manager.watch()))
    stack.enter_context(spared_collector())
    start.announce(ready.address)
    start.manager.notify("READY=1", f"MAINPID={os.getpid()}")
    succession.be_ready()


async def _work(leader: Leader, figures: Figures, running: RunningParts[Parts]) -> None:
    """Do all work in the background until cancelled.

    Other settings begin the work of the parts anew, but not an election or a backup.
    """
    led = (
        figures.backups.run,
        partial(_deliver, running),
        partial(_work_of_parts, running, attrgetter("leader_works")),
    )
    own = _work_of_parts(running, attrgetter("own_works"))
    async with meanwhile(figures.machine.watch(), own):
        await leader.run(*led)


async def _work_of_parts(
    running: RunningParts[Parts], works: Callable[[Parts], Sequence[Work]]
) -> None:
    """Do the `works` of the parts that are the present ones, until cancelled."""
    while True:
        parts = running.parts
        async with meanwhile(*(work() for work in works(parts))):
            await running.replaced(parts)


async def _deliver(running: RunningParts[Parts]) -> None:
    """Send what is in the outbox until cancelled; a worker ends before the next one begins."""
    while True:
        parts = running.parts
        async with meanwhile(parts.outbox.run()):
            await running.replaced(parts)
            await parts.outbox.finish()


async def _execute(
    service: ServiceContext, running: RunningParts[Parts], request: Request
) -> CommandResult:
    """Do what a command asks for; return its result."""
    match request:
        case ShowSettings():
            running.renew()
            return CommandResult(settings=running.settings)
        case TryMail():
            from commentsvc.delivery.mail_trial import try_mail  # mail may never be used

            await try_mail(running.settings, request.recipient, service.clock.now_ms())
            return CommandResult()
    return await service.database.write(request.run, service.clock.now_ms())


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
