"""The dashboard: comments per day, figures, and settings without secrets."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from commentsvc import outbox
from commentsvc.admin.dashboard import by_day, settings_sections
from commentsvc.cluster.membership import InstanceState
from commentsvc.comments import search
from commentsvc.comments.search import Day
from commentsvc.db.errors import DatabaseFull
from commentsvc.db.schema.outbox import Target
from commentsvc.settings import loader
from commentsvc.settings.schema import (
    SECTIONS,
    AuthSettings,
    BackupSettings,
    HooksSettings,
    Settings,
)
from commentsvc.settings.types import SECRET_URLS, URL
from tests.unit.admin_client import seated, text
from tests.unit.app_fixture import NOW, SETTINGS, Served, served
from tests.unit.database_fixture import add

SECRET = "s3cret" * 8


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    settings = msgspec.structs.replace(SETTINGS, auth=AuthSettings(secret_key=SECRET))
    with served(tmp_path, settings) as running:
        yield running


def totals(html: str) -> list[str]:
    return re.findall(r"</span>\w+ <strong>([\d,]+)</strong></li>", html)


def test_the_chart_shows_each_days_comments(service: Served) -> None:
    now = int(NOW * 1_000)
    for days, status in (
        (0, "approved"),
        (0, "spam"),
        (3, "pending"),
        (20, "approved"),
        (60, "deleted"),
    ):
        add(service.database, now=now - days * 86_400_000, status=status)
    service.database.write_now(search.index_pending, 100)
    seat = seated(service)
    html = text(seat.get("dashboard"))
    assert totals(html) == ["2", "1", "1", "0"]
    assert html.count("<rect ") == 4
    assert "<title>18 Nov: 1 spam</title>" in html
    assert totals(text(seat.get("dashboard?days=14"))) == ["1", "1", "1", "0"]
    assert totals(text(seat.get("dashboard?days=90"))) == ["2", "1", "1", "1"]
    assert totals(text(seat.get("dashboard?days=9999999999"))) == ["2", "1", "1", "0"]
    assert totals(text(seat.get("dashboard?site=notes"))) == ["0", "0", "0", "0"]


def test_without_comments_and_requests_there_is_a_kind_word(service: Served) -> None:
    html = text(seated(service).get("dashboard"))
    assert "No comments in these days" in html
    assert "<rect" not in html
    assert "100.0 %" in html, "3 hits and no miss"


def test_days_without_comments_are_there_too() -> None:
    found = [Day(5, "spam", 2), Day(7, "approved", 1), Day(7, "pending", 0), Day(9, "spam", 1)]
    assert by_day(found, 4, 7) == [(4, {}), (5, {"spam": 2}), (6, {}), (7, {"approved": 1})]


def test_every_setting_is_shown_but_no_secret(service: Served) -> None:
    html = text(seated(service).get("settings"))
    for section, struct in SECTIONS.items():
        assert f"[{section}]" in html
        for field in msgspec.structs.fields(struct):
            assert f"<code>{field.name}</code>" in html
    assert "https://blog.example" in html
    assert SECRET not in html
    assert "set, not shown here" in html


def test_a_secret_is_recognised_by_what_config_says_of_it() -> None:
    """Every setting that is marked as secret is hidden, whatever its name."""
    hidden = 0
    for name, struct in SECTIONS.items():
        for field in msgspec.structs.fields(struct):
            meta = field.type.__metadata__[0]
            if (meta.extra or {}).get("secret"):
                section = struct(**{field.name: SECRET})
                changed = {"sites": (section,)} if name == "site" else {name: section}
                settings = msgspec.structs.replace(Settings(), **changed)
                assert SECRET not in repr(settings_sections(settings))
                hidden += 1
    assert hidden
    assert "not set" in repr(settings_sections(loader.load(None, {})))


def test_the_addresses_to_which_messages_go_are_secret() -> None:
    """Their paths are passwords: who knows that of ntfy reads links that decide on comments."""
    kinds = {URL.description, SECRET_URLS.description}
    metas = {each.name: each.type.__metadata__[0] for each in msgspec.structs.fields(HooksSettings)}
    sent_to = {name: meta for name, meta in metas.items() if meta.description in kinds}
    assert {*sent_to} == {"webhooks", "ntfy", "slack", "discord"}
    assert all(meta.extra and meta.extra["secret"] for meta in sent_to.values())


def test_what_waits_to_be_sent_is_told(service: Served) -> None:
    seat = seated(service)
    assert "All mail sent" in text(seat.get("dashboard"))
    target = Target("mail", "me@blog.example", 0, changes=False)
    service.database.write_now(outbox.sync_targets, [target])
    add(service.database, now=int(NOW * 1_000) - 120_000, status="pending")
    assert "Mail: 1 waiting, the oldest since 2 min ago; 0 failed." in text(seat.get("dashboard"))


def test_backups_are_told_where_they_are_made(tmp_path: Path, service: Served) -> None:
    assert "Backups" not in text(seated(service).get("dashboard"))
    (tmp_path / "file").touch()
    for folder, lines in (
        (tmp_path / "kept", ("The newest was made just now", " MB")),
        (tmp_path / "file", ("None has been made yet", "The last attempt failed: ")),
    ):
        settings = msgspec.structs.replace(SETTINGS, backup=BackupSettings(directory=str(folder)))
        (tmp_path / folder.name[:1]).mkdir()
        with served(tmp_path / folder.name[:1], settings) as backing:
            backing.backups.round()
            page = text(seated(backing).get("dashboard"))
        for words in lines:
            assert words in page


def test_the_other_instances_are_shown_where_there_may_be_some(service: Served) -> None:
    seat = seated(service)
    assert "Instances" not in text(seat.get("dashboard"))
    service.instance = InstanceState(3, 870, 2, 1, 45, 6)
    page = text(seat.get("dashboard"))
    figures = re.findall(r"<dd>(.*?)</dd>", page.partition('id="instances-title"')[2])
    assert figures == ["3", "870 ms", "2 ms", "1", "45", "6"]


def test_that_nothing_can_be_stored_is_said(service: Served) -> None:
    seat = seated(service)
    assert "cannot be stored" not in text(seat.get("dashboard"))
    service.database.write_health.failed(DatabaseFull("the disk is full"))
    assert "nothing can be stored: the disk is full" in text(seat.get("dashboard"))
