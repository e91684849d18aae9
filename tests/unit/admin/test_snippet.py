"""The page with the lines for a blog: what a page of the blog lacks is said."""

import html
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from commentsvc.admin import snippet
from commentsvc.admin.snippet import missing
from commentsvc.auth import accounts
from commentsvc.moderation import profiles
from commentsvc.settings.schema import ServerSettings, Site
from commentsvc.util.http_client import Fetched, RemoteError, SettingsClient
from tests.unit.admin_client import HASH, Seat, seated, text
from tests.unit.app_fixture import SETTINGS, Served, served
from tests.unit.processor_time import assert_quick

BASE = "https://comments.example"
PAGE = "https://blog.example/wet-wood/"
LINES = f"""<script type="module" src="{BASE}/static/comments.js"></script>
<comment-thread></comment-thread>"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    settings = replace(SETTINGS, server=ServerSettings(public_url=BASE))
    with served(tmp_path, settings) as service:
        yield service


@pytest.fixture
def seat(service: Served) -> Seat:
    return seated(service)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Fetched | RemoteError]:
    """Return the answers of other servers, by address."""
    answers: dict[str, Fetched | RemoteError] = {}

    async def fetch(
        self: SettingsClient, url: str, most: int, headers: Mapping[str, str]
    ) -> Fetched:
        assert most == snippet.PAGE_SIZE
        answer = answers[url]
        if isinstance(answer, RemoteError):
            raise answer
        return answer

    monkeypatch.setattr(SettingsClient, "fetch", fetch)
    return answers


def said(seat: Seat, page: str = PAGE) -> str:
    answer = seat.send("snippet", page=page)
    assert answer.status == 200
    return html.unescape(text(answer))


def test_the_lines_name_the_address_of_the_service(seat: Seat) -> None:
    page = html.unescape(text(seat.get("snippet")))
    assert LINES in page
    assert 'href="snippet"' in text(seat.get("settings"))


@pytest.mark.parametrize(
    ("found", "faults"),
    [
        (LINES, []),
        (LINES.replace('"', "'").replace("script", "SCRIPT"), []),
        (LINES.replace('"', "").replace("comments.js", "comments.js?v=2"), []),
        ("<p>Hello</p>", ["first", "second"]),
        (f"<!-- {LINES} --><p>Hello</p>", ["first", "second"]),
        (f"<!-- {LINES}", ["first", "second"]),
        (LINES.partition("\n")[0], ["second"]),
        (LINES.partition("\n")[2], ["first"]),
        (LINES.replace(BASE, "https://other.example"), ["https://other.example/static"]),
        (LINES.replace(BASE, "//[x"), ["//[x/static"]),
        (LINES.replace(f"{BASE}/static", "/static"), [f"{PAGE[:-10]}/static".replace("//s", "/s")]),
        (LINES.replace("src=", "data-src ="), ["first"]),
    ],
)
def test_what_a_page_lacks_is_said(found: str, faults: list[str]) -> None:
    lacks = list(map(str, missing(found, PAGE, BASE)))
    assert len(lacks) == len(faults), lacks
    assert all(word in each for word, each in zip(faults, lacks, strict=True)), lacks


def test_a_page_of_the_blog_is_checked(seat: Seat, asked: dict[str, Fetched | RemoteError]) -> None:
    asked[PAGE] = Fetched(200, "text/html", LINES.encode(), url=PAGE)
    assert "This page has both lines." in said(seat)
    asked[PAGE] = Fetched(200, "text/html", b"\xff<p>", url=PAGE)
    assert "The second line is missing." in said(seat)
    asked[PAGE] = Fetched(404, "text/html", LINES.encode(), url=PAGE)
    assert "The page is not there: its server answers with 404." in said(seat)
    asked[PAGE] = RemoteError("its address is not public")
    assert "The page cannot be read: its address is not public." in said(seat)


@pytest.mark.parametrize(
    "page",
    [
        *("", "x", "javascript:alert(1)", "http://blog.example/", "https://blog.example:8443/"),
        *("https://blog.example.evil.example/", "https://blog.example@evil.example/"),
        *("http://127.0.0.1/", "http://169.254.169.254/latest/", "file:///etc/passwd"),
        "https://evil.example/#https://blog.example/",
        "https://evil.example\\@blog.example/",
    ],
)
def test_no_other_server_is_asked(
    seat: Seat, asked: dict[str, Fetched | RemoteError], page: str
) -> None:
    assert "Its address begins with one of these: https://blog.example." in said(seat, page)


def test_a_page_in_the_own_network_is_not_reached(tmp_path: Path) -> None:
    site = Site(name="blog", origins=("http://127.0.0.1:9",))
    with served(tmp_path, replace(SETTINGS, sites=(site,))) as service:
        page = said(seated(service), "http://127.0.0.1:9/x")
        assert "The page cannot be read:" in page
        assert "hooks.allowed_networks" in page


def test_only_owners_check_pages(service: Served, seat: Seat) -> None:
    service.database.write_now(accounts.add, "kim", HASH, 1)
    service.database.write_now(profiles.assign, "kim", "moderator", [])
    kim = Seat(service, "192.0.2.7")
    assert kim.sign_in("kim").status == 303
    assert "Check the page" not in text(kim.get("snippet"))
    assert kim.send("snippet", page=PAGE).status == 403
    assert seat.post("snippet", {"page": PAGE, "csrf_token": "forged"}).status == 403


@pytest.mark.parametrize(
    "hostile",
    ["<script", "<!--", "<script src=", "<script src = '", "<comment-thread>", "src=" * 500],
)
def test_a_hostile_page_is_read_quickly(hostile: str) -> None:
    page = hostile * (snippet.PAGE_SIZE // len(hostile))
    assert assert_quick(lambda: [*missing(page, PAGE, BASE)], 2_000)
