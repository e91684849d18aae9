"""Bans: authors, networks, words and domains whose comments become spam, for ever or for a time.

A ban files comments as spam: nothing is lost, a moderator still finds them, and the author is not
told. The list is small and every submission needs it, so it is kept in memory. The transaction that
changes it purges the tag `TAG`, and whoever purges calls `Bans.forget`, so that the next submission
after the acknowledgement uses the new list.

An author is banned by name, ignoring case and width (NFKC), or by e-mail address, whose spelling
does not matter (`address_key`); a network by the
hash stored with its comments (see `util.client_network`), and only as long as that hash is; a word
as in `text_rules`; a domain with its subdomains, in links of the text and as the author's site.

    CommentsError
      BanRefused   the given value cannot be banned; the text says why
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

from commentsvc.comments.submission import Submission, is_email
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.schema.comments import CommentTable
from commentsvc.db.schema.moderation import BanTable
from commentsvc.errors import BanRefused, UnknownBan
from commentsvc.model import is_purged
from commentsvc.spam import score
from commentsvc.spam.reasons import Reason
from commentsvc.spam.score import Signal
from commentsvc.spam.text_rules import TextRules
from commentsvc.util.i18n import gettext as _
from commentsvc.util.origin import address_key, host_name, is_spelling
from commentsvc.util.text import fold

TAG: Final = "bans"
MOST: Final = 10_000  # the most bans, since all are kept in memory, and listed on one page

# For each kind of ban: the pattern of its values, and the message for other values.
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
    """A ban. Times are Unix milliseconds; `expires_at` is None for a ban without end."""

    id: int
    kind: str
    value: str
    created_at: int
    actor: str
    expires_at: int | None


def add(
    tx: Transaction, kind: str, value: str, who: str, now: int, expires: int | None = None
) -> int:
    """Ban a `value` of a `kind` (see model.BANS) at the time `now`; return the ban's id.

    If there is such a ban, its end is changed. Raise BanRefused.
    """
    shape, refusal = _SHAPES[kind]
    plain = _author(value.strip()) if kind == "author" else fold(value).strip()
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


def find(snapshot: Snapshot, ban_id: int) -> Ban:
    """Return the ban of that id. Raise UnknownBan if there is none."""
    for ban in listing(snapshot):
        if ban.id == ban_id:
            return ban
    raise UnknownBan(_("no ban has the id %(id)s", id=ban_id))


def listing(snapshot: Snapshot) -> list[Ban]:
    """Return all bans, also expired ones, the newest first."""
    columns = (getattr(BanTable, name) for name in Ban.__struct_fields__)
    return [
        Ban(*row) for row in snapshot.query(BanTable.select(*columns).order_by(BanTable.id.desc()))
    ]


def is_author_banned(snapshot: Snapshot, email: str, now: int) -> bool:
    """Return whether the author with that address is banned at the time `now`."""
    lasts = BanTable.expires_at.is_null() | (BanTable.expires_at > now)
    rows = snapshot.query(BanTable.select(BanTable.value).where(BanTable.kind == "author", lasts))
    key = address_key(email)
    return any(is_spelling(value, key) for (value,) in rows)


def network_of(snapshot: Snapshot, comment_id: int) -> str:
    """Return the value to ban for a comment's network; "" if its hash was deleted or never made."""
    row = snapshot.first(
        CommentTable.select(CommentTable.network).where(CommentTable.id == comment_id)
    )
    return row[0].hex() if row and row[0] else ""


class Bans:
    """The bans in memory, for the check of submissions."""

    def __init__(self) -> None:
        self._stale = True
        self._until: float = 0  # when the first of them ends; Unix milliseconds
        self._any = False
        self._words = TextRules(0, (), ())
        self._values: dict[str, frozenset[str]] = {}

    def forget(self, tags: Sequence[str]) -> None:
        """Mark the bans as stale if `tags` mean TAG; any thread may call this."""
        if is_purged(TAG, tags):
            self._stale = True

    def are_current(self, now: int) -> bool:
        """Return whether `load` is not needed at the time `now`."""
        return not self._stale and now < self._until

    def load(self, snapshot: Snapshot, now: int) -> None:
        """Load the bans that are in force at the time `now`."""
        self._stale = False  # before the read, so that a change during it makes them stale again
        bans = [ban for ban in listing(snapshot) if ban.expires_at is None or ban.expires_at > now]
        self._until = min((ban.expires_at for ban in bans if ban.expires_at), default=math.inf)
        self._values = {
            kind: frozenset(ban.value for ban in bans if ban.kind == kind) for kind in _SHAPES
        }
        # Older versions stored addresses in another form.
        self._values["author"] = frozenset(map(_author, self._values["author"]))
        self._words = TextRules(0, tuple(self._values["word"]), ())
        self._any = bool(bans)

    def check(
        self, submission: Submission, html: str, hashes: Callable[[], Sequence[bytes]]
    ) -> list[Signal]:
        """Return the signals of all bans that match; `hashes` returns those of its network."""
        if not self._any:
            return []
        values = self._values
        found: list[Reason] = []
        if values["author"] & {_author(submission.author), _author(submission.email)}:
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


def _author(name: str) -> str:
    """Return the value to compare of an author's name or address."""
    return address_key(name) if is_email(name) else fold(name)


def _domain(host: str) -> str:
    """Return a host name as browsers read it in a link; an invalid one is only case-folded."""
    host = unquote(host).strip(".")
    return host_name(host) or fold(host)


def _above(host: str) -> list[str]:
    """Return a host and all its parent domains."""
    parts = _domain(host).split(".")
    return [".".join(parts[number:]) for number in range(len(parts))]
