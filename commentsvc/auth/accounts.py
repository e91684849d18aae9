"""Accounts of moderators in the database: names, password hashes, languages.

Roles and what readers see of a moderator are in `moderation.profiles`. A change of the password
ends every other way into the account in the same transaction; so does the account's removal.

    ModeratorError
      UnknownModerator   no account has this name
      NameTaken          an account has it
      NameRefused        the name is not allowed
"""

import re
from typing import Final

import msgspec
from peewee import fn

from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Select
from commentsvc.db.schema.comments import (
    ApiTokenTable,
    IdentityTable,
    InvitationTable,
    ModeratorTable,
    PasskeyTable,
    SessionTable,
    is_called,
)
from commentsvc.model import MODERATOR, MODERATORS_TAG, OWNER

_NAME: Final = re.compile(r"[\w@.+-]{1,40}")


class ModeratorError(Exception):
    """The account cannot be made, changed or found; the text is one line."""


class UnknownModerator(ModeratorError):
    """No account has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no moderator is called {name}")


class NameTaken(ModeratorError):
    """An account has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is a moderator called {name} already")


class NameRefused(ModeratorError):
    """The name is not allowed."""

    def __init__(self) -> None:
        super().__init__("a moderator's name has 1 to 40 letters, digits, or signs of @ . + - _")


class Moderator(msgspec.Struct, frozen=True):
    """An account. `created_at` is in Unix milliseconds."""

    id: int
    name: str
    password_hash: str
    created_at: int

    def __repr__(self) -> str:
        return f"Moderator({self.name!r})"


def add(tx: Transaction, name: str, password: str, now: int) -> None:
    """Make an account; `password` is a hash. The first account is the owner's.

    Raise NameTaken or NameRefused.
    """
    refuse_name(tx, name)
    role = MODERATOR if tx.first(_accounts().limit(1)) else OWNER
    tx.change(ModeratorTable.insert(name=name, password_hash=password, created_at=now, role=role))
    tx.purge(MODERATORS_TAG)


def refuse_name(snapshot: Snapshot, name: str) -> None:
    """Raise NameTaken or NameRefused if no account can be made with this name."""
    if not _NAME.fullmatch(name):
        raise NameRefused
    if find(snapshot, name):
        raise NameTaken(name)


def set_password(tx: Transaction, name: str, password: str) -> None:
    """Store the hash of a new password, and end all else that opens the account.

    Raise UnknownModerator.
    """
    account = named(tx, name)
    changed = ModeratorTable.update(password_hash=password)
    tx.change(changed.where(ModeratorTable.id == account.id))
    end_credentials(tx, account.id)


def end_credentials(tx: Transaction, moderator_id: int) -> None:
    """End what opens an account without its password: sessions, tokens, passkeys, identities.

    Its invitations end too, since who knew the password may have made one to come back. No provider
    opens the account again before somebody confirms its address anew.
    """
    for table in (SessionTable, ApiTokenTable, PasskeyTable, IdentityTable, InvitationTable):
        tx.change(table.delete().where(table.moderator == moderator_id))
    forgotten = ModeratorTable.update(may_link=0, asked_email="", asked_at=0)
    tx.change(forgotten.where(ModeratorTable.id == moderator_id))


def set_language(tx: Transaction, moderator_id: int, language: str) -> None:
    """Set the language of a moderator's pages by its tag, "" for the browser's."""
    changed = ModeratorTable.update(language=language)
    tx.change(changed.where(ModeratorTable.id == moderator_id))


def find(snapshot: Snapshot, name: str) -> Moderator | None:
    """Return the account of that name, ignoring case; None if there is none."""
    row = snapshot.first(_accounts().where(is_called(name)))
    return Moderator(*row) if row else None


def named(snapshot: Snapshot, name: str) -> Moderator:
    """Return the account of that name, ignoring case. Raise UnknownModerator."""
    account = find(snapshot, name)
    if account is None:
        raise UnknownModerator(name)
    return account


def everyone(snapshot: Snapshot) -> list[Moderator]:
    """Return all accounts, by name."""
    accounts = _accounts().order_by(fn.LOWER(ModeratorTable.name))
    return [Moderator(*row) for row in snapshot.query(accounts)]


def _accounts() -> Select:
    return ModeratorTable.select(
        ModeratorTable.id,
        ModeratorTable.name,
        ModeratorTable.password_hash,
        ModeratorTable.created_at,
    )
