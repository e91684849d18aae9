"""Reactions: one click says what a reader thinks of a page. See `feedback.reactions`."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from commentsvc.api.author import Word, check_emoji, read_small
from commentsvc.api.parameters import WriteQuery
from commentsvc.api.serialize import Reactions
from commentsvc.api.vote_limit import VoteLimit
from commentsvc.comments.page_urls import PageRef
from commentsvc.comments.submission import Url
from commentsvc.context import ServiceContext
from commentsvc.errors import TooManyReactions
from commentsvc.feedback import reactions
from commentsvc.feedback.reactions import Reaction
from commentsvc.http.messages import CorsPolicy, Request, Response, json_answer
from commentsvc.http.operation import handles

REACTION_BYTES: Final = 8_192  # an escaped url and some words


Emoji = Annotated[
    str,
    Meta(
        description="One of those that the site has chosen.",
        extra_json_schema={"x-setting": "emoji"},
    ),
]


class ReactionBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A reaction to a page, or its withdrawal."""

    url: Url
    emoji: Emoji
    given: Annotated[bool, Meta(description="False takes the reaction back.")]
    reader: Word


class PageReactions:
    """The handlers of reactions, sent as JSON or by a form."""

    def __init__(self, service: ServiceContext, cors: CorsPolicy) -> None:
        self._database = service.database
        self._sites = service.sites
        self._clock = service.clock
        self._cors = cors
        self._limit = VoteLimit(service, "reactions", TooManyReactions)

    @handles(
        "POST",
        "/api/reactions",
        Reactions,
        body=ReactionBody,
        errors=(400, 403, 404, 409, 415, 429, 503),
    )
    async def react(self, request: Request, query: WriteQuery) -> Response:
        """React to a page with an emoji, or take that back.

        The answer ``{"reactions": {emoji: number}}`` contains all emoji of the site in their
        configured order. `reader` is a random word that a browser makes once and keeps. Sending the
        same reaction twice, or taking it back twice, changes nothing. 400 with the invalid fields,
        403 for a foreign page, 404 if the site has no reactions, 409 from a network with too many
        reactions on the page, 415, 429, 503.
        """
        example = '{"url": "/post/", "emoji": "👍", "given": true, "reader": "…"}'
        sent = read_small(request.json(), ReactionBody, example, REACTION_BYTES)
        page = self._sites.locate(sent.url, query.site)
        headers = self._cors.check(request, page.site)
        check_emoji(sent.emoji, self._sites.reactions(page.site, {}))
        networks = self._limit.admit(request, _subject(page)).hashes
        reaction = Reaction(sent.emoji, sent.reader, sent.given)
        counts = await self._database.write(
            reactions.react, page, reaction, networks, self._clock.now_ms()
        )
        return json_answer(Reactions(self._sites.reactions(page.site, counts)), *headers)

    async def react_by_form(
        self, request: Request, page: PageRef, emoji: str, *, given: bool = True
    ) -> None:
        """Store the reaction of a reader without a word, or take it back.

        Raise HttpError or CommentsError.
        """
        self._cors.check(request, page.site)
        check_emoji(emoji, self._sites.reactions(page.site, {}))
        networks = self._limit.admit(request, _subject(page)).hashes
        store = reactions.react_once if given else reactions.withdraw_once
        await self._database.write(store, page, emoji, networks, self._clock.now_ms())


def _subject(page: PageRef) -> bytes:
    return f"{page.site} {page.url}".encode()
