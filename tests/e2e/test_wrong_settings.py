"""Wrong settings and files: each gives one right sentence, from `check`, `serve` and a command."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from commentsvc import app
from commentsvc.cli import main
from commentsvc.util.installation import how_to_install

ORIGINS = (
    'allowed is a list of origins such as "https://blog.example" (scheme, host and port only;'
    " international names in their xn-- form)"
)
# What stands in the file, and the sentence about it after its name.
SETTINGS = {
    "[server]\nworkers = 0": (
        ":2: server.workers is 0; allowed is a whole number from 1 to 64."
        " Write for example workers = 1"
    ),
    '[server]\nworkers = "2"': (
        ':2: server.workers is "2"; allowed is a whole number from 1 to 64. Write workers = 2'
    ),
    "[server]\nlisten = 127.0.0.1:8080": (
        ":2: server.listen is 127.0.0.1:8080, which is no TOML; allowed is a string"
        ' "HOST:PORT", "[IPv6]:PORT" or "unix:PATH", with a port from 0 to 65535.'
        ' Write listen = "127.0.0.1:8080"'
    ),
    '[server]\npublic_url = "comments.example"': (
        ':2: server.public_url is "comments.example"; allowed is nothing, or an address such as'
        ' "https://comments.example", percent-encoded.'
        ' Write public_url = "https://comments.example"'
    ),
    '[[site]]\norigins = "https://blog.example"': (
        f':2: site.origins is "https://blog.example"; {ORIGINS}.'
        ' Write origins = ["https://blog.example"]'
    ),
    '[[site]]\norigins = ["https://blog.example/posts/"]': (
        f':2: site.origins is ["https://blog.example/posts/"]; {ORIGINS}.'
        ' Write origins = ["https://blog.example"]'
    ),
    '[site]\nname = "blog"': ":1: write [[site]]: there is one for each.",
    '[moderation]\npolicy = "frist"': (
        ':2: moderation.policy is "frist"; allowed is "all", "first", "suspicious" or "none".'
        ' Write policy = "first"'
    ),
    "[mail]\nreply_notifications = True": (
        ":2: mail.reply_notifications is True, which is no TOML; allowed is true or false."
        " Write reply_notifications = true"
    ),
    "[mail]\nmoderators = me@blog.example": (
        ":2: mail.moderators is me@blog.example, which is no TOML; allowed is a list of addresses"
        ' such as "me@blog.example". Write moderators = ["me@blog.example"]'
    ),
    '[mail]\nhost = "smtp.blog.example:587"': (
        ':2: mail.host is "smtp.blog.example:587"; allowed is nothing, or a host name or IP address'
        ' such as "smtp.blog.example", without a port. Write host = "smtp.blog.example"'
    ),
    "[mail]\npassword = se'cret": (
        ":2: mail.password is no TOML; allowed is nothing, or at most 1000 characters in one line."
        ' Write password = "…"'
    ),
    "[server]\n[spam]\n[server]\nworkers = 2": (
        ":3: [server] begins already at line 1: put these lines there."
    ),
    "[server\nworkers = 2": ":1: a section begins with [server], and nothing else on its line.",
    "[server]\nworkers: 2": ":2: workers stands without a =. Write workers = and its value.",
    "[spam]\nmax_link = 2": ":2: spam.max_link is no setting. Did you mean spam.max_links?",
    "[server]\nmax_links = 2": (
        ":2: server.max_links is no setting. Did you mean spam.max_links?"
        " Put the line below [spam]."
    ),
    "[sever]\nworkers = 2": ":1: [sever] is no section. Did you mean [server]?",
    "[server]\nworkers\u00a0= 2": (
        ":2: This line has a character that cannot be seen, U+00A0. Type the line anew."
    ),
    "[server\u200b]\nworkers = 2": (
        ":1: This line has a character that cannot be seen, U+200B. Type the line anew."
    ),
    '[server]\npublic_url = "https://c.example\x07"': (
        ":2: This line has a character that cannot be seen, U+0007. Type the line anew."
    ),
    # Nothing is said of what the wrong setting is for.
    '[server]\npublic_url = "https://c.example"\n[mail]\nhost = "a.example"\nsender = "me at b"': (
        ':5: mail.sender is "me at b"; allowed is nothing, or an address such as'
        ' "comments@blog.example". Write for example sender = "comments@blog.example"'
    ),
    '[server]\npublic_url = c\n[mail]\nhost = "a.example"\nsender = "me@b.example"': (
        ":2: server.public_url is c, which is no TOML; allowed is nothing, or an address such as"
        ' "https://comments.example", percent-encoded. Write public_url = "https://c"'
    ),
    "[spam]\nkeep_spam_days = -3": (
        ":2: spam.keep_spam_days is -3; allowed is a whole number from 0 to 3650 (days)."
        " Write for example keep_spam_days = 30"
    ),
    "workers = 2": (
        ":1: workers stands before the first section. Did you mean server.workers?"
        " Put the line below [server]."
    ),
}
NOT_TOML = (
    " is no settings file in TOML. Name another one with --config, or let `commentsvc init` write"
    " one."
)
# What is in a file that is none of ours, and the sentence about it.
FILES: dict[bytes, str] = {
    b'{"server": {"workers": 2}}': NOT_TOML,
    b"server:\n  workers: 2\n": NOT_TOML,
    b"<settings/>": NOT_TOML,
    "[server]".encode("utf-16"): " cannot be read: it is UTF-16. Save it as UTF-8.",
    b"# gr\xfc\xdfe\n": " cannot be read: line 1 is not UTF-8. Save the file as UTF-8.",
    b"[server]\rworkers = 2\r": (
        " cannot be read: its lines end with CR alone. Save it with the line ends of Unix (LF)."
    ),
    b"SQLite format 3\0": " cannot be read: it is no text.",
    b"#" * 1_048_577: (
        " cannot be read: it is longer than 1048576 bytes, so it is something else."
    ),
}
PROGRAMS = {
    "check": ("check",),
    "serve": ("serve", "--listen", "127.0.0.1:0"),
    "a command": ("thread", "import", "-"),
}
Said = Callable[..., str]


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Said:
    """Return what a command with the settings `file` says on the standard error."""
    monkeypatch.setattr(app, "run", lambda *_: None)

    def said(program: str, file: Path, code: int = 1) -> str:
        words = [*PROGRAMS[program], "--data", str(tmp_path), "--config", str(file)]
        result = CliRunner(env={"COMMENTSVC_DATABASE_URL": None}).invoke(main.main, words)
        assert result.exit_code == code, result.output
        return result.stderr

    return said


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("text", SETTINGS)
def test_a_wrong_setting_is_one_sentence(
    said: Said, tmp_path: Path, text: str, program: str
) -> None:
    file = tmp_path / "commentsvc.toml"
    file.write_text(text)
    assert said(program, file) == f"commentsvc: {file}{SETTINGS[text]}\n"


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("content", FILES, ids=range(len(FILES)))
def test_a_wrong_file_is_one_sentence(
    said: Said, tmp_path: Path, content: bytes, program: str
) -> None:
    file = tmp_path / "commentsvc.toml"
    file.write_bytes(content)
    assert said(program, file) == f"commentsvc: {file}{FILES[content]}\n"


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_file_that_is_not_there_or_a_folder_is_one_sentence(
    said: Said, tmp_path: Path, program: str
) -> None:
    none = tmp_path / "none.toml"
    assert said(program, none).partition("\n")[0] == (
        f"commentsvc: There is no file {none}. Name another one with --config, or write it:"
        f" commentsvc init --config {none}"
    )
    assert said(program, tmp_path).partition("\n")[0] == (
        f"commentsvc: {tmp_path} is a folder. Name the settings file in it:"
        f" {tmp_path}/commentsvc.toml"
    )


PUBLIC = '[server]\npublic_url = "https://c.example"\n'
MAIL = f'{PUBLIC}[mail]\nhost = "smtp.example"\nsender = "a@b.example"\n'
AUTHORITIES = (
    "Name a file with certificates in PEM, or remove the setting to trust the usual authorities."
)
# Settings that name what is not there, and the sentence; FOLDER is that of the settings.
ABSENT = {
    MAIL + 'user = "me"\n': (
        "mail.user is set, but mail.password is not: the mail server asks for it. Set it in the"
        " file, or name a file that has it in the variable COMMENTSVC_MAIL_PASSWORD_FILE."
    ),
    '[mail]\nmoderators = ["me@b.example"]': (
        "mail.moderators is set, but mail.host is not: they get no mails. Set it too."
    ),
    '[backup]\ndirectory = "FOLDER/commentsvc.toml"': (
        "backup.directory is FOLDER/commentsvc.toml, which is no folder. No backup can be made."
    ),
    '[stacosys]\nrss_file = "FOLDER/none/rss.xml"': (
        "stacosys.rss_file is FOLDER/none/rss.xml, but there is no such folder. Create it."
    ),
    MAIL + '[inbox]\naddress = "in@b.example"\ntoken_command = "no-such-program x"': (
        "inbox.token_command runs no-such-program, but there is no such program. Install it, or"
        " write its whole path."
    ),
    "[[site]]\nimages = true\n"
    + PUBLIC: f"site.images is set, which needs: {how_to_install('images')}",
    "[comments]\nmessage_length = 30000": (
        "comments.message_length is 30000, but server.max_body_kib is only 256: long comments of"
        " readers without JavaScript are refused. Set it to 264 or more, as the limit of the proxy."
    ),
    '[[site]]\nsign_in = ["mail"]': (
        "site.sign_in is set, but server.public_url is not: readers sign in there. Set it too."
    ),
    '[oidc]\nissuer = "https://id.example"\nclient_id = "comments"': (
        f"oidc.issuer is set, which needs: {how_to_install('oidc')}"
    ),
}
UNUSABLE = {
    MAIL + 'ca_file = "FOLDER/none.pem"': (
        f"mail.ca_file is FOLDER/none.pem, which does not exist. {AUTHORITIES}"
    ),
    MAIL + '[inbox]\naddress = "in@b.example"\nca_file = "FOLDER/commentsvc.toml"': (
        f"inbox.ca_file is FOLDER/commentsvc.toml, which has no certificate. {AUTHORITIES}"
    ),
}


@pytest.mark.parametrize("text", [*ABSENT, *UNUSABLE])
def test_what_settings_name_is_looked_for_by_check_and_at_the_start(
    said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("commentsvc.settings.needs.find_spec", lambda _: None)
    file = tmp_path / "commentsvc.toml"
    file.write_text(text.replace("FOLDER", str(tmp_path)))
    sentence = (ABSENT | UNUSABLE)[text].replace("FOLDER", str(tmp_path))
    assert said("check", file) == f"commentsvc: {sentence}\n"
    if text in ABSENT:
        assert said("serve", file, 0) == f"note: {sentence}\n"
    else:
        assert said("serve", file) == f"commentsvc: {sentence}\n"


@pytest.mark.parametrize("content", [b"", b"short", b"\xff" * 45])
def test_a_wrong_secret_key_is_found_by_check(said: Said, tmp_path: Path, content: bytes) -> None:
    (file := tmp_path / "commentsvc.toml").touch()
    key = tmp_path / "secret.key"
    key.write_bytes(content)
    assert said("check", file) == (
        f"commentsvc: {key} contains no valid key. If you move it away, a new one is created.\n"
    )
    key.unlink()
    said("check", file, 0)
    assert not key.exists()


def test_several_faults_are_told_together(said: Said, tmp_path: Path) -> None:
    file = tmp_path / "commentsvc.toml"
    file.write_text("\n".join(text for text in SETTINGS if text.startswith(("[mail", "[spam"))))
    assert len(said("check", file).splitlines()) > 5
