"""Which account is whose at a provider of OpenID Connect (see `auth.oidc`).

At first an account is found by its email address, if the provider verified it. From then on it
belongs to the subject who came with it: an address that the provider gives to somebody else later
opens nothing.
"""

from commentsvc.auth import accounts
from commentsvc.auth.accounts import Moderator
from commentsvc.auth.oidc import Identity
from commentsvc.db.schema.comments import IdentityTable, ModeratorTable, has_address
from commentsvc.db.sqlite import Reader, Transaction


def account_of(tx: Transaction, identity: Identity, now: int) -> Moderator | None:
    """Return the account of an identity, and keep that it is; None if there is none."""
    known = ModeratorTable.select(ModeratorTable.name).join(IdentityTable)
    mine = known.where(
        IdentityTable.issuer == identity.issuer, IdentityTable.subject == identity.subject
    )
    if row := tx.first(mine):
        return accounts.find(tx, row[0])
    name = _named_by(tx, identity)
    account = accounts.find(tx, name) if name else None
    if account is not None:
        is_theirs = IdentityTable.insert(
            moderator=account.id,
            issuer=identity.issuer,
            subject=identity.subject,
            created_at=now,
        )
        tx.change(is_theirs)
    return account


def _named_by(reader: Reader, identity: Identity) -> str:
    """Return the name of the account with that address which nobody at the issuer has yet."""
    if not identity.email:
        return ""
    taken = IdentityTable.select(IdentityTable.moderator).where(
        IdentityTable.issuer == identity.issuer
    )
    free = ModeratorTable.select(ModeratorTable.name).where(
        has_address(identity.email), ModeratorTable.id.not_in(taken)
    )
    row = reader.first(free)
    return str(row[0]) if row else ""
