"""Reactions: what readers can react with, what is refused, and that no count is stale."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from commentsvc.comments import queries
from commentsvc.feedback import reactions
from commentsvc.http.messages import Response
from commentsvc.settings.schema import Site, SpamSettings
from tests.unit.app_fixture import FORM, SETTINGS, Served, data, faults, served

SITES = (
    replace(SETTINGS.sites[0], reactions=("👍", "❤️")),
    Site(name="notes", origins=("https://notes.example",)),
)
READER = "a-random-word"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, replace(SETTINGS, sites=SITES)) as running:
        yield running


def react(service: Served, **changes: object) -> Response:
    fields = {"url": "/p/", "emoji": "👍", "given": True, "reader": READER}
    return service.post("/api/reactions", fields | changes)


def react_by_form(service: Served, emoji: str, url: str = "/p/", query: str = "") -> Response:
    body = f"url={quote(url)}&emoji={quote(emoji)}".encode()
    return service.ask("POST", f"/embed/reactions{query}", body, content_type=FORM)


def counts(service: Served, url: str = "/p/") -> object:
    answer = data(service.get(f"/api/comments/counts?reactions=yes&url={url}"))
    return answer["reactions"][url]


def test_a_reaction_counts_until_it_is_taken_back(service: Served) -> None:
    assert counts(service) == {"👍": 0, "❤️": 0}
    for given, number in ((True, 1), (True, 1), (False, 0), (False, 0), (True, 1)):
        answer = react(service, given=given)
        assert data(answer) == {"reactions": {"👍": number, "❤️": 0}}
        assert list(data(answer)["reactions"]) == ["👍", "❤️"]
        assert counts(service) == data(answer)["reactions"]
    assert dict(answer.headers)["Cache-Control"] == "no-store"


def test_counts_are_stored_under_the_page_that_a_reaction_purges(service: Served) -> None:
    answer = service.get("/api/comments/counts?reactions=yes&url=/p/")
    assert answer.tags == ("thread:blog:/p/",)
    react(service)
    assert "thread:blog:/p/" in service.purged


def test_only_the_emoji_of_the_site_can_be_given(service: Served) -> None:
    for emoji in ("🎉", "", "x" * 2_000, "<b>"):
        assert faults(react(service, emoji=emoji)) == ["emoji"]
    answer = data(react(service, emoji="🎉"))
    assert answer["error"]["fields"] == {"emoji": "This must be one of 👍, ❤️."}
    assert react(service, url="https://notes.example/").status == 404
    assert service.database.read_now(queries.thread, "blog", "/p/").id == 0


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"reader": "short"}, ["reader"]),
        ({"given": 1}, ["given"]),
        ({"url": "https://elsewhere.example/"}, ["url"]),
        ({"url": None, "emoji": 7}, ["url", "emoji"]),
        ({"more": 1}, ["more"]),
    ],
)
def test_what_is_malformed_is_named(
    service: Served, changes: dict[str, object], named: list[str]
) -> None:
    assert sorted(faults(react(service, **changes))) == sorted(named)


def test_a_thousand_reactions_of_one_network_are_bounded(tmp_path: Path) -> None:
    settings = replace(SETTINGS, sites=SITES, spam=SpamSettings(vote_limit="100/hour"))
    with served(tmp_path, settings) as service:
        answers = [react(service, reader=f"{READER}-{number}") for number in range(1_000)]
        assert [answers[number].status for number in (0, 19, 20, 99, 100, 999)] == [
            *(200, 200, 409, 409, 429, 429)
        ]
        assert "many times" in data(answers[20])["error"]["message"]
        assert int(dict(answers[999].headers)["Retry-After"]) > 0
        assert counts(service) == {"👍": 20, "❤️": 0}


def test_a_foreign_page_cannot_react(service: Served) -> None:
    body = b'{"url": "/p/", "emoji": "\\ud83d\\udc4d", "given": true, "reader": "a-random-word"}'
    headers = {"content_type": "application/json", "origin": "https://elsewhere.example"}
    assert service.ask("POST", "/api/reactions", body, **headers).status == 403
    form = b"url=/p/&emoji=x"
    headers["content_type"] = FORM
    assert service.ask("POST", "/embed/reactions", form, **headers).status == 403


def test_a_reader_without_a_script_reacts_by_a_form(service: Served) -> None:
    page = service.get("/embed/thread?url=/p/&view=page&lang=de").body.decode()
    assert 'action="reactions?lang=de" aria-label="Reaktionen"' in page
    assert 'value="👍" title="Daumen hoch"' in page
    assert "reactions" not in service.get("/embed/thread?url=/p/").body.decode()
    for _ in range(2):  # a network counts once
        answer = react_by_form(service, "👍", query="?lang=de")
        assert answer.status == 303
        location = dict(answer.headers)["Location"]
        assert location == "thread?url=%2Fp%2F&view=page&site=blog&lang=de"
    page = service.get(f"/embed/{location}").body.decode()
    assert "👍</span> <span>1</span></button>" in page
    assert counts(service) == {"👍": 1, "❤️": 0}


def test_a_form_that_is_refused_says_why(service: Served) -> None:
    for emoji, url, status in (("🎉", "/p/", 400), ("👍", "/%00", 400), ("👍", "", 400)):
        answer = react_by_form(service, emoji, url)
        page = answer.body.decode()
        assert (answer.status, "<form" in page) == (status, False)
        assert 'role="alert"' in page
    assert react_by_form(service, "👍", "/", "?site=notes").status == 404


def test_a_removed_emoji_is_shown_no_more(tmp_path: Path) -> None:
    with served(tmp_path, replace(SETTINGS, sites=SITES)) as service:
        react(service)
        react(service, emoji="❤️")
    fewer = replace(SITES[0], reactions=("❤️",))
    with served(tmp_path, replace(SETTINGS, sites=(fewer,))) as service:
        assert counts(service) == {"❤️": 1}
        thread = service.database.read_now(lambda snapshot: reactions.counts(snapshot, 1))
        assert thread == {"👍": 1, "❤️": 1}
