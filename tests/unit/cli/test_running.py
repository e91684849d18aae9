"""Which settings a command uses while a server runs."""

import os
from pathlib import Path

import pytest

from commentsvc.cli import running
from commentsvc.settings.schema import MailSettings, Settings, Site, SpamSettings

SERVER = Settings(
    sites=(Site(name="blog"),), spam=SpamSettings(max_links=5), mail=MailSettings(password="old")
)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the settings file in a data folder whose server has SERVER."""
    monkeypatch.setattr(running, "server_settings", lambda _: SERVER)
    (tmp_path / "control.sock").touch()
    return tmp_path / "commentsvc.toml"


CHANGED = '[spam]\nmax_links = 7\n[mail]\npassword = "new"\n[[site]]\nname = "notes"\n'


@pytest.mark.parametrize("is_newer", [True, False])
def test_each_difference_is_named_with_what_to_do(file: Path, is_newer: bool) -> None:
    file.write_text(CHANGED)
    os.utime(file.parent / "control.sock" if is_newer else file, (1, 1))
    remedy = f"{file} is newer than the server, so restart it" if is_newer else running.REMEDY
    server = f"the server that runs on {file.parent}"
    assert running.unlike_server(file.parent, None) == [
        f"{file}:2: spam.max_links is 7, but {server} uses 5: {remedy}",
        f"{file}:4: mail.password is another value, but {server} uses its own: {remedy}",
        f"The sites are notes, but blog in {server}: {remedy}",
    ]


def test_a_newer_file_with_the_same_settings_is_no_fault(file: Path) -> None:
    file.write_text('[spam]\nmax_links = 5\n[[site]]\nname = "blog"\n')
    os.utime(file.parent / "control.sock", (1, 1))
    assert running.unlike_server(file.parent, None) == []


def test_a_newer_file_does_not_excuse_a_variable(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("")
    os.utime(file.parent / "control.sock", (1, 1))
    monkeypatch.setenv("COMMENTSVC_SPAM_MAX_LINKS", "9")
    [line] = running.unlike_server(file.parent, None)
    assert line.startswith("COMMENTSVC_SPAM_MAX_LINKS is 9, but the server that runs on ")
    assert line.endswith(running.REMEDY)
