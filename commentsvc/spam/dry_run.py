"""Dry run: how other settings would have judged the comments of the last 30 days.

The rules that judge submissions (`policy`, `checks`) judge stored comments anew, once with the
settings in force and once with the others, with the bans, names and training of today. What only
the submission had, its form token and its proof of work, is taken from the reasons that were
stored. Limits, and judges outside of this service, are left out. Nothing is written.

It works in pieces of PIECE_MS on a reading thread, so that other readers of the database get their
turns, and tries at most MOST comments for at most LONGEST_MS.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Concatenate, Final, NamedTuple, ParamSpec, TypeVar

from peewee import fn

from commentsvc.comments.submission import Submission
from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable
from commentsvc.model import DELETED
from commentsvc.settings.schema import Settings
from commentsvc.spam import opinion, reasons, training
from commentsvc.spam.bans import Bans
from commentsvc.spam.bayes import Bayes
from commentsvc.spam.checks import OF_SENDING, ContentChecks
from commentsvc.spam.policy import Decided, ReadNow, SpamPolicy
from commentsvc.spam.protected_names import ProtectedNames
from commentsvc.spam.score import Signal, Verdict
from commentsvc.util.clock import SYSTEM_CLOCK
from commentsvc.util.lasting import Lasting
from commentsvc.util.text import one_line
from commentsvc.util.timestamps import DAY_MS

P = ParamSpec("P")
T = TypeVar("T")

DAYS: Final = 30
MOST: Final = 2_000  # comments
PIECE_MS: Final = 100.0
LONGEST_MS: Final = 5_000.0  # of judging; a usual comment takes 0.2 ms
PAUSE: Final = 0.02  # seconds between two pieces
LOOKED_AT: Final = 200_000  # newest comments among which those of these days are
BLOCK: Final = 10_000  # of them in one query
EXAMPLES: Final = 5  # comments of each kind
EXCERPT: Final = 120  # characters

# "accept", "hold" or "spam": with the settings in force, and with the others.
Outcome = tuple[str, str]


class Example(NamedTuple):
    """A comment, the beginning of its text, and the reasons of the verdict with the others."""

    id: int
    author: str
    text: str
    reasons: tuple[str, ...]


class Tried:
    """How many comments had each outcome, and some of those that would change.

    `decided` counts them by their outcome and their present status. With `is_sample`, these days
    had more comments. `nameless` have no hash of their network any more.
    """

    def __init__(self) -> None:
        self.outcomes = Counter[Outcome]()
        self.decided = Counter[tuple[Outcome, str]]()
        self.examples = defaultdict[Outcome, list[Example]](list)
        self.is_sample = False
        self.nameless = 0

    @property
    def number(self) -> int:
        """The number of comments that were tried."""
        return self.outcomes.total()

    def before(self, decision: str) -> int:
        """Return how many have that decision with the settings in force."""
        return sum(number for (now, _), number in self.outcomes.items() if now == decision)

    def after(self, decision: str) -> int:
        """Return how many would have that decision with the other settings."""
        return sum(number for (_, then), number in self.outcomes.items() if then == decision)


async def run(database: Database, settings: Settings, others: Settings, now_ms: int) -> Tried:
    """Return how the `others` would judge what the `settings` judge, at `now_ms` (Unix ms).

    Raise DatabaseError.
    """
    trying = DryRun(settings, others, now_ms)
    while await database.read(trying.go_on):  # noqa: ASYNC110 - each turn does a piece of it
        await asyncio.sleep(PAUSE)
    return trying.tried


class DryRun:
    """A dry run that `go_on` continues; `tried` is what it has found."""

    def __init__(self, settings: Settings, others: Settings, now_ms: int) -> None:
        self.tried = Tried()
        self._both = settings, others
        self._sites = {site.name for site in settings.sites}
        self._now_ms = now_ms
        self._pieces = self._judged()
        self._snapshot: Snapshot
        self._took_ms = 0.0

    def go_on(self, snapshot: Snapshot) -> bool:
        """Work for PIECE_MS; return whether something is left."""
        self._snapshot = snapshot
        begun = SYSTEM_CLOCK.precise_ms()
        for _ in self._pieces:
            took = SYSTEM_CLOCK.precise_ms() - begun
            if self._took_ms + took > LONGEST_MS:
                self.tried.is_sample = True
                return False
            if took > PIECE_MS:
                self._took_ms += took
                return True
        return False

    def _read_now(
        self, work: Callable[Concatenate[Snapshot, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return work(self._snapshot, *args, **kwargs)

    def _judged(self) -> Iterator[None]:
        """Find the comments, then judge them, the oldest first; yield after each small step."""
        ids: list[int] = []
        for found in self._newest():
            ids += found
            if len(ids) > MOST:
                break
            yield
        self.tried.is_sample |= len(ids) > MOST
        bayes = Bayes()
        bayes.odds = self._read_now(training.odds)
        in_force, others = (_Rules(each, self._read_now, bayes) for each in self._both)
        for comment_id in sorted(ids[:MOST]):
            if row := self._snapshot.first(_comment, comment_id):
                stored = _Stored(*row)
                if stored.site in self._sites:
                    verdicts = [each.judge(stored, self._now_ms) for each in (in_force, others)]
                    self._count(stored, *verdicts)
            yield

    def _newest(self) -> Iterator[list[int]]:
        """Yield the ids of the comments of these days, the newest first."""
        newest = CommentTable.select(fn.COALESCE(fn.MAX(CommentTable.id), 0))
        [(top,)] = self._snapshot.query(newest)
        lowest = max(0, top - LOOKED_AT)
        self.tried.is_sample = lowest > 0
        since = self._now_ms - DAYS * DAY_MS
        while top > lowest:
            found = self._snapshot.query(_ids, top, max(lowest, top - BLOCK), since, MOST + 1)
            yield [comment_id for (comment_id,) in found]
            top -= BLOCK

    def _count(self, stored: "_Stored", now: Verdict, then: Verdict) -> None:
        outcome = _decision(now), _decision(then)
        tried = self.tried
        tried.outcomes[outcome] += 1
        tried.decided[outcome, stored.status] += 1
        tried.nameless += stored.network is None
        if outcome[0] != outcome[1] and len(tried.examples[outcome]) < EXAMPLES:
            text = one_line(stored.source[: 2 * EXCERPT])[:EXCERPT]
            example = Example(stored.id, stored.author, text, then.reasons)
            tried.examples[outcome].append(example)


def _decision(verdict: Verdict) -> str:
    return "accept" if opinion.waits(verdict.reasons) else verdict.decision


class _Stored(NamedTuple):
    """A comment of a reader, as it is stored."""

    id: int
    site: str
    url: str
    status: str
    created_at: int
    author: str
    email: str
    avatar: str
    author_site: str
    source: str
    html: str
    reasons: str
    network: bytes | None
    permalink: str
    reader_id: int | None

    def submission(self) -> Submission:
        """Return the submission that it was."""
        return Submission(
            page=(self.site, self.url),
            author=self.author,
            message=self.source,
            email=self.email,
            avatar=self.avatar,
            site=self.author_site,
            parent=None,
            title="",
            key="",
            honeypot="",
            permalink=self.permalink,
            reader_id=self.reader_id,
        )

    def sent(self) -> list[Signal]:
        """Return the signals of how it was sent."""
        found = map(reasons.signal_of, self.reasons.split("\n"))
        return [Signal(*each) for each in found if each and each[1] in OF_SENDING]


class _StoredHashes:
    """Takes the hash of a network that is stored with a comment for the network."""

    def hashes(self, network: bytes, now_ms: int) -> tuple[bytes, ...]:
        """Return it."""
        return (network,) if network else ()


class _Rules:
    """The rules of some settings."""

    def __init__(self, settings: Settings, read_now: ReadNow, bayes: Bayes) -> None:
        model = _Trained(bayes) if settings.spam.bayes else None
        decided = Decided(Bans(), ProtectedNames(settings), model)
        self._policy = SpamPolicy(settings, read_now, decided, _StoredHashes())
        self._checks = ContentChecks(settings, Lasting())

    def judge(self, stored: _Stored, now_ms: int) -> Verdict:
        """Return the verdict on a comment by what is known at `now_ms` (Unix ms)."""
        submission, network = stored.submission(), stored.network or b""
        policy = self._policy.check(submission, stored.html, network, now_ms, before=stored.id)
        sent = stored.sent()
        return self._checks.judge(submission, stored.html, network, policy, sent, stored.created_at)


class _Trained:
    """The filter as it was when the dry run began."""

    def __init__(self, bayes: Bayes) -> None:
        self._bayes = bayes

    def score(self, submission: Submission, now_ms: int) -> list[Signal]:
        """Return its signals."""
        return self._bayes.score(submission)


@prepared
def _ids(top: Param, lowest: Param, since: Param, most: Param) -> Select:
    """Return the query for comments of readers since a time, among ids up to `top`."""
    return (
        CommentTable.select(CommentTable.id)
        .where(
            CommentTable.id <= top,
            CommentTable.id > lowest,
            CommentTable.created_at >= since,
            CommentTable.role == "",
            CommentTable.status != DELETED,
        )
        .order_by(CommentTable.id.desc())
        .limit(most)
    )


@prepared
def _comment(comment_id: Param) -> Select:
    """Return the query for the columns of _Stored."""
    return (
        CommentTable.select(
            CommentTable.id,
            SiteTable.name,
            ThreadTable.url,
            CommentTable.status,
            CommentTable.created_at,
            CommentTable.author,
            CommentTable.email,
            CommentTable.avatar,
            CommentTable.author_site,
            CommentTable.source,
            CommentTable.html,
            CommentTable.reasons,
            CommentTable.network,
            CommentTable.permalink,
            CommentTable.reader_id,
        )
        .join(SiteTable, on=SiteTable.id == CommentTable.site)
        .join(ThreadTable, on=ThreadTable.id == CommentTable.thread)
        .where(CommentTable.id == comment_id)
    )
