"""Comments that came by mail, until their senders have confirmed them.

Anybody can write somebody else's address into a mail. So the sender gets one mail with a link, and
the comment is judged only when it is sent from the page of that link. The number of these mails is
limited, for each address and in all: whoever is never told more than that somebody abuses the
address must not get many. What is not confirmed in time is deleted; only a digest of the address
stays, to count.

    received ──▸ sent
       └───────▸ deleted, after TIME
"""

from typing import Final

import msgspec
from peewee import fn

from commentsvc import outbox
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import SiteTable
from commentsvc.db.schema.inbox import MailedComment, MailedCommentTable
from commentsvc.outbox import MailAddress
from commentsvc.util.digest import digest
from commentsvc.util.origin import address_key, is_spelling
from commentsvc.util.timestamps import DAY_MS, HOUR_MS

# The kinds of the mail to the sender.
MAILED: Final = "mailed"
UNREADABLE: Final = "mailed-in-vain"
TIME: Final = 2 * DAY_MS  # in which a comment must be confirmed
KEPT: Final = 30 * DAY_MS  # for which mails to an address are counted
# The most mails to an address within KEPT of which no comment came, and within a day.
UNCONFIRMED: Final = 3
DAILY: Final = 20
# The most mails to the addresses of one domain within a day of which no comment came: one person
# may have them all. Others can use its name up to the first number only, unless they write a field
# "dmarc=pass" which the mail server does not replace. At these domains, everybody has one address.
DOMAIN_DAILY: Final = 15
AUTHENTICATED_DAILY: Final = 60  # whose sender the mail server has authenticated
# Under a country, most people register names below these.
_SHARED: Final = frozenset(("ac", "co", "com", "edu", "gov", "ne", "net", "or", "org"))
_PROVIDERS: Final = frozenset(
    (
        *("gmail.com", "googlemail.com", "outlook.com", "hotmail.com", "live.com", "msn.com"),
        *("yahoo.com", "ymail.com", "aol.com", "icloud.com", "me.com", "mac.com", "gmx.de"),
        *("gmx.net", "gmx.at", "gmx.ch", "web.de", "t-online.de", "freenet.de", "posteo.de"),
        *("mailbox.org", "proton.me", "protonmail.com", "pm.me", "tuta.com", "tutanota.com"),
        *("fastmail.com", "zoho.com", "mail.com", "mail.ru", "yandex.ru", "yandex.com"),
        *("bk.ru", "inbox.ru", "list.ru", "qq.com", "163.com", "126.com", "sina.com"),
        *("naver.com", "daum.net", "hanmail.net", "yahoo.co.jp", "docomo.ne.jp", "orange.fr"),
        *("wanadoo.fr", "free.fr", "laposte.net", "libero.it", "virgilio.it", "seznam.cz"),
        *("wp.pl", "onet.pl", "o2.pl", "interia.pl", "comcast.net", "verizon.net", "att.net"),
        *("btinternet.com", "bluewin.ch", "ziggo.nl", "kpnmail.nl", "telenet.be"),
        *("rediffmail.com", "uol.com.br", "bol.com.br", "terra.com.br", "hotmail.fr"),
        *("hotmail.de", "hotmail.it", "hotmail.co.uk", "yahoo.fr", "yahoo.de", "yahoo.it"),
        *("yahoo.es", "yahoo.co.uk", "yahoo.co.in", "yahoo.com.br", "live.fr", "live.nl"),
        *("outlook.de", "outlook.fr", "outlook.es"),
    )
)
# The most mails to all addresses within an hour and a day.
ALL_HOURLY: Final = 30
ALL_DAILY: Final = 150


class WaitingComment(msgspec.Struct, frozen=True):
    """A comment that came by mail at `received_at` (Unix milliseconds) and is not confirmed."""

    id: int
    site: str
    url: str
    email: str
    author: str
    words: str
    received_at: int


Mailed: Final = MailedCommentTable


@prepared
def _find_unconfirmed(sender: Param, since: Param, most: Param) -> Select:
    found = Mailed.select(Mailed.id).where(
        Mailed.sender == sender,
        Mailed.received_at > since,
        Mailed.sent_at.is_null(),
    )
    return found.limit(most)


@prepared
def _find_of_sender(sender: Param, since: Param, most: Param) -> Select:
    return (
        Mailed.select(Mailed.id)
        .where(Mailed.sender == sender, Mailed.received_at > since)
        .limit(most)
    )


@prepared
def _find_since(since: Param, most: Param) -> Select:
    return Mailed.select(Mailed.id).where(Mailed.received_at > since).limit(most)


@prepared
def _find_addresses(since: Param, most: Param) -> Select:
    waits = (Mailed.received_at > since) & (Mailed.email != "")
    return Mailed.select(Mailed.email).where(waits).limit(most)


@prepared
def _find_old(before: Param) -> Select:
    has_texts = (Mailed.email != "") & (Mailed.received_at < before)
    return Mailed.select(Mailed.id).where(has_texts).limit(1)


def add(tx: Transaction, mail: MailedComment, now: int) -> str:
    """Store a comment that came by mail at the time `now` (Unix ms), and mail its sender a link.

    Return "", or the reason why it was refused.
    """
    sender = _sender(mail.email)
    limits = (
        (tx.query(_find_unconfirmed, sender, now - KEPT, UNCONFIRMED), UNCONFIRMED),
        (tx.query(_find_of_sender, sender, now - DAY_MS, DAILY), DAILY),
        (tx.query(_find_since, now - HOUR_MS, ALL_HOURLY), ALL_HOURLY),
        (tx.query(_find_since, now - DAY_MS, ALL_DAILY), ALL_DAILY),
    )
    if any(len(found) >= most for found, most in limits):
        return "there were too many comments by mail, from its address or in all"
    most = AUTHENTICATED_DAILY if mail.is_authenticated else DOMAIN_DAILY
    if _of_domain(tx, mail.email, now - DAY_MS) >= most:
        return (
            f"there were {most} comments by mail from {_organisation(mail.email)} within a day,"
            " which nobody has confirmed"
        )
    # The mail to the sender finds the comment by its time.
    [(latest,)] = tx.query(Mailed.select(fn.MAX(Mailed.received_at)).where(Mailed.sender == sender))
    moment = max(now, (latest or 0) + 1)
    stored = Mailed.insert(
        digest=mail.digest,
        sender=sender,
        site=SiteTable.select(SiteTable.id).where(SiteTable.name == mail.site),
        url=mail.url,
        email=mail.email,
        author=mail.author,
        words=mail.words,
        received_at=moment,
    ).on_conflict(action="NOTHING", conflict_target=[Mailed.digest])
    if not tx.change(stored):
        return "it came before"
    kind = MAILED if mail.words else UNREADABLE
    outbox.mail(tx, kind, MailAddress(mail.email, mail.language), moment)
    return ""


def _of_domain(tx: Transaction, email: str, since: int) -> int:
    """Return how many mails to the organisation of an address wait; 0 for _PROVIDERS."""
    if _domain(email) in _PROVIDERS:
        return 0
    own = _organisation(email)
    found = tx.query(_find_addresses, since, ALL_DAILY)
    return sum(_organisation(other) == own for (other,) in found)


def _organisation(email: str) -> str:
    """Return the part of an address' domain that one person registers, roughly.

    That are two labels, or three below such as co.uk; the Public Suffix List has more, which would
    only count some people apart.
    """
    labels = _domain(email).split(".")
    return ".".join(labels[-3 if labels[-2:][0] in _SHARED else -2 :])


def _domain(email: str) -> str:
    return address_key(email).rpartition("@")[2]


def _waiting() -> Select:
    columns = (
        Mailed.url,
        Mailed.email,
        Mailed.author,
        Mailed.words,
        Mailed.received_at,
    )
    return (
        Mailed.select(Mailed.id, SiteTable.name, *columns).join(SiteTable).where(Mailed.email != "")
    )


def mailed(snapshot: Snapshot, email: str, moment: int) -> WaitingComment | None:
    """Return the comment that came from an address at a time; None if it was sent or deleted."""
    of_sender = (Mailed.sender == _sender(email)) & (Mailed.received_at == moment)
    row = snapshot.first(_waiting().where(of_sender).order_by(Mailed.id))
    return WaitingComment(*row) if row else None


def find(snapshot: Snapshot, number: int, moment: int, now: int) -> WaitingComment | None:
    """Return the comment of a link, by its id and time; None if it was sent or is too old."""
    if moment + TIME <= now:
        return None
    is_it = (Mailed.id == number) & (Mailed.received_at == moment)
    row = snapshot.first(_waiting().where(is_it))
    return WaitingComment(*row) if row else None


def of_address(snapshot: Snapshot, email: str) -> list[WaitingComment]:
    """Return the comments that came from an address and wait."""
    found = _waiting().where(Mailed.sender == _sender(email)).order_by(Mailed.id)
    waiting = (WaitingComment(*row) for row in snapshot.query(found))
    return [each for each in waiting if is_spelling(each.email, address_key(email))]


def finish(tx: Transaction, number: int, now: int) -> None:
    """Note that a comment was sent, and delete the texts of its mail."""
    tx.change(Mailed.update(sent_at=now, **_EMPTY).where(Mailed.id == number))


def is_due(snapshot: Snapshot, now: int) -> bool:
    """Return whether there are texts to delete at the time `now`."""
    return snapshot.first(_find_old, now - TIME) is not None


def drop_old(tx: Transaction, now: int) -> None:
    """Delete the texts of mails that were not confirmed in time, and rows that no longer count."""
    tx.change(Mailed.update(**_EMPTY).where(Mailed.email != "", Mailed.received_at < now - TIME))
    tx.change(Mailed.delete().where(Mailed.received_at < now - KEPT))


def forget(tx: Transaction, email: str) -> None:
    """Delete all mails from an address."""
    tx.change(Mailed.delete().where(Mailed.sender == _sender(email)))


_EMPTY: Final = {"url": "", "email": "", "author": "", "words": ""}


def _sender(email: str) -> bytes:
    """Return the digest by which mails are counted; many mailboxes get what follows a + as well."""
    local, _, domain = address_key(email).rpartition("@")
    return digest(f"{local.partition('+')[0]}@{domain}", b"mailed comment", 16)
