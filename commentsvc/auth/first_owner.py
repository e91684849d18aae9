"""The link that makes the first account, an owner's, while there is no account.

`serve` prints it when it starts, so only who may read its terminal or log gets it. It is signed
(see `signed_links`) with the key of the data folder, so every instance and every later server knows
it, and the database holds nothing that opens anything: only the digest of a link that was used. It
works once, for an hour, and never where there is an account.

    ModeratorError
      LinkOver   the link was used, has expired, or there is an account
"""

from collections.abc import Sequence
from secrets import token_urlsafe
from typing import Final

from commentsvc.auth import accounts, signed_links
from commentsvc.auth.accounts import Moderator, ModeratorError
from commentsvc.auth.signed_links import LinkError, SignedLinks
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.util.i18n import gettext as _
from commentsvc.util.timestamps import HOUR_MS

PURPOSE: Final = "owner"
OVER: Final = _(
    "This link was used, or it has expired. If there is no account yet, restart the service, which"
    " then writes a new link."
)


class LinkOver(ModeratorError):
    """The link was used, has expired, or there is an account."""

    def __init__(self) -> None:
        super().__init__(OVER)


def is_missing(snapshot: Snapshot) -> bool:
    """Return whether there is no account."""
    return not accounts.everyone(snapshot)


def make(keys: Sequence[bytes], now: int) -> str:
    """Return the token of a new link."""
    return SignedLinks(keys).make(PURPOSE, token_urlsafe(16), expires=now + HOUR_MS)


def find(snapshot: Snapshot, links: SignedLinks, token: str, now: int) -> str:
    """Return the word in a usable token. Raise LinkOver."""
    try:
        [word] = links.read(PURPOSE, token, now)
    except LinkError as error:
        raise LinkOver from error
    if not is_missing(snapshot) or signed_links.is_used(snapshot, _mark(word)):
        raise LinkOver
    return str(word)


def end(tx: Transaction, word: str, now: int) -> None:
    """Let the link with that word work no longer. Raise LinkExpired if it did not."""
    signed_links.mark_used(tx, _mark(word), now, HOUR_MS)


def accept(
    tx: Transaction, links: SignedLinks, token: str, name: str, password: str, now: int
) -> Moderator:
    """Use a link: make the account `name`, an owner; `password` is a hash.

    Raise LinkOver, NameRefused.
    """
    end(tx, find(tx, links, token, now), now)
    accounts.add(tx, name, password, now)
    return accounts.named(tx, name)


def _mark(word: str) -> str:
    return f"{PURPOSE} {word}"
