"""What settings need outside of their file; e2e/test_wrong_settings.py has the sentences."""

from pathlib import Path

import certifi
import pytest
from msgspec.structs import replace

from commentsvc.settings import needs
from commentsvc.settings.schema import (
    BackupSettings,
    HooksSettings,
    InboxSettings,
    JudgeSettings,
    MailSettings,
    OidcSettings,
    ServerSettings,
    Settings,
    Site,
    StacosysSettings,
)

PUBLIC = ServerSettings(public_url="https://comments.example")
MAILING = MailSettings(host="localhost")


def of_site(site: Site, mail: MailSettings = MAILING) -> str:
    return "\n".join(needs.missing(Settings(server=PUBLIC, mail=mail, sites=(site,))))


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


def test_a_site_on_which_nobody_can_write_is_told() -> None:
    members = Site(sign_in=("required",))
    assert "nobody can write there" in of_site(members, MailSettings())
    assert of_site(members) == ""
    assert "nobody can write there" in of_site(replace(members, sign_in=("blog", "required")))


@pytest.mark.parametrize("client", ["isso", "waline", "artalk"])
def test_clients_of_others_whose_comments_would_be_refused_are_told(client: str) -> None:
    site = replace(Site(), **{client: True})
    for asks in ({"agreement": "I agree"}, {"sign_in": ("mail", "required")}):
        assert of_site(replace(site, **asks)).startswith(f"site.{client} is on for blog, but")
    assert of_site(replace(site, agreement=" ", sign_in=("mail",))) == ""


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (Settings(mail=MailSettings(password="${SMTP_PASSWORD}")), "mail.password"),
        (Settings(hooks=HooksSettings(telegram_chat="x${CHAT:-1}")), "hooks.telegram_chat"),
        (Settings(sites=(Site(), Site(sso_secret="${SECRET}"))), "site.sso_secret"),
    ],
)
def test_a_variable_in_the_file_is_told_and_not_shown(settings: Settings, name: str) -> None:
    variable = f"COMMENTSVC_{name.replace('.', '_').upper()}"
    assert [*needs.missing(settings)] == [
        f"{name} has a variable in braces, and variables in the file are not replaced."
        f" Set {variable} in their place."
    ]


@pytest.mark.parametrize("section", ["oidc", "readers"])
def test_a_provider_needs_a_client_id(section: str) -> None:
    provider = OidcSettings(issuer="https://id.example")
    [line] = needs.missing(Settings(**{section: provider}))  # type: ignore[arg-type] # a section
    assert line.startswith(f"{section}.issuer is set, but {section}.client_id is not: ")
    given = replace(provider, client_id="x")
    assert [*needs.missing(Settings(**{section: given}))] == []  # type: ignore[arg-type] # as above


def test_a_path_that_depends_on_the_folder_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert [*needs.missing(Settings(backup=BackupSettings(directory="backups")))] == [
        "backup.directory is backups, which depends on the folder where the server is started."
        f' Write the whole path, such as "{tmp_path}/backups".'
    ]


def test_a_mailbox_without_a_password_is_told() -> None:
    settings = Settings(inbox=InboxSettings(host="imap.example", user="me"))
    [line] = needs.missing(settings)
    assert line.startswith("inbox.user is set, but inbox.password is not: ")
    assert "COMMENTSVC_INBOX_PASSWORD_FILE" in line


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "which does not exist"),
        (b"", "which should have one line with the key, and nothing else"),
        (b"sk-one\nsk-two\n", "which should have one line with the key, and nothing else"),
        (b"k" * 3_000, "which should have one line with the key, and nothing else"),
    ],
)
def test_a_key_that_cannot_be_used_is_told(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    settings = Settings(judge=JudgeSettings(key_file=str(path)))
    assert [*needs.unusable(settings)] == [f"judge.key_file is {path}, {said}."]
    path.write_bytes(b"sk-one\n")
    assert needs.judge_key(settings) == "sk-one"


def test_a_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings = Settings(
        stacosys=StacosysSettings(rss_file=str(tmp_path)),
        backup=BackupSettings(directory=str(tmp_path / "file/backups")),
    )
    backups, feed = needs.missing(settings)
    assert backups.startswith(f"backup.directory is {tmp_path}/file/backups, which cannot be ")
    assert feed == f"stacosys.rss_file is {tmp_path}, which is a folder. Name a file in it."
