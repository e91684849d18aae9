"""Structured data: the comments of a page as JSON-LD with the words of schema.org.

Search engines read it beside the HTML. Each comment has what Google documents as required: the name
of its author, when it was published, and its text or picture. The page itself is an `Article`, of
which Google requires nothing: only the blog knows its author. Authors' sites are left out, since
nothing here could say `nofollow`. A comment without its author or text, such as a deleted one, is
left out, too, and its replies move up.
"""

import re
from collections.abc import Iterable, Sequence
from html import unescape
from typing import Final, NamedTuple, Protocol, TypeVar

import msgspec

from commentsvc.comments.queries import DeletedComment
from commentsvc.comments.tree import Branch, Reply
from commentsvc.model import fragment
from commentsvc.util.text import excerpt

TEXT: Final = 1_000  # characters of a comment's text
READ: Final = 5 * TEXT  # characters of a comment's HTML that are read for it
# Characters of all comments; later ones are left out. An answer has 1.5 MB at most, and "<" becomes
# six bytes.
CHARACTERS: Final = 100_000
_NAMES: Final = 200  # characters that stand around the values of a comment

_PICTURE = re.compile(r'<img src="([^"]*)"').search


class Described(Reply, Protocol):
    """A comment: its values are those of `api.serialize.Item`."""

    @property
    def author(self) -> str:
        """The name of the author."""

    @property
    def html(self) -> str:
        """The text as HTML."""

    @property
    def published(self) -> str | None:
        """When it was published (RFC 3339)."""

    @property
    def edited(self) -> str | None:
        """When it was last changed (RFC 3339), or None."""

    @property
    def votes(self) -> int:
        """The sum of all votes."""

    @property
    def anchor(self) -> str:
        """The id that links from an earlier system lead to; "" if it has none."""

    @property
    def lang(self) -> str:
        """The tag of its language; "" if that is not known."""


D = TypeVar("D", bound=Described)


class DescribedPage(NamedTuple):
    """A page: its address, title and numbers; the title may be ""."""

    address: str
    title: str
    comments: int
    likes: int = 0
    reposts: int = 0


def json_ld(page: DescribedPage, branches: Sequence[Branch[D]], *, votes: bool = True) -> str:
    """Return the JSON of a page and its comments, in which no tag can begin or end.

    `votes` says whether the sums of votes are public.
    """
    left = CHARACTERS

    def comments(level: Sequence[Branch[D]]) -> Iterable[dict[str, object]]:
        nonlocal left
        for comment, replies in level:
            if isinstance(comment, DeletedComment) or not comment.author:
                yield from comments(replies)
                continue
            anchor = f"#{comment.anchor}" if comment.anchor else fragment(comment.id)
            text = excerpt(comment.html[:READ], TEXT)
            left -= _NAMES + len(page.address + anchor + comment.author + text)
            if left < 0:
                return
            picture = None if text else _PICTURE(comment.html[:READ])
            if not text and not picture:
                yield from comments(replies)
                continue
            yield _present(
                {
                    "@type": "Comment",
                    "url": page.address + anchor,
                    "author": {"@type": "Person", "name": comment.author},
                    "datePublished": comment.published,
                    "dateModified": comment.edited,
                    "text": text,
                    "inLanguage": comment.lang,
                    "image": unescape(picture[1]) if picture else "",
                    "interactionStatistic": _numbers(LikeAction=comment.votes if votes else 0),
                    "comment": [*comments(replies)],
                }
            )

    described = {
        "@context": "https://schema.org",
        "@type": "Article",
        "@id": page.address,
        "url": page.address,
        "headline": page.title,
        "commentCount": page.comments,
        "interactionStatistic": _numbers(
            CommentAction=page.comments, LikeAction=page.likes, ShareAction=page.reposts
        ),
        "comment": [*comments(branches)],
    }
    text = msgspec.json.encode(_present(described)).decode()
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _present(fields: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value}


def _numbers(**numbers: int) -> list[dict[str, object]]:
    return [
        {
            "@type": "InteractionCounter",
            "interactionType": f"https://schema.org/{action}",
            "userInteractionCount": number,
        }
        for action, number in numbers.items()
        if number > 0
    ]
