"""What `serve` prints: the addresses, and how the first account is made."""

from pathlib import Path

import pytest

from commentsvc.auth import accounts
from commentsvc.cli import greeting
from commentsvc.settings.schema import DatabaseSettings, ServerSettings, Settings, Site
from tests.unit.database_fixture import location, opened

BLOG = Site(name="blog", origins=("https://blog.example",))
PUBLIC = "https://comments.example"
INTRODUCTION = (
    "There is no account yet. This link makes the owner's; it works once, within an hour:"
)
SOCKET = "unix:/run/c.sock"


def said(data: Path, address: str, *, has_blog: bool = False, **server: object) -> list[str]:
    """Return the lines, with T for the token of the link."""
    url = str(location(data)) if "://" in str(location(data)) else ""
    settings = Settings(
        server=ServerSettings(**server),  # type: ignore[arg-type]  # as each test gives them
        database=DatabaseSettings(url=url),
        sites=(BLOG,),
    )
    lines = greeting.lines(settings, data, address, has_blog=has_blog)
    return [f"{start}{mark}T" if mark else start for start, mark, _ in map(_parts, lines)]


def _parts(line: str) -> tuple[str, str, str]:
    return line.partition("?t=")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder with a database without accounts."""
    with opened(tmp_path):
        return tmp_path


def test_with_an_account_the_addresses_are_all(data: Path) -> None:
    with opened(data) as database:
        database.write_now(accounts.add, "ann", "hash", 0)
    assert said(data, "http://127.0.0.1:8080", public_url=PUBLIC + "/") == [
        "Blog: https://blog.example",
        "Moderation: https://comments.example/moderation",
    ]


def test_the_link_is_printed_with_the_public_address_and_a_tunnel(data: Path) -> None:
    tunnel = "ssh -L 8080:127.0.0.1:8080 USER@SERVER"
    assert said(data, "http://127.0.0.1:8080", public_url=PUBLIC)[2:] == [
        INTRODUCTION,
        "  https://comments.example/moderation/owner?t=T",
        f"Before the proxy is ready, run `{tunnel}` on your own computer, and open there:",
        "  http://localhost:8080/moderation/owner?t=T",
    ]


@pytest.mark.parametrize(
    ("address", "end", "port"),
    [
        ("http://127.0.0.1:8081", "127.0.0.1:8081", "8081"),
        ("http://0.0.0.0:8080", "127.0.0.1:8080", "8080"),
        ("http://[::]:8080", "[::1]:8080", "8080"),
        ("http://[::1]:9", "[::1]:9", "9"),
    ],
)
@pytest.mark.parametrize("public", ["", "http://comments.example"])
def test_without_https_the_link_is_for_the_own_machine(
    data: Path, address: str, end: str, port: str, public: str
) -> None:
    tunnel = f"ssh -L {port}:{end} USER@SERVER"
    assert said(data, address, public_url=public)[-2:] == [
        f"  http://localhost:{port}/moderation/owner?t=T",
        f"If this machine has no browser, run `{tunnel}` on your own computer first.",
    ]


@pytest.mark.parametrize(
    ("address", "port", "end"),
    [(SOCKET, "8080", "/run/c.sock"), ("http://192.0.2.1:81", "81", "192.0.2.1:81")],
)
def test_where_no_browser_comes_directly_a_tunnel_or_the_proxy_does(
    data: Path, address: str, port: str, end: str
) -> None:
    lines = said(data, address)
    assert lines[:2] == ["Blog: https://blog.example", INTRODUCTION]
    assert lines[2:] == [
        f"  http://localhost:{port}/moderation/owner?t=T",
        f"It needs `ssh -L {port}:{end} USER@SERVER` on your own computer first, or the proxy's"
        " https:// address.",
    ]


def test_who_speaks_the_proxy_protocol_gets_no_browser_directly(data: Path) -> None:
    lines = said(data, SOCKET, public_url=PUBLIC, proxy_protocol=True)
    assert lines[-1] == "  https://comments.example/moderation/owner?t=T"


def test_the_blog_that_is_served_for_a_trial_is_named(data: Path) -> None:
    lines = said(data, "http://127.0.0.1:8080", has_blog=True)
    assert lines[:2] == [
        "Blog: http://localhost:8080/",
        "Moderation: http://localhost:8080/moderation",
    ]


@pytest.mark.sqlite_only("it is about a file")
def test_a_database_that_does_not_answer_hides_no_address(tmp_path: Path) -> None:
    (tmp_path / "comments.sqlite3").write_text("no database")
    assert said(tmp_path, "http://127.0.0.1:1", public_url=PUBLIC)[-1].startswith("Moderation:")
