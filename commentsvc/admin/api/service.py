"""The JSON API of moderation: the bans, the outbox, the figures and the settings of the service."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from commentsvc import outbox
from commentsvc.admin.api.comments import DecisionResult, IdCursor, Limit, SiteOrAll, result_of
from commentsvc.admin.api.token_access import Asked, Plain, Sent, endpoint
from commentsvc.admin.dashboard import settings_sections
from commentsvc.api.serialize import Answer, Moment, answer_of
from commentsvc.comments import search
from commentsvc.context import ServiceContext
from commentsvc.http.messages import HttpError
from commentsvc.http.operation import Query
from commentsvc.moderation import authorized, lists, review
from commentsvc.moderation.permissions import Permission
from commentsvc.spam import bans
from commentsvc.util.timestamps import DAY_MS, rfc3339

LAST: Final = 2**63 - 1


class OutboxListQuery(Query, frozen=True):
    """Which mails and webhook calls are listed."""

    state: Literal["", "open", "queued", "sent", "failed"] = ""
    after: IdCursor | None = None
    limit: Limit = 50


class DaysQuery(Query, frozen=True):
    """How many days, up to today (UTC), are counted."""

    days: Annotated[int, Meta(ge=1, le=1_000)] = 30
    site: SiteOrAll = ""


class BanBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to ban, and for how many days (0 for ever)."""

    kind: Literal["author", "network", "word", "domain"]
    value: Annotated[str, Meta(max_length=300)]
    days: Annotated[int, Meta(ge=0, le=36_500)] = 0


class ListedBan(Answer, frozen=True):
    """A ban; `expires` is null for a ban without end."""

    id: int
    kind: Literal["author", "network", "word", "domain"]
    value: str
    actor: str
    created: Moment
    expires: Moment | None


class ListedBans(Answer, frozen=True):
    """All bans, the newest first."""

    data: list[ListedBan]


class MadeBan(Answer, frozen=True):
    """The id of a new ban."""

    id: int


class ListedPost(Answer, frozen=True):
    """A mail or webhook call, and its state."""

    id: int
    channel: str
    kind: str
    recipient: str
    comment: int | None
    state: Literal["open", "queued", "sent", "failed"]
    attempts: int
    error: str
    created: Moment
    due: Moment


class ListedPosts(Answer, frozen=True):
    """Mails and webhook calls, the newest first; pass `next` as `after` for more.

    `next` is null at the end.
    """

    data: list[ListedPost]
    next: int | None


class DayNumber(Answer, frozen=True):
    """How many of the comments written on a day (UTC) now have a status."""

    day: str
    status: str
    number: int


class DayNumbers(Answer, frozen=True):
    """The figures of each day, and how many comments are pending and spam (counted up to 1,001)."""

    data: list[DayNumber]
    pending: int
    spam: int


class ServiceApi:
    """The handlers of what concerns the whole service."""

    def __init__(self, service: ServiceContext) -> None:
        self._database = service.database
        self._sites = service.sites
        self._settings = service.settings

    @endpoint("GET", "/bans", Permission.READ_SERVICE)
    async def bans(self, call: Plain) -> ListedBans:
        """All bans."""
        known = await self._database.read(bans.listing)
        return ListedBans([answer_of(ListedBan, each) for each in known])

    @endpoint("POST", "/bans", Permission.DECIDE_SERVICE, status=201, errors=(409,))
    async def ban(self, call: Sent[BanBody]) -> MadeBan:
        """Ban somebody or something."""
        sent, who, now = call.body, call.who.name, call.now
        expires = now + sent.days * DAY_MS if sent.days else None
        return MadeBan(
            await self._database.write(bans.add, sent.kind, sent.value, who, now, expires)
        )

    @endpoint("DELETE", "/bans/{id}", Permission.DECIDE_SERVICE)
    async def unban(self, call: Plain) -> None:
        """Lift a ban."""
        await self._database.write(bans.remove, call.number)

    @endpoint("POST", "/bans/{id}/comments", Permission.DECIDE_SERVICE)
    async def ban_comments(self, call: Plain) -> DecisionResult:
        """Mark the existing comments that a ban covers as spam."""
        return result_of(
            await self._database.write(
                authorized.ban_comments, call.who, call.number, review.MANY, call.now
            )
        )

    @endpoint("GET", "/outbox", Permission.READ_SERVICE)
    async def outbox(self, call: Asked[OutboxListQuery]) -> ListedPosts:
        """Mails and webhooks: sent, waiting or failed."""
        asked, most = call.query, call.query.limit
        rows = await self._database.read(
            outbox.listing, asked.state or None, asked.after or LAST, most + 1
        )
        data = [answer_of(ListedPost, each) for each in rows[:most]]
        return ListedPosts(data, data[-1].id if len(rows) > most else None)

    @endpoint("POST", "/outbox/{id}/retry", Permission.DECIDE_SERVICE, errors=(409,))
    async def retry(self, call: Plain) -> None:
        """Send something again."""
        if not await self._database.write(outbox.retry, [call.number], call.now):
            raise HttpError(409, "refused", "That was sent, or does not exist.")

    @endpoint("GET", "/days", Permission.READ)
    async def days(self, call: Asked[DaysQuery]) -> DayNumbers:
        """The number of comments of each day, by status."""
        self._sites.named(call.query.site)  # or it raises UnknownSiteError
        sites = call.who.narrowed(call.query.site)
        since = call.now // DAY_MS - call.query.days + 1
        found = await self._database.read(search.days, sites, since)
        numbers = await self._database.read(lists.numbers, sites)
        data = [
            DayNumber(rfc3339(each.day * DAY_MS)[:10], each.status, each.number)
            for each in found
            if each.number
        ]
        return DayNumbers(data, numbers["pending"], numbers["spam"])

    @endpoint("GET", "/settings", Permission.READ_SERVICE)
    async def settings(self, call: Plain) -> dict[str, dict[str, str]]:
        """The settings in effect, without secrets."""
        sections = settings_sections(self._settings)
        names = [name for name, _ in sections]
        return {  # sections with the same name are numbered
            f"{name} {number}" if names.count(name) > 1 else name: dict(rows)
            for number, (name, rows) in enumerate(sections, 1)
        }
