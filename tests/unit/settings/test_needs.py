"""What settings need outside of their file; e2e/test_wrong_settings.py has the sentences."""

from pathlib import Path

import certifi

from commentsvc.settings import needs
from commentsvc.settings.schema import (
    BackupSettings,
    InboxSettings,
    MailSettings,
    Settings,
    StacosysSettings,
)


def test_the_defaults_need_nothing() -> None:
    assert [*needs.unusable(Settings()), *needs.missing(Settings())] == []


def test_what_is_there_is_not_told(tmp_path: Path) -> None:
    settings = Settings(
        mail=MailSettings(user="me", password="p", ca_file=certifi.where()),
        inbox=InboxSettings(host="imap.example", user="me", token_command="sh -c 'echo x'"),
        backup=BackupSettings(directory=str(tmp_path / "will/be/made")),
        stacosys=StacosysSettings(rss_file=str(tmp_path / "rss.xml")),
    )
    assert [*needs.unusable(settings), *needs.missing(settings)] == []


def test_a_mailbox_without_a_password_is_told() -> None:
    settings = Settings(inbox=InboxSettings(host="imap.example", user="me"))
    [line] = needs.missing(settings)
    assert line.startswith("inbox.user is set, but inbox.password is not: ")
    assert "COMMENTSVC_INBOX_PASSWORD_FILE" in line


def test_a_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings = Settings(
        stacosys=StacosysSettings(rss_file=str(tmp_path)),
        backup=BackupSettings(directory=str(tmp_path / "file/backups")),
    )
    backups, feed = needs.missing(settings)
    assert backups.startswith(f"backup.directory is {tmp_path}/file/backups, which cannot be ")
    assert feed == f"stacosys.rss_file is {tmp_path}, which is a folder. Name a file in it."
