"""Accounts of moderators: who may decide, as rows of the database.

An account is a name and the hash of a password; all moderators may do the same. What readers see of
a moderator is in `moderation.profiles`. Whatever
changes what an account is worth (a new password, its removal) ends its sessions in the same
transaction.

    ModeratorError
      UnknownModerator   nobody has this name
      NameTaken          somebody has it
      NameRefused        this cannot be a name
"""

import re
from typing import Final

import msgspec

from commentsvc.db.sqlite import Reader, Transaction
from commentsvc.model import MODERATOR, MODERATORS_TAG, OWNER

_NAME: Final = re.compile(r"[\w@.+-]{1,40}")
_COLUMNS: Final = "id, name, password_hash, created_at"


class ModeratorError(Exception):
    """The account cannot be made, changed or found; the text is one line."""


class UnknownModerator(ModeratorError):
    """Nobody has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no moderator is called {name}")


class NameTaken(ModeratorError):
    """Somebody has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is a moderator called {name} already")


class NameRefused(ModeratorError):
    """This cannot be a name."""

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
    """Make an account with the hash `password`; the first is the owner's.

    Raises NameTaken or NameRefused.
    """
    if not _NAME.fullmatch(name):
        raise NameRefused
    sql = (
        "INSERT INTO moderator (name, password_hash, created_at, role)"
        " VALUES (?, ?, ?, iif(EXISTS (SELECT 1 FROM moderator), ?, ?))"
        " ON CONFLICT (name) DO NOTHING"
    )
    if not tx.execute(sql, (name, password, now, MODERATOR, OWNER)).rowcount:
        raise NameTaken(name)
    tx.purge(MODERATORS_TAG)


def remove(tx: Transaction, name: str) -> None:
    """Remove an account; what it decided keeps its name. Raises UnknownModerator."""
    if not tx.execute("DELETE FROM moderator WHERE name = ?", (name,)).rowcount:
        raise UnknownModerator(name)
    tx.purge(MODERATORS_TAG)


def set_password(tx: Transaction, name: str, password: str) -> None:
    """Store the hash of a new password and end the account's sessions. Raises UnknownModerator."""
    account = named(tx, name)
    tx.execute("UPDATE moderator SET password_hash = ? WHERE id = ?", (password, account.id))
    tx.execute("DELETE FROM session WHERE moderator_id = ?", (account.id,))


def set_language(tx: Transaction, moderator_id: int, language: str) -> None:
    """Let a moderator's pages be in the language of that tag, "" for the browser's."""
    tx.execute("UPDATE moderator SET language = ? WHERE id = ?", (language, moderator_id))


def find(reader: Reader, name: str) -> Moderator | None:
    """The account of that name, in capitals or not; None if there is none."""
    sql = f"SELECT {_COLUMNS} FROM moderator WHERE name = ?"  # noqa: S608 - constants
    row = reader.execute(sql, (name,)).fetchone()
    return row and Moderator(*row)


def named(reader: Reader, name: str) -> Moderator:
    """The account of that name, in capitals or not. Raises UnknownModerator."""
    account = find(reader, name)
    if account is None:
        raise UnknownModerator(name)
    return account


def everyone(reader: Reader) -> list[Moderator]:
    """All accounts, by name."""
    sql = f"SELECT {_COLUMNS} FROM moderator ORDER BY name"  # noqa: S608 - constants
    return [Moderator(*row) for row in reader.execute(sql)]
