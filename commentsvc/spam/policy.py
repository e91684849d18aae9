"""Spam policy: which comments of a site wait for a moderator, and what moderators know already.

The policy holds ``all`` comments, the ``first`` of an author, only ``suspicious`` ones, or
``none``. An author is trusted after some approved comments on the site, and is identified by name
and e-mail address together: addresses are not shown, so it is hard to pose as somebody who is
trusted. An author without an address is never trusted. A moderator can trust a reader who has
signed in: nobody else can write as that reader, whatever is typed into a form. The database is
asked for the policy ``first``, and for the names of readers where they can sign in, by indexes, on
the event loop. Bans, and what the filter has learned from moderators, are in memory. A comment
under a protected name always waits.
"""

from collections.abc import Callable
from functools import partial
from typing import Concatenate, Final, NamedTuple, ParamSpec, Protocol, TypeVar

import msgspec

from commentsvc.comments.submission import BIGGEST_ID, Submission
from commentsvc.db.connection import Snapshot
from commentsvc.db.query import Param, Select, literal, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable
from commentsvc.model import APPROVED
from commentsvc.readers import accounts
from commentsvc.settings.schema import Settings
from commentsvc.spam.bans import Bans
from commentsvc.spam.protected_names import ProtectedNames, name_skeletons
from commentsvc.spam.score import HOLDS_FROM, Signal
from commentsvc.util.origin import address_key

P = ParamSpec("P")
T = TypeVar("T")

FIRST: Final = "first"
WAITS: Final = ("all", FIRST)  # policies under which a comment waits without a reason
TRUSTED: Final = "suspicious"  # the policy for trusted authors


@prepared
def approved_of(key: Param, site: Param, author: Param, before: Param, most: Param) -> Select:
    """Return the query for ids below `before` of at most `most` approved comments of an author."""
    sites = SiteTable.select(SiteTable.id).where(SiteTable.name == site)
    return (
        CommentTable.select(CommentTable.id)
        .where(
            CommentTable.email_key == key,
            CommentTable.site == sites,
            CommentTable.author == author,
            CommentTable.email_key != literal(""),  # lets SQLite use the index, as the next does
            CommentTable.status == literal(APPROVED),
            CommentTable.id < before,
        )
        .limit(most)
    )


class PolicyResult(msgspec.Struct, frozen=True):
    """From which score a comment is held, and the signals from moderators' decisions."""

    holds_from: int
    signals: list[Signal]


class ReadNow(Protocol):
    """Runs a short read, as `Database.read_now` does."""

    def __call__(
        self, work: Callable[Concatenate[Snapshot, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T: ...


class Model(Protocol):
    """The trained filter."""

    def score(self, submission: Submission, now_ms: int) -> list[Signal]:
        """Return the filter's signals at the time `now_ms` (Unix ms)."""


class Hashes(Protocol):
    """Hashes of clients' networks."""

    def hashes(self, network: bytes, now_ms: int) -> tuple[bytes, ...]:
        """Return the hashes of `network` that bans may have at the time `now_ms` (Unix ms)."""


class Decided(NamedTuple):
    """What moderators have decided, in memory; `model` is None if the filter is off."""

    bans: Bans
    names: ProtectedNames
    model: Model | None


class SpamPolicy:
    """The sites' policies, trust in authors, bans, protected names, and the trained filter."""

    def __init__(
        self, settings: Settings, read_now: ReadNow, decided: Decided, hashes: Hashes
    ) -> None:
        usual = settings.moderation.policy
        self._policies = {site.name: site.policy or usual for site in settings.sites}
        self._with_readers = {site.name for site in settings.sites if site.sign_in}
        self._trust_after = settings.moderation.trust_after
        self._read_now = read_now
        self._bans, self._names, self._model = decided
        self._hashes = hashes

    def check(
        self,
        submission: Submission,
        html: str,
        network: bytes,
        now_ms: int,
        before: int = BIGGEST_ID,
    ) -> PolicyResult:
        """Check a submission from `network` at `now_ms` (Unix ms).

        Only comments with ids below `before` make its author trusted.
        """
        site = submission.page[0]
        policy = self._policies[site]
        if (policy == FIRST and self._trusts(submission, before)) or (
            policy in WAITS and self._is_trusted_reader(submission)
        ):
            policy = TRUSTED

        if not self._bans.are_current(now_ms):
            self._read_now(self._bans.load, now_ms)
        if not self._names.is_current():
            self._read_now(self._names.load)
        hashes = partial(self._hashes.hashes, network, now_ms)
        signals = self._bans.check(submission, html, hashes)
        if self._model:
            signals += self._model.score(submission, now_ms)
        imitated = self._names.check(submission.author, submission.email, submission.avatar)
        if not imitated and site in self._with_readers:
            imitated = self._imitated_reader(submission)
        if imitated:
            return PolicyResult(HOLDS_FROM["all"], [*signals, imitated])
        return PolicyResult(HOLDS_FROM[policy], signals)

    def _imitated_reader(self, submission: Submission) -> Signal | None:
        """Return a signal if the author's name is that of a reader who can sign in."""
        site, author = submission.page[0], submission.author
        if submission.reader_id is not None:
            return None
        taken = self._read_now(accounts.holds, site, name_skeletons(author), None)
        return Signal(0, "protected-name", author) if taken else None

    def _is_trusted_reader(self, submission: Submission) -> bool:
        if submission.reader_id is None:
            return False
        by, _ = self._read_now(accounts.trust, submission.reader_id) or ("", 0)
        return bool(by)

    def _trusts(self, submission: Submission, before: int) -> bool:
        if not submission.email:
            return False
        key, (site, _) = address_key(submission.email), submission.page
        known = (key, site, submission.author, before, self._trust_after)
        approved = self._read_now(Snapshot.query, approved_of, *known)
        return len(approved) >= self._trust_after
