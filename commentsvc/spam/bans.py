"""Bans: whom and what moderators do not want here any more, for good or for a time.

A ban files comments as spam: nothing is lost, a moderator still finds them, and who is
banned is not told. The list is small and asked by every submission, so it is kept in memory; the
transaction that changes it names the tag `TAG`, and whoever purges calls `Bans.forget`, so that the
submission after the acknowledgement meets the new list.

An author is banned by name, in any case and width (NFKC), or by e-mail address; a network by the
hash that its comments keep (see `util.client_network`), which ends with them; a word as in
`text_rules`; a domain with all below it, in links of the text and as the author's site.

    CommentsError
      BanRefused   what was given cannot be banned; the text says why
      UnknownBan   no ban has this id
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

import msgspec
from peewee import fn

from commentsvc.comments.errors import BanRefused, UnknownBan
from commentsvc.comments.submission import Submission
from commentsvc.db.schema.comments import CommentTable
from commentsvc.db.schema.moderation import BanTable
from commentsvc.db.sqlite import Reader, Transaction
from commentsvc.spam import score
from commentsvc.spam.reasons import Reason
from commentsvc.spam.score import Signal
from commentsvc.spam.text_rules import TextRules
from commentsvc.util.i18n import gettext as _
from commentsvc.util.origin import host_name
from commentsvc.util.text import fold

TAG: Final = "bans"
MOST: Final = 10_000  # bans that are kept: every submission looks through the words among them

# By the kind of a ban: what its value looks like, and what is said of any other.
_SHAPES: Final = {
    "author": (
        re.compile(r"[^\x00-\x1f\x7f]{1,254}"),
        _("“%(value)s” is not a name or an email address"),
    ),
    "network": (
        re.compile(r"[0-9a-f]{16}"),
        _("“%(value)s” is not the hash of a network, which has 16 hexadecimal digits"),
    ),
    "word": (
        re.compile(r"(?=.*\w)[^\x00-\x1f\x7f]{1,100}"),
        _("“%(value)s” is not a word, or a few words"),
    ),
    "domain": (
        re.compile(r"(?=.{1,253}\Z)[^\s/?#@:.]{1,63}(\.[^\s/?#@:.]{1,63})+"),
        _("“%(value)s” is not a domain such as spam.example"),
    ),
}
_HOST: Final = re.compile(r'(?:href="|\A)https?://([^/?#":]+)', re.IGNORECASE)


class Ban(msgspec.Struct, frozen=True, gc=False):
    """A ban. Moments are Unix milliseconds; `expires` is None for good."""

    id: int
    kind: str
    value: str
    created_at: int
    actor: str
    expires_at: int | None


def add(
    tx: Transaction, kind: str, value: str, who: str, now: int, expires: int | None = None
) -> int:
    """Ban a `value` of a `kind` (see model.BANS) at the moment `now`; return the ban's id.

    One that is there gets the new end. Raise BanRefused.
    """
    shape, refusal = _SHAPES[kind]
    plain = fold(value).strip()
    if kind == "domain":
        plain = _domain(value.strip()).removeprefix("www.")
    if not shape.fullmatch(plain):
        raise BanRefused(replace(refusal, params={"value": value}))
    [(number,)] = tx.query(BanTable.select(fn.COUNT(BanTable.id)))
    if number >= MOST:
        raise BanRefused(_("there are %(number)s bans already: lift some first", number=MOST))
    ban = BanTable.insert(kind=kind, value=plain, created_at=now, actor=who, expires_at=expires)
    rows = tx.query(
        ban.on_conflict(
            conflict_target=[BanTable.kind, BanTable.value], preserve=[BanTable.expires_at]
        ).returning(BanTable.id)
    )
    tx.purge(TAG)
    return int(rows[0][0])


def remove(tx: Transaction, ban_id: int) -> None:
    """Lift a ban. Raise UnknownBan."""
    if not tx.change(BanTable.delete().where(BanTable.id == ban_id)):
        raise UnknownBan(_("no ban has the id %(id)s", id=ban_id))
    tx.purge(TAG)


def find(reader: Reader, ban_id: int) -> Ban:
    """Return the ban of that id. Raise UnknownBan if there is none."""
    for ban in listing(reader):
        if ban.id == ban_id:
            return ban
    raise UnknownBan(_("no ban has the id %(id)s", id=ban_id))


def listing(reader: Reader) -> list[Ban]:
    """Return all bans, the newest first, those that have ended too."""
    columns = (getattr(BanTable, name) for name in Ban.__struct_fields__)
    return [
        Ban(*row) for row in reader.query(BanTable.select(*columns).order_by(BanTable.id.desc()))
    ]


def network_of(reader: Reader, comment_id: int) -> str:
    """Return what to ban for a comment's network; "" where its hash is forgotten, or never was."""
    row = reader.first(
        CommentTable.select(CommentTable.network).where(CommentTable.id == comment_id)
    )
    return row[0].hex() if row and row[0] else ""


class Bans:
    """The bans as submissions meet them."""

    def __init__(self) -> None:
        self._stale = True
        self._until: float = 0  # the first of them ends; in Unix milliseconds
        self._any = False
        self._words = TextRules(0, (), ())
        self._values: dict[str, frozenset[str]] = {}

    def forget(self, tags: Sequence[str]) -> None:
        """Be no longer current if `tags` are purged for that; on any thread."""
        if TAG in tags:
            self._stale = True

    def are_current(self, now: int) -> bool:
        """Say whether there is no need to `load`, at the moment `now`."""
        return not self._stale and now < self._until

    def load(self, reader: Reader, now: int) -> None:
        """Load the bans that hold at the moment `now`."""
        self._stale = False  # before the read: what comes meanwhile makes it stale again
        bans = [ban for ban in listing(reader) if ban.expires_at is None or ban.expires_at > now]
        self._until = min((ban.expires_at for ban in bans if ban.expires_at), default=math.inf)
        self._values = {
            kind: frozenset(ban.value for ban in bans if ban.kind == kind) for kind in _SHAPES
        }
        self._words = TextRules(0, tuple(self._values["word"]), ())
        self._any = bool(bans)

    def check(
        self, submission: Submission, html: str, hashes: Callable[[], Sequence[bytes]]
    ) -> list[Signal]:
        """Return what of a submission is banned; `hashes` gives those of its network."""
        if not self._any:
            return []
        values = self._values
        found: list[Reason] = []
        if values["author"] & {fold(submission.author), fold(submission.email)}:
            found.append("author-banned")
        if values["network"] and values["network"] & {each.hex() for each in hashes()}:
            found.append("network-banned")
        if values["word"] and self._words.check(submission, 0):
            found.append("word-banned")
        if values["domain"]:
            hosts = _HOST.findall(html) + _HOST.findall(submission.site)
            if values["domain"] & {each for host in hosts for each in _above(host)}:
                found.append("domain-banned")
        return [Signal(score.BANNED, reason) for reason in found]


def _domain(host: str) -> str:
    """Return a host name as browsers read it in a link; what is no name is only folded."""
    host = unquote(host).strip(".")
    return host_name(host) or fold(host)


def _above(host: str) -> list[str]:
    """Return a host and the domains that it is in."""
    parts = _domain(host).split(".")
    return [".".join(parts[number:]) for number in range(len(parts))]
