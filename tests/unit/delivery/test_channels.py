"""Channels: who is notified of comments, and how, by the settings."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from commentsvc.auth.signed_links import SignedLinks
from commentsvc.db.database import Database
from commentsvc.db.schema.outbox import Target
from commentsvc.delivery import channels
from commentsvc.settings.schema import ServerSettings, Settings, SpamSettings
from commentsvc.util.clock import Clock
from commentsvc.util.lasting import Lasting
from tests.unit.database_fixture import opened
from tests.unit.mail_server import mail_settings

LINKS = SignedLinks([b"key" * 16])
SETTINGS = Settings(
    server=ServerSettings(public_url="https://c.example"),
    mail=mail_settings(25),
    spam=SpamSettings(akismet_key="key"),
)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        yield database


def test_by_default_nobody_is_told_and_nothing_sent(database: Database) -> None:
    assert channels.targets(Settings()) == []
    assert channels.channels(Settings(), LINKS, Clock(), database, Lasting()) == {}


@pytest.mark.parametrize(
    ("digest", "period"), [("off", 0), ("hourly", 3_600_000), ("daily", 86_400_000)]
)
def test_each_moderator_is_told_by_mail(digest: str, period: int) -> None:
    addresses = ("a@b.example", "c@d.example")
    settings = replace(SETTINGS, mail=mail_settings(25, moderators=addresses, digest=digest))
    assert channels.targets(settings) == [
        Target("mail", "a@b.example", period),
        Target("mail", "c@d.example", period),
        Target("Akismet", "", 0, True),
    ]


def test_mails_come_after_the_answer_of_a_classifier() -> None:
    spam = SpamSettings(classifier_url="https://judge.example/", classifier_seconds=7)
    mail = mail_settings(25, moderators=("a@b.example",))
    [target, *_] = channels.targets(replace(SETTINGS, mail=mail, spam=spam))
    assert target == Target("mail", "a@b.example", delay_ms=10_000)


def test_every_target_has_a_channel(database: Database) -> None:
    named = {target.channel for target in channels.targets(SETTINGS)}
    assert named == set(channels.channels(SETTINGS, LINKS, Clock(), database, Lasting()))


def test_a_file_of_certificates_that_is_missing_is_told_at_the_start(database: Database) -> None:
    settings = replace(SETTINGS, mail=mail_settings(25, ca_file="/nowhere/ca.pem"))
    with pytest.raises(OSError, match="No such file"):
        channels.channels(settings, LINKS, Clock(), database, Lasting())
