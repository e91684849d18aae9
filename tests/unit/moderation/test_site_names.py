"""A site gets another name in all tables, and sites without settings are told."""

from pathlib import Path

import peewee
import pytest

from commentsvc.backup import integrity
from commentsvc.comments import queries, site_rows
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.database import Database
from commentsvc.db.schema.comments import (
    ModeratorTable,
    PageViewTable,
    SiteTable,
    ThreadTable,
)
from commentsvc.db.schema.mentions import MentionTable
from commentsvc.db.schema.moderation import SettingChangeTable
from commentsvc.db.schema.tables import TABLES
from commentsvc.moderation import site_names, threads
from commentsvc.moderation.site_names import HiddenSite, SiteRefused
from tests.unit.database_fixture import NOW, add, opened

# Columns with such names that hold no name of our site: a website, what a search finds.
OTHERS = {("moderator", "site"), ("comment", "author_site")}


def rename(database: Database, old: str, new: str, *, merges: bool = False) -> int:
    return database.write_now(site_names.rename, old, new, "Mo", NOW, merges=merges)


def test_every_column_with_a_site_is_known() -> None:
    """A new table with a site, or with the name of one, has to be added to the lists."""
    rows, names = set(), set()
    for table in TABLES:
        for field in table._meta.sorted_fields:
            if isinstance(field, peewee.ForeignKeyField) and field.rel_model is SiteTable:
                rows.add(table)
            elif isinstance(field, peewee.TextField) and "site" in field.name:
                names.add((table._meta.table_name, field.name))
    assert rows == {*site_names.ROWS}
    known = {(table._meta.table_name, "site") for table in site_names.NAMES}
    known |= {(table._meta.table_name, "sites") for table in site_names.LISTS}
    assert names - OTHERS == known


def test_the_keys_are_those_of_the_schema() -> None:
    for table, columns in (site_names.ROWS | site_names.NAMES).items():
        key = table._meta.primary_key
        indexes = [index for index in table._meta.indexes if isinstance(index, tuple)]
        keys = [columns for columns, is_unique in indexes if is_unique]
        if isinstance(key, peewee.CompositeKey):
            keys.append(key.field_names)
        fields = {
            tuple(name.removesuffix("_id") for name in each if name.removesuffix("_id") != "site")
            for each in keys
            if {"site", "site_id"} & {*each}
        }
        assert {frozenset(each) for each in fields} == ({frozenset(columns)} if columns else set())


def test_a_renamed_site_has_its_comments_pages_moderators_and_mentions(tmp_path: Path) -> None:
    purged: list[str] = []
    with opened(tmp_path, purged.extend) as database:
        add(database)
        database.write_now(
            lambda tx: tx.change(
                ModeratorTable.insert(
                    name="mo", password_hash="", created_at=0, sites="blog\nnotes"
                )
            )
        )
        database.write_now(
            lambda tx: tx.change(
                MentionTable.insert(
                    site="blog", url="/", source="x", target="y", kind="", attempts=0, received_at=0
                )
            )
        )
        database.write_now(
            lambda tx: tx.change(
                SettingChangeTable.insert(
                    site="blog", key="policy", new='"approve"', actor="Mo", created_at=0
                )
            )
        )
        assert database.read_now(site_names.hidden, ["diary"]) == [HiddenSite("blog", 1)]
        database.write_now(site_rows.sync, ["diary"])  # as a start with the new name does
        assert rename(database, "blog", "diary") == 1
        assert "*" in purged
        assert database.read_now(site_names.hidden, ["diary"]) == []
        assert database.read_now(queries.site_count, "diary") == 1
        assert database.read_now(Snapshot.query, ModeratorTable.select(ModeratorTable.sites)) == [
            ("diary\nnotes",)
        ]
        assert database.read_now(Snapshot.query, MentionTable.select(MentionTable.site)) == [
            ("diary",)
        ]
        changed = SettingChangeTable.select(SettingChangeTable.site)
        assert database.read_now(Snapshot.query, changed) == [("diary",)]
        assert rename(database, "diary", "blog") == 1, "the way back"


def test_a_name_with_comments_is_refused_unless_both_are_to_be_put_together(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        database.write_now(site_rows.sync, ["diary"])
        for site, url in (("blog", "/a/"), ("blog", "/b/"), ("diary", "/b/"), ("diary", "/c/")):
            add(database, site=site, url=url)
        for site, views in (("blog", 3), ("diary", 4)):
            database.write_now(view, site, "/b/", views)
        with pytest.raises(SiteRefused, match="--merge"):
            rename(database, "blog", "diary")
        assert rename(database, "blog", "diary", merges=True) == 4
        assert database.read_now(integrity.check, lambda _: None) == []
        assert database.read_now(queries.site_count, "diary") == 4
        pages = {page.url: page.count for page in database.read_now(threads.listing, "", 9, None)}
        assert pages == {"/a/": 1, "/b/": 2, "/c/": 1}
        viewed = PageViewTable.select(PageViewTable.views)
        assert database.read_now(Snapshot.query, viewed) == [(7,)]
        [(number,)] = database.read_now(
            Snapshot.query, ThreadTable.select(peewee.fn.COUNT(peewee.SQL("1")))
        )
        assert number == 3


def view(tx: Transaction, site: str, url: str, views: int) -> None:
    """Store how often a page was viewed."""
    its = SiteTable.select(SiteTable.id).where(SiteTable.name == site)
    tx.change(PageViewTable.insert(site=its, url=url, views=views))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("none", "diary", 'There is no stored site "none"'),
        ("blog", "blog", "the new name is the old one"),
    ],
)
def test_what_cannot_be_renamed_is_told(tmp_path: Path, old: str, new: str, reason: str) -> None:
    with opened(tmp_path) as database, pytest.raises(SiteRefused, match=reason):
        rename(database, old, new)


def test_an_operator_is_told_the_name_the_number_and_the_command() -> None:
    line = site_names.explain(HiddenSite("blog", 12), ["diary"])
    assert "12 comments" in line
    assert "commentsvc site rename blog diary --data DIR" in line
