"""Comments as moderators see them in their lists, remembered.

After each decision a list comes again, and all of it but one comment is as it was. To make
the HTML of fifty takes 2.5 ms, to find it a tenth of that. What is remembered is found by all that
it is made of, so it is never stale.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import msgspec
from markupsafe import Markup

from commentsvc.admin import render
from commentsvc.model import Entry
from commentsvc.moderation.lists import ParentQuote, StoredVerdict
from commentsvc.util.i18n import gettext as _
from commentsvc.util.i18n import spoken

REMEMBERED: Final = 100  # comments: two pages of a list; 0.3 MiB, where they have 500 characters


class CommentView(msgspec.Struct, frozen=True):
    """What of a comment is shown: ages in words, `edited` is "" where it was not.

    `parent` is what it replies to, `doubt` how much it is doubted, with reasons in `told`.
    `origin` is its blog's, "" where that is not known. `several`: there are other sites, so its
    own is named. `found`: by its words, so its status is told. `decides`: who sees it may decide on
    it. `reports` is how many readers have reported it. `language` is the tag of what is being
    spoken.
    """

    entry: Entry
    parent: ParentQuote | None
    told: StoredVerdict | None
    doubt: str
    age: str
    edited: str
    origin: str
    several: bool
    found: bool
    ticked: bool
    decides: bool
    reports: int
    language: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Makes the views of one page at the moment `now` (Unix milliseconds).

    `origins` are those of blogs by their site's name, `verdicts`, `parents` and the number of
    `reports` by the id of a comment. From `spam_from` points on a comment is filed as spam (0:
    never). For the others see CommentView.
    """

    now: int
    origins: Mapping[str, str]
    verdicts: Mapping[int, StoredVerdict]
    parents: Mapping[int, ParentQuote]
    reports: Mapping[int, int]
    spam_from: int
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
            self.reports.get(comment.id, 0),
            spoken().tag,
        )

    def _doubt(self, score: int) -> str:
        if score < self.spam_from:
            return str(_("Doubt %(score)s of %(most)s", score=score, most=self.spam_from))
        return str(_("Doubt %(score)s", score=score))


@lru_cache(REMEMBERED)
def html(shown: CommentView) -> Markup:
    """Return a comment as an item of a list."""
    listed: Callable[[CommentView], Markup] = vars(render.template("item.html").module)["listed"]
    return listed(shown)


def views(shown: Iterable[CommentView]) -> Markup:
    """Return the items of a list: put together here, since jinja2 looks at each of many parts."""
    return Markup("".join(map(html, shown)))  # noqa: S704 - each of them is Markup
