"""The tables for decisions accept valid decisions only."""

from pathlib import Path

import pytest

from commentsvc import model
from commentsvc.spam import bans
from tests.unit.database_fixture import BROKEN_RULE, NOW, add, opened


@pytest.mark.parametrize("kind", model.BANS)
def test_every_kind_of_ban_has_its_place_once(tmp_path: Path, kind: str) -> None:
    insert = f"INSERT INTO ban (kind, value, created_at, actor) VALUES ('{kind}', 'x', 0, 'Mo')"
    with opened(tmp_path) as database:
        database.write_now(lambda tx: tx.execute(insert))
        assert len(database.read_now(bans.listing)) == 1
        with pytest.raises(BROKEN_RULE, match=r"(?i)unique"):
            database.write_now(lambda tx: tx.execute(insert))


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO ban (kind, value, created_at, actor) VALUES ('person', 'x', 0, 'Mo')",
        "INSERT INTO change (decision_id, comment_id, field, old, new, created_at, actor)"
        f" VALUES (1, 1, 'votes', '1', '2', {NOW}, 'Mo')",
        "INSERT INTO change (decision_id, comment_id, field, old, new, created_at, actor)"
        f" VALUES (1, 77, 'status', 'pending', 'spam', {NOW}, 'Mo')",
    ],
)
def test_the_database_refuses_what_is_no_decision(tmp_path: Path, sql: str) -> None:
    with opened(tmp_path) as database:
        add(database)
        with pytest.raises(BROKEN_RULE, match=r"(?i)check|foreign"):
            database.write_now(lambda tx: tx.execute(sql))
