"""Maps identities of an OpenID Connect provider (see `auth.oidc`) to accounts.

At the first sign-in, the account is found by the email address, if the provider has verified it.
From then on the account belongs to the `subject` of that identity. If the provider later gives the
address to somebody else, it no longer opens the account.
"""

from commentsvc.auth import accounts
from commentsvc.auth.accounts import Moderator
from commentsvc.auth.oidc import Identity
from commentsvc.db.schema.comments import IdentityTable, ModeratorTable, has_address
from commentsvc.db.sqlite import Reader, Transaction


def account_of(tx: Transaction, identity: Identity, now: int) -> Moderator | None:
    """Return the account of an identity and store that it is theirs; None if there is none."""
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
    """Return the name of the account with the identity's email address; "" if there is none.

    An account that belongs to another subject of the issuer does not count.
    """
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
