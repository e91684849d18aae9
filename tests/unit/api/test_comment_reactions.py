"""Reactions to comments in place of votes: by scripts and by forms, and that no list is stale."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from commentsvc.http.messages import Response
from commentsvc.settings import loader
from commentsvc.settings.schema import CommentsSettings, Settings, Site, SpamSettings
from tests.unit.app_fixture import FORM, SETTINGS, Served, data, faults, served

EMOJI = ("👍", "❤️", "👎")
SITES = (
    replace(SETTINGS.sites[0], reactions=EMOJI),
    Site(name="notes", origins=("https://notes.example",)),
)
REACTING = replace(SETTINGS, sites=SITES, comments=CommentsSettings(votes="reactions"))
READER = "a-random-word"
TARGET = "/api/comments/1/reactions"
ELSEWHERE = "198.51.100.7"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    """Return a service with two comments."""
    with served(tmp_path, REACTING) as running:
        running.submit("One")
        running.submit("Two")
        yield running


def react(service: Served, emoji: object = "👍", number: int = 1, **changes: object) -> Response:
    fields = {"emoji": emoji, "reader": READER} | changes
    return service.post(f"/api/comments/{number}/reactions", fields)


def act(service: Served, fields: str, number: int = 1, **more: str) -> Response:
    body = f"comment={number}&{fields}".encode()
    return service.ask("POST", "/embed/actions", body, **{"content_type": FORM, **more})


def listed(service: Served, query: str = "") -> Any:
    return data(service.get(f"/api/comments?url=/p/{query}"))


def given(service: Served) -> list[object]:
    return [item.get("reactions") for item in listed(service)["data"]]


def test_a_reader_picks_changes_and_takes_back_one_emoji(service: Served) -> None:
    answer = listed(service)
    assert (answer["voting"], answer["emoji"]) == ("reactions", [*EMOJI])
    assert given(service) == [None, None]
    for emoji, counts in (("👍", (1, 0)), ("❤️", (0, 1)), ("❤️", (0, 1)), ("", (0, 0)), ("", (0, 0))):
        answer = react(service, emoji)
        numbers = dict(zip(EMOJI, (*counts, 0), strict=True))
        assert data(answer) == {"reactions": numbers, "emoji": emoji}
        assert list(data(answer)["reactions"]) == [*EMOJI]
        some = {emoji: number for emoji, number in numbers.items() if number}
        assert given(service) == [some or None, None]
    assert dict(answer.headers)["Cache-Control"] == "no-store"


def test_a_list_is_stored_under_the_page_that_a_reaction_purges(service: Served) -> None:
    assert service.get("/api/comments?url=/p/").tags == ("thread:blog:/p/",)
    service.purged.clear()
    react(service)
    assert "thread:blog:/p/" in service.purged


def test_the_order_by_votes_is_that_of_reactions(service: Served) -> None:
    react(service, "❤️", 2)
    assert [item["id"] for item in listed(service, "&sort=top")["data"]] == [2, 1]
    react(service, "👎", 2)
    assert [item["id"] for item in listed(service, "&sort=top")["data"]] == [1, 2]


def test_a_client_that_has_the_comments_gets_all_reactions(service: Served) -> None:
    react(service, "👍", 1, reader="another-word")
    react(service, "👎", 1)
    react(service, "❤️", 2)
    changes = listed(service, "&since=2100-01-01T00:00:00Z")
    assert changes["data"] == []
    assert changes["reactions"] == {"1": {"👍": 1, "👎": 1}, "2": {"❤️": 1}}
    assert changes["votes"] == {"1": 0, "2": 1}
    assert "reactions" not in listed(service)
    some = listed(service, "&since=2000-01-01T00:00:00Z&limit=1")
    assert {"votes", "reactions"} & some.keys() == set(), "the client has to ask for the list"


def test_only_the_emoji_of_the_site_can_be_given(service: Served) -> None:
    for emoji in ("🎉", "x" * 900, "<b>", "👍👍", None, 7):
        assert faults(react(service, emoji)) == ["emoji"]
    answer = data(react(service, "🎉"))
    assert answer["error"]["fields"] == {"emoji": "This must be one of 👍, ❤️, 👎."}
    assert faults(react(service, reader="short")) == ["reader"]
    assert faults(react(service, more=1)) == ["more"]
    assert react(service, reader="x" * 2_000).status == 400
    service.submit("Elsewhere", url="https://notes.example/p/")
    assert react(service, number=3).status == 404, "that site has no emoji"
    elsewhere = data(service.get("/api/comments?url=https://notes.example/p/"))
    assert {"voting", "emoji"} & elsewhere.keys() == set()


@pytest.mark.parametrize("votes", ["off", "up", "both"])
def test_another_setting_takes_no_reactions_and_keeps_what_is_there(
    tmp_path: Path, votes: Any
) -> None:
    with served(tmp_path, REACTING) as service:
        service.submit("One")
        react(service)
        assert service.post("/api/comments/1/votes", {"vote": 1, "voter": READER}).status == 404
    with served(tmp_path, replace(REACTING, comments=CommentsSettings(votes=votes))) as service:
        assert react(service, "❤️").status == 404
        assert act(service, f"emoji={quote('👍')}").status == 404
        assert act(service, "do=react").status == 404
        assert "emoji" not in listed(service)
        assert listed(service)["data"][0]["votes"] == 1


def test_an_emoji_that_is_no_longer_offered_is_not_shown(tmp_path: Path) -> None:
    with served(tmp_path, REACTING) as service:
        service.submit("One")
        react(service, "👍")
        react(service, "❤️", reader="another-word")
    fewer = replace(REACTING, sites=(replace(SITES[0], reactions=("❤️", "🎉")),))
    with served(tmp_path, fewer) as service:
        assert given(service) == [{"❤️": 1}]
        assert data(react(service, "🎉"))["reactions"] == {"❤️": 1, "🎉": 1}, "it takes its place"


def test_what_nobody_sees_gets_no_reaction(service: Served, tmp_path: Path) -> None:
    assert react(service, number=99).status == 404
    folder = tmp_path / "waiting"
    folder.mkdir()
    waiting = replace(REACTING, moderation=replace(SETTINGS.moderation, policy="all"))
    with served(folder, waiting) as other:
        other.submit("It waits")
        assert react(other).status == 404
        assert act(other, "do=react").status == 404
        assert act(other, f"emoji={quote('👍')}").status == 404


def test_a_foreign_page_cannot_react(service: Served) -> None:
    body = '{"emoji": "👍", "reader": "a-random-word"}'.encode()
    headers = {"content_type": "application/json", "origin": "https://elsewhere.example"}
    assert service.ask("POST", TARGET, body, **headers).status == 403
    answer = act(service, f"emoji={quote('👍')}", origin="https://elsewhere.example")
    assert answer.status == 403
    assert given(service) == [None, None]


def test_a_thousand_reactions_of_one_network_are_bounded(tmp_path: Path) -> None:
    spam = SpamSettings(rate_limit="off", vote_limit="100/hour")
    with served(tmp_path, replace(REACTING, spam=spam)) as service:
        service.submit("One")
        answers = [
            react(service, EMOJI[number % 3], reader=f"{READER}-{number}") for number in range(500)
        ]
        assert [answers[number].status for number in (0, 19, 20, 99, 100, 499)] == [
            *(200, 200, 409, 409, 429, 429)
        ]
        assert sum(given(service)[0].values()) == 20  # type: ignore[attr-defined]  # a dict


def test_a_reader_without_scripts_picks_an_emoji_on_a_page(service: Served) -> None:
    page = service.get("/embed/thread?url=/p/&view=page&lang=de").body.decode()
    assert 'name="do" value="up"' not in page
    assert 'value="react" aria-label="Reagieren: ' in page
    assert "commentsvc-emoji" not in page, "there is none yet"
    asked = act(service, "do=react")
    html = asked.body.decode()
    assert asked.status == 200
    assert html.count('aria-pressed="false"') == 3
    assert 'name="emoji" value="👍"' in html
    answer = act(service, f"emoji={quote('👍')}", peer=ELSEWHERE)
    assert (answer.status, given(service)[0]) == (303, {"👍": 1})
    assert dict(answer.headers)["Location"].endswith("#commentsvc-1")
    page = service.get("/embed/thread?url=/p/&view=page&lang=de").body.decode()
    assert 'name="emoji" value="👍" title="Daumen hoch"' in page
    assert "👍</span> 1</button>" in page
    act(service, f"do=react&emoji={quote('❤️')}", peer=ELSEWHERE)
    assert given(service)[0] == {"❤️": 1}, "it is changed"
    html = act(service, "do=react", peer=ELSEWHERE).body.decode()
    assert 'name="emoji" value="none" aria-pressed="true"' in html
    assert act(service, "emoji=none", peer=ELSEWHERE).status == 303
    assert given(service) == [None, None]
    own = act(service, f"emoji={quote('👍')}")
    assert own.status == 409, "nobody reacts to an own comment"


def test_who_may_not_react_is_told_of_reactions_and_not_of_votes(tmp_path: Path) -> None:
    spam = SpamSettings(rate_limit="off", vote_limit="off")
    with served(tmp_path, replace(REACTING, spam=spam)) as service:
        service.submit("One")
        own = act(service, f"emoji={quote('👍')}")
        answers = [react(service, reader=f"{READER}-{number}") for number in range(21)]
    said = [own.body.decode(), data(answers[20])["error"]["message"]]
    assert [each.status for each in (own, answers[19], answers[20])] == [409, 200, 409]
    assert all("already reacted to this comment, or it was written there" in it for it in said)


@pytest.mark.parametrize("emoji", ["🎉", "x" * 3_000, "<script>"])
def test_a_form_with_another_emoji_says_why(service: Served, emoji: str) -> None:
    answer = act(service, f"emoji={quote(emoji)}", peer=ELSEWHERE)
    page = answer.body.decode()
    assert (answer.status, "<script>" in page) == (400, False)
    assert 'role="alert"' in page


def test_a_thread_in_a_fragment_has_no_forms_for_reactions(service: Served) -> None:
    fragment = service.get("/embed/thread?url=/p/").body.decode()
    assert 'name="emoji"' not in fragment
    assert 'value="react"' not in fragment


def test_settings_without_emoji_are_refused() -> None:
    none = Settings(comments=CommentsSettings(votes="reactions"))
    [line] = loader.contradictions(none)
    assert line.startswith('comments.votes is "reactions", but no site has reactions')
    assert not [*loader.contradictions(REACTING)]
