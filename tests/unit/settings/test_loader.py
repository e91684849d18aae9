"""The settings: which values are valid, and that the shipped file lists all of them."""

import itertools
import re
import tomllib
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints
from unittest.mock import patch

import msgspec
import pytest

from commentsvc.settings import loader, schema
from commentsvc.settings.parser import SettingsError
from commentsvc.settings.schema import Settings

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / "config" / "commentsvc.toml"


def load_text(tmp_path: Path, text: str) -> Settings:
    file = tmp_path / "commentsvc.toml"
    file.write_text(text)
    return loader.load(file, {})


def problems(environ: dict[str, str]) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        loader.load(None, environ)
    return caught.value.problems


def uncommented() -> str:
    return re.sub(r"(?m)^#(?=[a-z_]+ = )", "", SHIPPED.read_text())


def test_without_file_and_variables_the_defaults_hold() -> None:
    settings = loader.load(None, {})
    assert settings == Settings()
    assert [site.name for site in settings.sites] == ["blog"]


def test_the_shipped_file_means_the_defaults() -> None:
    assert loader.load(SHIPPED, {}) == Settings()


def test_the_shipped_file_shows_the_defaults(tmp_path: Path) -> None:
    assert load_text(tmp_path, uncommented()) == Settings()


def test_the_shipped_file_names_every_setting_after_a_sentence() -> None:
    document = tomllib.loads(uncommented())
    document["site"] = document["site"][0]
    for name, section in schema.SECTIONS.items():
        keys = [field.name for field in msgspec.structs.fields(section)]
        assert list(document[name]) == keys
    lines = SHIPPED.read_text().splitlines()
    for before, line in itertools.pairwise(lines):
        if re.match(r"#[a-z_]+ = ", line):
            assert re.fullmatch(r"# .*\.", before), f"no sentence stands before {line}"


def test_settings_of_earlier_versions_are_named_and_ignored(tmp_path: Path) -> None:
    file = tmp_path / "commentsvc.toml"
    file.write_text("[server]\nhead_timeout = 5\nworkers = 2\n[feed]\nentries = 9\n[[site]]\n")
    notes: list[str] = []
    environ = {"COMMENTSVC_MAIL_LINK_DAYS": "3", "COMMENTSVC_SPAM_HONEYPOT_FILE": "/none"}
    assert loader.load(file, environ, note=notes.append).server.workers == 2
    assert notes == [
        f"{file}:2: server.head_timeout is no setting any more: remove the line.",
        f"{file}:5: feed.entries is no setting any more: remove the line.",
        "COMMENTSVC_MAIL_LINK_DAYS is no setting any more: unset it.",
        "COMMENTSVC_SPAM_HONEYPOT_FILE is no setting any more: unset it.",
    ]
    for name in schema.REMOVED:
        section, _, key = name.partition(".")
        assert key not in getattr(schema.SECTIONS.get(section), "__struct_fields__", ())
    with pytest.raises(SettingsError, match=r":2: feed\.entry is no setting"):
        load_text(tmp_path, "[feed]\nentry = 9\n")


def test_every_setting_that_a_page_or_a_proxys_file_names_exists() -> None:
    """A name in backticks is a setting, unless it is a file; so is a limit in a comment."""
    known = {
        f"{name}.{field.name}"
        for name, section in schema.SECTIONS.items()
        for field in msgspec.structs.fields(section)
    }
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("config/*.md"), SHIPPED]
    named = {
        found
        for page in pages
        for found in re.findall(r"`([a-z]+\.[a-z_]+)`", page.read_text())
        if found.partition(".")[0] in schema.SECTIONS
        if found.partition(".")[2]
        not in {"html", "njk", "xml", "db", "json", "ndjson", "py", "yaml"}
    }
    assert named - known == set()
    assert len(named) > 20
    limits = {
        found
        for file in ROOT.glob("config/proxy/*")
        for line in re.findall(r"(?m)^\s*# .*the service.*$", file.read_text())
        for found in re.findall(r"\b[a-z_]+_(?:timeout|deadline|alive|kib)\b", line)
    }
    assert len(limits) >= 3
    assert limits <= {name.partition(".")[2] for name in known}


def test_the_shipped_file_names_every_word_that_a_setting_may_be() -> None:
    texts = re.findall(r"(?m)^((?:# .*\n)+)#?([a-z_]+) = ", SHIPPED.read_text())
    for section in schema.SECTIONS.values():
        for name, hint in get_type_hints(section).items():
            for word in get_args(hint) if get_origin(hint) is Literal else ():
                said = [text for text, key in texts if key == name]
                assert any(f'"{word}"' in text for text in said) or not word, (name, word)


def test_every_default_is_allowed_when_it_is_written_in_a_variable() -> None:
    environ = {}
    for name, section in schema.SECTIONS.items():
        for field in msgspec.structs.fields(section):
            value = getattr(section(), field.name)
            text = ",".join(value) if isinstance(value, tuple) else str(value)
            environ[f"COMMENTSVC_{name}_{field.name}".upper()] = text
    assert loader.load(None, environ) == Settings()


def test_origins_are_written_as_browsers_do() -> None:
    given = "HTTPS://Blog.Example/,https://blog.example:443,http://b:8080,http://[::1]:80"
    (site,) = loader.load(None, {"COMMENTSVC_SITE_ORIGINS": given}).sites
    assert site.origins == ("https://blog.example", "http://b:8080", "http://[::1]")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SERVER_LISTEN", "8080"),
        ("SERVER_LISTEN", "localhost:65536"),
        ("SERVER_LISTEN", "::1:80"),
        ("SERVER_LISTEN", "unix:"),
        ("SERVER_LISTEN", "localhost:80\n"),
        ("SERVER_WORKERS", "0"),
        ("SERVER_WORKERS", "65"),
        ("SERVER_WORKERS", "1.5"),
        ("SERVER_TRUSTED_PROXIES", "10.0.0.1/8"),
        ("SERVER_TRUSTED_PROXIES", "proxy"),
        ("SERVER_CACHE_CONTROL", "public\r\nX: y"),
        ("DATABASE_SYNCHRONOUS", "off"),
        ("SITE_NAME", "My blog"),
        ("SITE_NAME", ""),
        ("SITE_ORIGINS", "blog.example"),
        ("SITE_ORIGINS", "https://blog.example/posts"),
        ("SITE_ORIGINS", "https://blog.example:99999"),
        ("SITE_ORIGINS", "*"),
        ("SITE_TITLE", "a\nb"),
        ("SITE_TRAILING_SLASH", "yes"),
        ("MODERATION_POLICY", "some"),
        ("SPAM_RATE_LIMIT", "10"),
        ("SPAM_RATE_LIMIT", "0/minute"),
        ("SPAM_MAX_LINKS", "-1"),
        ("STACOSYS_REDIRECT", "//evil.example"),
        ("STACOSYS_REDIRECT", "/\\evil.example"),
        ("STACOSYS_REDIRECT", "javascript:alert(1)"),
        ("STACOSYS_REDIRECT", "/a b"),
        ("AUTH_SECRET_KEY", "too short"),
        ("SERVER_PUBLIC_URL", "comments.example"),
        ("SERVER_PUBLIC_URL", "https://comments.example:99999"),
        ("MAIL_HOST", "smtp.example.org:587"),
        ("MAIL_SECURITY", "ssl"),
        ("MAIL_SENDER", "me"),
        ("MAIL_SENDER", "a@b\r\nBcc: c@d"),
        ("MAIL_SENDER", "Me <me@blog.example>"),
        ("MAIL_MODERATORS", "a@b.example,c"),
        ("MAIL_DIGEST", "weekly"),
        ("MODERATION_SESSION_DAYS", "0"),
        ("MAIL_REPLY_NOTIFICATIONS", "perhaps"),
        ("HOOKS_WEBHOOKS", "hooks.example"),
        ("HOOKS_WEBHOOKS", "file:///etc/passwd"),
        ("HOOKS_NTFY", "ntfy.sh/x"),
        ("HOOKS_SLACK", "slack"),
        ("HOOKS_ALLOWED_NETWORKS", "10.0.0.1/8"),
        ("MENTIONS_ALLOWED_NETWORKS", "10.0.0.1/8"),
        ("MENTIONS_ALLOWED_NETWORKS", "127.0.0.0/8"),
        ("MENTIONS_ALLOWED_NETWORKS", "10.0.0.0/8, ::1/128"),
        ("MENTIONS_ALLOWED_NETWORKS", "0.0.0.0/0"),
        ("MENTIONS_ALLOWED_NETWORKS", "64:ff9b::/96"),
    ],
)
def test_a_value_out_of_bounds_is_refused(variable: str, value: str) -> None:
    (problem,) = problems({f"COMMENTSVC_{variable}": value})
    assert problem.startswith(f"COMMENTSVC_{variable} is ")
    assert "; allowed is " in problem


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SERVER_LISTEN", "unix:/run/commentsvc.sock"),
        ("SERVER_LISTEN", "[::1]:0"),
        ("SERVER_LISTEN", "0.0.0.0:65535"),
        ("SERVER_TRUSTED_PROXIES", ""),
        ("MODERATION_POLICY", "none"),
        ("SPAM_RATE_LIMIT", "off"),
        ("SPAM_RATE_LIMIT", "100/hour"),
        ("STACOSYS_REDIRECT", "https://blog.example/thanks/"),
        ("AUTH_SECRET_KEY", f"{'n' * 32} {'o' * 32}"),
        ("SERVER_PUBLIC_URL", "https://blog.example/comments"),
        ("MAIL_MODERATORS", "a@b.example, c@d.example"),
        ("MAIL_REPLY_NOTIFICATIONS", "false"),
    ],
)
def test_a_value_in_bounds_is_taken(variable: str, value: str) -> None:
    assert loader.load(None, {f"COMMENTSVC_{variable}": value}) != Settings()


ALL = [
    (name, field.name)
    for name, section in schema.SECTIONS.items()
    for field in msgspec.structs.fields(section)
]
WRONG = ["{}", "1.5", "[[1]]", "-1", "True", "a b c", ""]


@pytest.mark.locked_only("it is about our own errors")
@pytest.mark.parametrize(("section", "key"), ALL)
def test_a_line_that_an_error_tells_to_write_is_right(
    tmp_path: Path, section: str, key: str
) -> None:
    """Of every setting, whatever stands there; and the error names the line."""
    file = tmp_path / "commentsvc.toml"
    header = "[[site]]" if section == "site" else f"[{section}]"
    for value in WRONG:
        file.write_text(f"# Mine.\n{header}\n{key} = {value}\n")
        found = found_in(file)
        assert len(found) <= 1
        if not found:  # also such texts are allowed here
            continue
        assert found[0].startswith(f"{file}:3: {section}.{key} ")
        before, _, line = found[0].partition(". Write ")
        assert "; allowed is " in before
        if line and "…" not in line:
            file.write_text(f"# Mine.\n{header}\n{line.removeprefix('for example ')}\n")
            assert found_in(file) == []


def found_in(file: Path) -> list[str]:
    """Return the problems that name a line of the file, as no contradiction of two settings."""
    try:
        with patch.object(loader, "_contradictory", return_value=()):
            loader.load(file, {})
    except SettingsError as error:
        return [problem for problem in error.problems if problem.startswith(f"{file}:")]
    return []


def test_a_name_and_an_origin_belong_to_one_site(tmp_path: Path) -> None:
    site = '[[site]]\nname = "a"\norigins = ["https://a.example"]\n'
    with pytest.raises(SettingsError) as caught:
        load_text(tmp_path, site * 2)
    file = tmp_path / "commentsvc.toml"
    assert [problem.replace(str(file), "FILE") for problem in caught.value.problems] == [
        'FILE:5: The name "a" is in more than one [[site]]. Keep it in one of them.',
        'FILE:6: The origin "https://a.example" is in more than one [[site]]. Keep it in one of'
        " them.",
    ]


def test_several_sites_are_read_in_order(tmp_path: Path) -> None:
    settings = load_text(tmp_path, '[[site]]\nname = "b"\n[[site]]\nname = "a"\n')
    assert [site.name for site in settings.sites] == ["b", "a"]


def test_a_secret_does_not_stand_in_the_settings_text() -> None:
    names = ("AUTH_SECRET_KEY", "MAIL_PASSWORD", "HOOKS_SECRET", "HOOKS_NTFY_TOKEN")
    settings = loader.load(None, {f"COMMENTSVC_{name}": "s" * 32 for name in names})
    assert settings.auth.secret_key == settings.mail.password == "s" * 32
    assert "sss" not in repr(settings)


def test_mail_needs_a_sender_and_an_address_for_its_links() -> None:
    found = problems({"COMMENTSVC_MAIL_HOST": "smtp.example.org"})
    assert [problem.partition(":")[0] for problem in found] == [
        "mail.host is set, but server.public_url is not",
        "mail.host is set, but mail.sender is not",
    ]


def test_a_contradiction_names_the_line_of_the_setting_that_is_given(tmp_path: Path) -> None:
    for text, line, begin in (
        ('[mail]\nhost = "a.example"\nsender = "a@b.example"', 2, "mail.host is set, but"),
        ('[hooks]\n\ntelegram_chat = "-1005"', 3, "hooks.telegram_token and"),
        ("[[site]]\n[[site]]\nname = 'b'\nsend_webmentions = true", 4, "site.send_webm"),
    ):
        with pytest.raises(SettingsError) as caught:
            load_text(tmp_path, text)
        [problem] = caught.value.problems
        assert f":{line}: {begin}" in problem
        assert problem.startswith(str(tmp_path))


def test_hooks_need_their_secrets() -> None:
    environ = {"COMMENTSVC_HOOKS_WEBHOOKS": "https://h.example/", "COMMENTSVC_HOOKS_SECRET": ""}
    found = problems(environ | {"COMMENTSVC_HOOKS_TELEGRAM_TOKEN": "1:a"})
    assert found[0].startswith("hooks.webhooks is set, but hooks.secret is not")
    assert found[1].startswith("hooks.telegram_token and hooks.telegram_chat belong together")


def test_buttons_decide_in_no_chat_that_anybody_can_join() -> None:
    environ = {
        "COMMENTSVC_HOOKS_TELEGRAM_TOKEN": "1:a",
        "COMMENTSVC_HOOKS_TELEGRAM_CHAT": "@mods",
        "COMMENTSVC_HOOKS_TELEGRAM_DECIDES": "true",
    }
    [problem] = problems(environ)
    assert "anybody can join a chat with a name" in problem
    loader.load(None, environ | {"COMMENTSVC_HOOKS_TELEGRAM_CHAT": "-100500"})


def test_a_judge_needs_a_model_and_is_the_only_one() -> None:
    environ = {"COMMENTSVC_JUDGE_URL": "https://l.example/v1", "COMMENTSVC_HOOKS_SECRET": "s" * 32}
    both, no_model = problems(environ | {"COMMENTSVC_SPAM_CLASSIFIER_URL": "https://c.example/"})
    assert both.startswith("judge.url and spam.classifier_url are both set")
    assert no_model.startswith("judge.url is set, but judge.model is not")


def test_webmentions_that_are_sent_need_a_page_of_ours() -> None:
    (problem,) = problems({"COMMENTSVC_SITE_SEND_WEBMENTIONS": "true"})
    assert problem.startswith("site.send_webmentions is set, but server.public_url is not")


def test_a_promise_of_tls_needs_to_know_who_came_by_tls() -> None:
    environ = {"COMMENTSVC_SERVER_HSTS": "max-age=63072000; includeSubDomains"}
    (problem,) = problems(environ)
    assert problem.startswith("server.hsts is set, but server.proxy_protocol is not")
    environ["COMMENTSVC_SERVER_PROXY_PROTOCOL"] = "true"
    assert loader.load(None, environ).server.hsts == environ["COMMENTSVC_SERVER_HSTS"]


def test_commands_find_the_database_whatever_the_other_settings_are(tmp_path: Path) -> None:
    file = tmp_path / "commentsvc.toml"
    assert loader.database_url(None, {}) == ""
    file.write_text('[server]\nworkers = "many"\n[database]\nurl = "postgresql://me@db/c"\n')
    assert loader.database_url(file, {}) == "postgresql://me@db/c"
    assert loader.database_url(file, {"COMMENTSVC_DATABASE_URL": ""}) == ""
    for text, reason in (
        ("[postgresql:", "a section begins with"),
        ("[databse]\nurl = 'postgresql://me@db/c'", "Did you mean"),
        ("[database]\nurl = 7", "url"),
    ):
        file.write_text(text)
        with pytest.raises(SettingsError, match=reason):
            loader.database_url(file, {})
    file.write_text("[server")
    assert loader.database_url(file, {}) == ""


def test_a_password_is_not_sent_in_the_clear() -> None:
    given = {"USER": "me", "SECURITY": "none", "HOST": "127.0.0.1", "SENDER": "a@b.example"}
    environ = {f"COMMENTSVC_MAIL_{name}": value for name, value in given.items()}
    environ["COMMENTSVC_SERVER_PUBLIC_URL"] = "https://c.example"
    assert loader.load(None, environ).mail.user == "me"
    (problem,) = problems(environ | {"COMMENTSVC_MAIL_HOST": "smtp.example.org"})
    assert "could read the password" in problem


def test_settings_do_not_change() -> None:
    with pytest.raises(AttributeError):
        Settings().server.workers = 2  # type: ignore[misc] # that it is refused is the test


def test_locations_come_from_the_environment_and_are_no_settings() -> None:
    environ = {"COMMENTSVC_DATA": "/var/lib/commentsvc", "COMMENTSVC_CONFIG": ""}
    assert loader.location_in("COMMENTSVC_DATA", environ) == Path("/var/lib/commentsvc")
    assert loader.location_in("COMMENTSVC_CONFIG", environ) is None
    assert loader.load(None, environ) == Settings()


def test_all_problems_are_raised_together() -> None:
    found = problems({"COMMENTSVC_SERVER_WORKER": "2", "COMMENTSVC_SPAM_MAX_LINKS": "x"})
    assert found[0] == (
        "COMMENTSVC_SERVER_WORKER is no setting. Did you mean COMMENTSVC_SERVER_WORKERS?"
    )
    assert found[1].startswith('COMMENTSVC_SPAM_MAX_LINKS is "x"; allowed is a whole number from 0')


def test_options_of_the_command_line_win() -> None:
    environ = {"COMMENTSVC_SERVER_WORKERS": "2"}
    options = {"server.workers": "3", "server.listen": None}
    assert loader.load(None, environ, options).server.workers == 3


def test_a_wrong_option_is_named_as_it_was_written() -> None:
    with pytest.raises(SettingsError, match=r"^--workers is \"x\"; allowed is a whole"):
        loader.load(None, {}, {"server.workers": "x"})


@pytest.mark.parametrize("service", ["", "_MAIL", "_INBOX", "_SERVER", "_DATABASE", "_X_Y"])
@pytest.mark.parametrize("address", ["10.0.0.1", "[fd00::1]"])
def test_no_name_of_a_service_in_kubernetes_stops_the_start(service: str, address: str) -> None:
    name = f"COMMENTSVC{service}"
    links = {
        f"{name}_SERVICE_HOST": address,
        f"{name}_SERVICE_PORT": "25",
        f"{name}_SERVICE_PORT_SMTP": "25",
        f"{name}_PORT": f"tcp://{address}:25",
        f"{name}_PORT_25_TCP": f"tcp://{address}:25",
        f"{name}_PORT_25_TCP_PROTO": "tcp",
        f"{name}_PORT_25_TCP_PORT": "25",
        f"{name}_PORT_25_TCP_ADDR": address,
    }
    assert loader.load(None, links) == Settings()
    assert not [*loader.given(None, links)]
    assert (
        loader.load(
            None,
            links
            | {"COMMENTSVC_MAIL_HOST": "m.example"}
            | {"COMMENTSVC_MAIL_PORT": "465"}
            | MAILED,
        ).mail.port
        == 465
    )


MAILED = {
    "COMMENTSVC_MAIL_SENDER": "a@b.example",
    "COMMENTSVC_SERVER_PUBLIC_URL": "https://c.example",
}


def test_passwords_that_every_user_can_read_are_named(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    settings, password = tmp_path / "commentsvc.toml", tmp_path / "password"
    settings.write_text('[mail]\npassword = "x"\n')
    password.write_text("y")
    environ = {"COMMENTSVC_INBOX_PASSWORD_FILE": str(password)}
    for path in (settings, password):
        path.chmod(0o640)
    assert [*loader.exposed(settings, environ)] == []
    for path in (settings, password):
        path.chmod(0o644)
    assert [*loader.exposed(settings, environ)] == [
        f"{path} has a password, and every user of this machine can read it. Run: chmod o= {path}"
        for path in (password, settings)
    ]
    settings.write_text("[server]\nworkers = 2\n")
    assert [*loader.exposed(settings, {"COMMENTSVC_SERVER_WORKERS_FILE": str(password)})] == []
    settings.write_text('[mail]\npassword = "x"\n')
    tmp_path.chmod(0o700)
    assert [*loader.exposed(settings, environ)] == []


def test_one_way_to_sign_in_needs_no_brackets(tmp_path: Path) -> None:
    for given in ('"required"', '["required"]'):
        [site] = load_text(tmp_path, f"[[site]]\nsign_in = {given}\n").sites
        assert site.members_only
