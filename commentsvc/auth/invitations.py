"""Invitations: links with which somebody can make an account.

A link contains the invitation's id and time, signed (see `signed_links`), so nobody can make a link
from the database. Using or revoking it deletes its row. It also ends when its maker is no longer an
owner of all sites, or ends all that opens the own account (see `accounts.end_credentials`).

    ModeratorError
      InvitationOver   the link was used or revoked, or has expired
"""

from typing import Final, NamedTuple

import msgspec

from commentsvc.auth import accounts
from commentsvc.auth.accounts import Moderator, ModeratorError
from commentsvc.auth.signed_links import SignedLinks
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Select
from commentsvc.db.schema.comments import InvitationTable, ModeratorTable
from commentsvc.model import OWNER
from commentsvc.util.i18n import gettext as _
from commentsvc.util.timestamps import DAY_MS

DAYS: Final = 7  # for which a link works
PURPOSE: Final = "invitation"
OVER: Final = _("This invitation was used or revoked, or it has expired. Ask for a new one.")


class InvitationOver(ModeratorError):
    """The link was used or revoked, or has expired."""

    def __init__(self) -> None:
        super().__init__(OVER)


class InvitationRef(NamedTuple):
    """The invitation that a link is for."""

    id: int
    created_at: int


class AccountInvitation(msgspec.Struct, frozen=True):
    """A future account with a `role` on `sites`; `email` is "" if the link was not mailed.

    Times are Unix milliseconds; `actor` is the owner who made it.
    """

    id: int
    role: str
    sites: str
    email: str
    created_at: int
    expires_at: int
    actor: str

    def token(self, links: SignedLinks, mailed_to: str = "") -> str:
        """Return the token of the link, with the address if it is mailed to one."""
        return links.make(PURPOSE, self.id, self.created_at, mailed_to, expires=self.expires_at)


def add(
    tx: Transaction, moderator_id: int, role: str, sites: str, email: str, now: int
) -> AccountInvitation:
    """Make an invitation by an owner at the time `now`."""
    row = InvitationTable.insert(
        moderator=moderator_id,
        role=role,
        sites=sites,
        email=email,
        created_at=now,
        expires_at=now + DAYS * DAY_MS,
    )
    tx.change(InvitationTable.delete().where(InvitationTable.expires_at <= now))
    tx.change(row)
    return listing(tx, now)[0]


def listing(snapshot: Snapshot, now: int) -> list[AccountInvitation]:
    """Return all usable invitations, the newest first."""
    return [AccountInvitation(*row) for row in snapshot.query(_usable(now))]


def find(snapshot: Snapshot, which: InvitationRef, now: int) -> AccountInvitation:
    """Return a usable invitation. Raise InvitationOver."""
    is_it = (InvitationTable.id == which.id) & (InvitationTable.created_at == which.created_at)
    row = snapshot.first(_usable(now).where(is_it))
    if row is None:
        raise InvitationOver
    return AccountInvitation(*row)


def mailed_to(snapshot: Snapshot, email: str, now: int) -> AccountInvitation | None:
    """Return the newest usable invitation for an address; None if there is none."""
    row = snapshot.first(_usable(now).where(InvitationTable.email == email))
    return AccountInvitation(*row) if row else None


def revoke(tx: Transaction, invitation_id: int) -> bool:
    """Revoke an invitation; return whether it existed."""
    gone = InvitationTable.delete().where(InvitationTable.id == invitation_id)
    return bool(tx.change(gone))


def accept(
    tx: Transaction, which: InvitationRef, name: str, password: str, now: int
) -> tuple[Moderator, AccountInvitation]:
    """Use an invitation: make the account `name`; `password` is a hash.

    The caller sets its role. Raise InvitationOver, NameTaken, NameRefused.
    """
    invitation = find(tx, which, now)
    accounts.add(tx, name, password, now)
    revoke(tx, which.id)
    return accounts.named(tx, name), invitation


def _usable(now: int) -> Select:
    return (
        InvitationTable.select(
            InvitationTable.id,
            InvitationTable.role,
            InvitationTable.sites,
            InvitationTable.email,
            InvitationTable.created_at,
            InvitationTable.expires_at,
            ModeratorTable.name,
        )
        .join(ModeratorTable)
        .where(
            InvitationTable.expires_at > now,
            ModeratorTable.role == OWNER,
            ModeratorTable.sites == "",
        )
        .order_by(InvitationTable.id.desc())
    )
