"""The sites of the settings, as rows of the database: functions for `Database.write`."""

from collections.abc import Iterable

from peewee import Case

from commentsvc.db.connection import Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import SiteTable


@prepared
def _site(name: Param) -> Select:
    return SiteTable.insert(name=name).on_conflict(
        action="NOTHING", conflict_target=[SiteTable.name]
    )


def sync(tx: Transaction, names: Iterable[str]) -> None:
    """Make rows for new sites; rows of sites that are no longer configured stay."""
    for name in names:
        tx.change(_site, name)


def set_math(tx: Transaction, names: Iterable[str]) -> None:
    """Store that formulas are shown on the sites of these names, and on no others."""
    has_math = SiteTable.name.in_([*names])
    tx.change(SiteTable.update(math=Case(None, [(has_math, 1)], 0)))


def set_notices(tx: Transaction, names: Iterable[str]) -> None:
    """Store that the sites of these names mail decisions, and no others."""
    mails = SiteTable.name.in_([*names])
    tx.change(SiteTable.update(notices=Case(None, [(mails, 1)], 0)))


def set_images(tx: Transaction, address: str, names: Iterable[str]) -> None:
    """Store that images are shown on the sites of these names, at the service's address."""
    has_images = SiteTable.name.in_([*names])
    tx.change(SiteTable.update(images=Case(None, [(has_images, address)], "")))
