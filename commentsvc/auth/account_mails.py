"""Mails about moderators' accounts: a link that confirms an address, and what was changed.

Each change of what opens an account is mailed to the account's address, so that its owner notices
somebody else's; so are an invitation by it, and a higher role that it gives. The change of an
address is mailed to the former one too.
"""

from typing import Final, NamedTuple

from commentsvc import outbox
from commentsvc.auth import credentials
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.schema.comments import ModeratorTable
from commentsvc.outbox import MailAddress
from commentsvc.util.i18n import Message
from commentsvc.util.i18n import gettext as _
from commentsvc.util.origin import address_key
from commentsvc.util.timestamps import DAY_MS

# The mail with the link, and for how long it works, in milliseconds.
CONFIRM_ADDRESS: Final = "confirm-address"
LINK_MS: Final = DAY_MS
# The kinds of mails about changes, with what was changed.
ADDRESS: Final = "account-address"
PASSWORD: Final = "account-password"  # noqa: S105 - a kind of mails
FACTOR: Final = "account-factor"
PASSKEY: Final = "account-passkey"
TOKEN: Final = "account-token"  # noqa: S105 - a kind of mails
IDENTITY: Final = "account-identity"
ACCOUNTS: Final = "account-accounts"
ENDED: Final = "account-ended"
CHANGES: Final[dict[str, Message]] = {
    ADDRESS: _("Email address"),
    PASSWORD: _("Password"),
    FACTOR: _("Two-factor authentication"),
    PASSKEY: _("Passkeys"),
    TOKEN: _("Tokens for programs"),
    IDENTITY: _("What opens this account"),
    ACCOUNTS: _("Accounts"),
    ENDED: _("Sign out everywhere"),
}
# By the kinds of mails.
SUBJECTS: Final[dict[str, Message]] = {
    CONFIRM_ADDRESS: _("Confirm the address"),
    **{kind: _("Your account was changed: %(what)s", what=what) for kind, what in CHANGES.items()},
}


class AskedAddress(NamedTuple):
    """An address that an account was asked to confirm at the time `at` (Unix milliseconds)."""

    moderator_id: int
    name: str
    email: str
    at: int


def tell(tx: Transaction, moderator_id: int, kind: str, now: int, former: str = "") -> None:
    """Queue the mail about a change of a `kind` to the account's address, and to a `former` one."""
    account = ModeratorTable.select(ModeratorTable.email, ModeratorTable.language)
    row = tx.first(account.where(ModeratorTable.id == moderator_id))
    assert row is not None, "a transaction that changes an account has found it"
    addresses = {address_key(each): each for each in (former, row[0])}
    for email in filter(None, reversed(addresses.values())):
        outbox.mail(tx, kind, MailAddress(email, row[1]), now)


def remove_credential(tx: Transaction, kind: str, number: int, owner: int, now: int) -> bool:
    """Do as `credentials.remove`, and mail it if a person had set it up to sign in."""
    gone = credentials.remove(tx, kind, number, owner)
    if gone and kind in credentials.LASTING:
        tell(tx, owner, PASSKEY if kind == credentials.PASSKEY else IDENTITY, now)
    return gone


def ask(tx: Transaction, moderator_id: int, to: MailAddress, now: int) -> None:
    """Queue the mail with the link that makes an address the account's; former links end."""
    asked = ModeratorTable.update(asked_email=to.email, asked_at=now)
    tx.change(asked.where(ModeratorTable.id == moderator_id))
    outbox.mail(tx, CONFIRM_ADDRESS, to, now)


def asked_by_mail(snapshot: Snapshot, email: str, at: int) -> AskedAddress | None:
    """Return what a mail asks that was queued for an address at that time; None if it is over."""
    return _asked(snapshot, ModeratorTable.asked_email == email, ModeratorTable.asked_at == at)


def asked_of(snapshot: Snapshot, moderator_id: int) -> AskedAddress | None:
    """Return the address that an account has to confirm; None if there is none."""
    return _asked(snapshot, ModeratorTable.id == moderator_id, ModeratorTable.asked_email != "")


def _asked(snapshot: Snapshot, *conditions: object) -> AskedAddress | None:
    asked = ModeratorTable.select(
        ModeratorTable.id,
        ModeratorTable.name,
        ModeratorTable.asked_email,
        ModeratorTable.asked_at,
    )
    row = snapshot.first(asked.where(*conditions))
    return AskedAddress(*row) if row else None
