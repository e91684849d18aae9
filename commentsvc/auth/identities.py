"""Maps identities of an OpenID Connect provider (see `auth.oidc`) to accounts.

At the first sign-in, the account is found by the email address, if both the provider and we have
verified it, and its owner did not end that since. From then on the account belongs to the `subject`
of that identity. If the provider later gives the address to somebody else, it no longer opens the
account.
"""

from commentsvc.auth import accounts
from commentsvc.auth.accounts import Moderator
from commentsvc.auth.oidc import Identity
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.schema.comments import IdentityTable, ModeratorTable
from commentsvc.util.origin import address_key


def account_of(tx: Transaction, identity: Identity, now: int) -> tuple[Moderator | None, bool]:
    """Return the account of an identity, or None, and whether the identity was not known before.

    A new identity is stored as the account's.
    """
    known = ModeratorTable.select(ModeratorTable.name).join(IdentityTable)
    mine = known.where(
        IdentityTable.issuer == identity.issuer, IdentityTable.subject == identity.subject
    )
    if row := tx.first(mine):
        return accounts.find(tx, row[0]), False
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
    return account, account is not None


def _named_by(snapshot: Snapshot, identity: Identity) -> str:
    """Return the name of the account with the identity's email address; "" if there is none.

    An account that belongs to another subject of the issuer does not count.
    """
    wanted = address_key(identity.email)
    taken = IdentityTable.select(IdentityTable.moderator).where(
        IdentityTable.issuer == identity.issuer
    )
    free = ModeratorTable.select(ModeratorTable.name, ModeratorTable.email).where(
        ModeratorTable.may_link == 1,
        ModeratorTable.verified_email == ModeratorTable.email,
        ModeratorTable.id.not_in(taken),
    )
    found = [name for name, email in snapshot.query(free) if address_key(email) == wanted]
    return str(found[0]) if wanted and len(found) == 1 else ""
