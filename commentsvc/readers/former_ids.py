"""Former ids: those of subscribers and followers that became one with another row.

A mail has a link to stop, which names a row. If rows of one address become one, the link still has
to work, so the id of each that went leads to the one that stayed.
"""

from typing import Any, TypeAlias

from peewee import Value, fn

from commentsvc.db.connection import Transaction
from commentsvc.db.schema.outbox import FollowerTable, FormerIdTable, SubscriberTable

Mailed: TypeAlias = type[SubscriberTable] | type[FollowerTable]


def kept(table: Mailed, row_id: int) -> Any:  # Any: peewee's expressions have no type
    """Return the id of the row that a link names: it may be a former id."""
    found = FormerIdTable.select(FormerIdTable.kept).where(
        FormerIdTable.kind == table._meta.table_name, FormerIdTable.former == row_id
    )
    return fn.COALESCE(found, Value(row_id))


def replace(tx: Transaction, table: Mailed, former: int, stays: int) -> None:
    """Delete a row whose links are those of another from now on."""
    kind = table._meta.table_name
    earlier = (FormerIdTable.kind == kind) & (FormerIdTable.kept == former)
    tx.change(FormerIdTable.update(kept=stays).where(earlier))
    tx.change(FormerIdTable.insert(kind=kind, former=former, kept=stays))
    tx.change(table.delete().where(table.id == former))


def forget(tx: Transaction) -> None:
    """Delete the former ids of rows that are gone."""
    for table in (SubscriberTable, FollowerTable):
        is_kind = FormerIdTable.kind == table._meta.table_name
        left = table.select(table.id)
        tx.change(FormerIdTable.delete().where(is_kind, FormerIdTable.kept.not_in(left)))
