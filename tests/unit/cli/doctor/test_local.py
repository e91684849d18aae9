"""Checkup: the mail server is really tried. The rest needs a proxy: tests/proxy/test_doctor.py."""

import asyncio
from pathlib import Path

from msgspec.structs import replace

from commentsvc.cli.doctor import local
from commentsvc.cli.doctor.remote import Finding
from commentsvc.settings.schema import Settings
from tests.unit.mail_server import MailServer, mail_server, mail_settings


def look(**changes: str) -> tuple[Finding, MailServer]:
    async def scene() -> tuple[Finding, MailServer]:
        async with mail_server() as server:
            mail = replace(mail_settings(server.port), **changes)
            return await local.mail(Settings(mail=mail)), server

    return asyncio.run(scene())


def test_a_mail_server_that_lets_us_in_is_well_and_gets_no_mail() -> None:
    finding, server = look()
    assert finding.good
    assert "lets us in" in finding.text
    assert not server.mails


def test_a_mail_server_without_the_security_that_is_wanted_is_told() -> None:
    finding, _ = look(security="starttls")
    assert finding.good is False


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    finding = local.permissions(tmp_path / "none")
    assert finding == ("permissions", False, f"{tmp_path}/none: No such file or directory")
