"""The JSON API of moderation: the pages of the blog and their comment threads."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from commentsvc.admin.api.comments import IdCursor, Limit
from commentsvc.admin.api.token_access import Asked, Sent, endpoint
from commentsvc.api.serialize import Answer, answer_of
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Transaction
from commentsvc.http.messages import HttpError
from commentsvc.http.operation import Query
from commentsvc.model import STATES
from commentsvc.moderation import authorized, threads
from commentsvc.moderation.permissions import Permission
from commentsvc.moderation.threads import ThreadSummary


class ThreadListQuery(Query, frozen=True):
    """Which pages are listed."""

    q: Annotated[str, Meta(description="Part of an address or title.")] = ""
    after: IdCursor | None = None
    limit: Limit = 50


class ModeratedThread(Answer, frozen=True):
    """A page of a blog. `count` is the number of its published comments."""

    id: int
    site: str
    url: str
    title: str
    count: int
    state: Literal["aging", "open", "closed"]
    aliases: list[str]


class ModeratedThreads(Answer, frozen=True):
    """Pages, the newest first; pass `next` as `after` for more, null at the end."""

    data: list[ModeratedThread]
    next: int | None


class ThreadVerb(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of a page: its state, its title, or another address.

    `merge` moves its comments to the page `value`; `remove_reactions` and `remove_views` need no
    `value`. None of these can be undone.
    """

    do: Literal[
        "state",
        "title",
        "move",
        "alias",
        "unalias",
        "merge",
        "remove_reactions",
        "remove_views",
    ]
    value: Annotated[str, Meta(max_length=2_000)] = ""


class ThreadsApi:
    """The handlers of threads."""

    def __init__(self, service: ServiceContext) -> None:
        self._database = service.database
        self._sites = service.sites

    @endpoint("GET", "/threads", Permission.READ)
    async def threads(self, call: Asked[ThreadListQuery]) -> ModeratedThreads:
        """The pages of the blog that have comments."""
        asked, most = call.query, call.query.limit
        rows = await self._database.read(
            threads.listing, asked.q.strip(), most + 1, asked.after, call.who.sites
        )
        data = [answer_of(ModeratedThread, each) for each in rows[:most]]
        return ModeratedThreads(data, data[-1].id if len(rows) > most else None)

    @endpoint("POST", "/threads/{id}", Permission.DECIDE, errors=(409,))
    async def change_thread(self, call: Sent[ThreadVerb]) -> ModeratedThread:
        """Close, move, merge or rename a page, change its aliases, or remove its reactions or
        views.
        """
        sent, who, number = call.body, call.who, call.number
        if sent.do == "state" and sent.value not in STATES:
            problem = f"This must be one of {', '.join(STATES)}."
            raise HttpError(400, "invalid", "Please look at: value.", {"value": problem})
        thread = await self._database.read(authorized.find_thread, who, number)
        change = authorized.thread_change(self._sites, thread, sent.do, sent.value)

        def work(tx: Transaction) -> ThreadSummary:
            shown = authorized.change_thread(tx, who, number, change, call.now)
            return authorized.find_thread(tx, who, shown)

        return answer_of(ModeratedThread, await self._database.write(work))
