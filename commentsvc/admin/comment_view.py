"""Comments in the lists for moderators, with a cache of their HTML.

After each decision a list is shown again, with all comments but one unchanged. Making the HTML of
fifty comments takes 2.5 ms, finding it in the cache a tenth of that. The cache key is everything
that the HTML is made from, so it is never stale.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import msgspec
from markupsafe import Markup

from commentsvc.admin import render
from commentsvc.feedback.reports import Reports
from commentsvc.markup.markdown import absolute
from commentsvc.model import APPROVED, Entry
from commentsvc.moderation import statements
from commentsvc.moderation.lists import ParentQuote, StoredVerdict
from commentsvc.util.i18n import gettext as _
from commentsvc.util.i18n import spoken

# A longer text is cut in a list, which then has a link to the whole: two lines of a wide window.
LONG_CHARACTERS: Final = 180
LONG_LINES: Final = 3

REMEMBERED: Final = 100  # comments: two pages of a list; 0.3 MiB for comments of 500 characters


class CommentView(msgspec.Struct, frozen=True):
    """What is shown of a comment: ages are in words, `edited` is "" if it was not edited.

    `parent` is the comment that it replies to, `doubt` a class for its score, with the reasons in
    `verdict`. `origin` is that of its blog, "" if unknown. `several`: there are several sites, so
    its site is named. `found`: it was found by a search, so its status is named. `decides`: the
    moderator may decide on it. `reports` are what readers reported. `longest` is the length of an
    answer at most, in characters; `statement` is that of a statement of reasons, 0 if nobody would
    get one. `language` is the tag of the current language.
    """

    entry: Entry
    parent: ParentQuote | None
    verdict: StoredVerdict | None
    doubt: str
    age: str
    edited: str
    origin: str
    several: bool
    found: bool
    ticked: bool
    decides: bool
    reports: Reports | None
    longest: int
    statement: int
    language: str

    @property
    def is_long(self) -> bool:
        """Whether the text is cut in a list."""
        text = self.entry.comment.source.strip()
        return len(text) > LONG_CHARACTERS or text.count("\n") >= LONG_LINES

    @property
    def html(self) -> str:
        """Return the HTML of the comment, for pages of ours."""
        page = self.origin and self.origin + self.entry.url
        return absolute(self.entry.comment.html, page, keeps_notes=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Makes the views of one page at the time `now` (Unix milliseconds).

    `origins` are those of blogs by the site's name; `verdicts`, `parents` and `reports`
    are by the id of a comment. From the score `spam_from` on a comment is filed as spam
    (0: never). `mailing` are the sites whose decisions are mailed. For the others see CommentView.
    """

    now: int
    origins: Mapping[str, str]
    verdicts: Mapping[int, StoredVerdict]
    parents: Mapping[int, ParentQuote]
    reports: Mapping[int, Reports]
    spam_from: int
    longest: int
    mailing: frozenset[str] = frozenset()
    several: bool = False
    found: bool = False
    ticked: bool = False
    decides: bool = True

    def view(self, entry: Entry) -> CommentView:
        """Return what is shown of a comment."""
        comment = entry.comment
        edited = comment.edited_at
        verdict = self.verdicts.get(comment.id)
        return CommentView(
            entry,
            self.parents.get(comment.parent_id or 0),
            verdict,
            self._doubt(verdict.score) if verdict else "",
            render.ago(comment.created_at, self.now),
            "" if edited is None else render.ago(edited, self.now),
            self.origins.get(entry.site, ""),
            self.several,
            self.found,
            self.ticked,
            self.decides,
            self.reports.get(comment.id),
            self.longest,
            self._statement(entry),
            spoken().tag,
        )

    def _statement(self, entry: Entry) -> int:
        is_open = entry.comment.status == APPROVED or entry.comment.id in self.reports
        return statements.LENGTH if is_open and entry.site in self.mailing else 0

    def _doubt(self, score: int) -> str:
        if score < self.spam_from:
            return str(_("Spam score %(score)s of %(most)s", score=score, most=self.spam_from))
        return str(_("Spam score %(score)s", score=score))


@lru_cache(REMEMBERED)
def html(shown: CommentView) -> Markup:
    """Return the HTML of a comment as an item of a list."""
    module = render.TEMPLATES.find("item.html").module
    listed: Callable[[CommentView], Markup] = vars(module)["listed"]
    return listed(shown)


def views(shown: Iterable[CommentView]) -> Markup:
    """Return the HTML of a list's items, joined here, since a loop in jinja2 is slower."""
    return Markup("".join(map(html, shown)))  # noqa: S704 - each of them is Markup
