"""`commentsvc doctor` really tries the mail server. Most of it is in tests/proxy/test_doctor.py."""

import asyncio
import ssl
from pathlib import Path

import pytest
from msgspec.structs import replace

from commentsvc.api import images
from commentsvc.cli.doctor import local
from commentsvc.cli.doctor.remote import Finding, ProbeClient
from commentsvc.settings.schema import DatabaseSettings, ServerSettings, Settings
from tests.unit.mail_server import MailServer, mail_server, mail_settings


def check(tmp_path: Path, **changes: str) -> tuple[Finding, MailServer]:
    async def scene() -> tuple[Finding, MailServer]:
        async with mail_server() as server:
            mail = replace(mail_settings(server.port), **changes)
            fault = await asyncio.to_thread(local.mail, tmp_path, Settings(mail=mail))
            return fault, server

    return asyncio.run(scene())


def test_a_mail_server_that_lets_us_in_is_well_and_gets_no_mail(tmp_path: Path) -> None:
    finding, server = check(tmp_path)
    assert finding.good
    assert "accepts the login" in finding.text
    assert not server.mails


def test_a_mail_server_without_the_security_that_is_wanted_is_told(tmp_path: Path) -> None:
    finding, _ = check(tmp_path, security="starttls")
    assert finding.good is False


@pytest.mark.parametrize(
    ("answered", "good"),
    [
        ("https://c.example/in", True),
        ("https://c.example/in/", True),
        ("http://c.example/in", False),
        ("https://c.example", False),
        ("", None),
    ],
)
def test_links_that_lead_elsewhere_are_told(answered: str, good: bool | None) -> None:
    visitor = ProbeClient("https://c.example/in/", ssl.create_default_context())
    settings = Settings(server=ServerSettings(public_url=answered))
    assert local.public_url(visitor, settings).good is good


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    finding = local.permissions(tmp_path / "none", Settings())
    assert finding == ("permissions", False, f"{tmp_path}/none: No such file or directory")


def test_a_postgresql_that_cannot_be_reached_is_told_and_no_file_is_missed(tmp_path: Path) -> None:
    url = f"postgresql://c@/c?host={tmp_path}"
    settings = Settings(database=DatabaseSettings(url=url))
    tmp_path.chmod(0o700)
    (tmp_path / "secret.key").touch(mode=0o600)
    assert local.permissions(tmp_path, settings).good
    finding = local.database(url)
    assert finding.check == "database"
    assert finding.good is False
    assert "PostgreSQL cannot be reached" in finding.text


@pytest.mark.parametrize(
    ("installed", "confined", "good"),
    [(False, False, False), (True, False, None), (True, True, True)],
)
def test_doctor_says_whether_the_process_that_reads_pictures_is_confined(
    monkeypatch: pytest.MonkeyPatch, installed: bool, confined: bool, good: bool | None
) -> None:
    monkeypatch.setattr(images, "is_installed", lambda: installed)
    monkeypatch.setattr(images, "is_confined", lambda: confined)
    assert local.pictures().good is good
