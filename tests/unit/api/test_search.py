"""Readers' search: what is found and linked, what stays private, and what it may cost."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from commentsvc.comments import search
from commentsvc.model import APPROVED, DELETED, SPAM
from commentsvc.moderation import threads
from commentsvc.settings.schema import Site
from tests.unit.app_fixture import SETTINGS, Served, data, faults, served
from tests.unit.database_fixture import add, decide

SITES = (SETTINGS.sites[0], Site(name="notes", origins=("https://notes.example",)))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, replace(SETTINGS, sites=SITES)) as running:
        yield running


def store(service: Served, source: str, status: str = "", **fields: object) -> int:
    """Store a comment, shown unless another status is given, and index it; return its id."""
    html = str(fields.pop("html", f"<p>{source}</p>\n"))
    given: dict[str, Any] = {"url": "/p/", "source": source, "html": html, **fields}
    stored = add(service.database, **given)
    number = stored.comment.id
    if status:
        decide(service.database, status, number)
    service.database.write_now(search.index_pending, 1_000)
    return number


def found(service: Served, words: str, more: str = "") -> list[int]:
    answer = service.get(f"/api/search?q={quote(words)}{more}")
    assert answer.status == 200, answer.body
    return [each["id"] for each in data(answer)["data"]]


def test_a_comment_is_found_by_whole_words_of_its_text_or_author(service: Served) -> None:
    first = store(service, "Green *tea*, straße", author="Zoë")
    second = store(service, "Coffee", url="/q/", author="Bob")
    store(service, "tea", url="/p/", site="notes")
    for words in ("tea", "TEA green", "zoe", "Zoe\u0308 tea", "“tea”", "tea*", "Straße", "tea tea"):
        assert found(service, words) == [first], words
    assert found(service, "te") == found(service, "tea coffee") == found(service, "green bob") == []
    assert found(service, "bob coffee", "&url=/q/") == [second]
    assert found(service, "coffee", "&url=/p/") == found(service, "coffee", "&url=/none/") == []
    [row] = data(service.get("/api/search?q=tea"))["data"]
    assert (row["author"], row["excerpt"], row["title"]) == ("Zoë", "Green *tea*, straße", "/p/")
    assert row["link"] == f"https://blog.example/p/#commentsvc-{first}"


@pytest.mark.parametrize(
    "words", ["", "*", '"', '""', "()", "^", "-", "\\", ":", "\0", "🙂", "' OR 1=1 --", "(.*a){99}"]
)
def test_no_query_is_an_error_and_none_without_words_finds_anything(
    service: Served, words: str
) -> None:
    store(service, "a near or and not email author")
    assert found(service, words) == []


@pytest.mark.parametrize("words", ["NEAR(a b", "a OR b", "a NOT b", "a AND b", "(a) + b", "a:b"])
def test_operators_of_the_index_are_words(service: Served, words: str) -> None:
    both = store(service, "a near and or not b")
    store(service, "a")
    assert found(service, words) == [both]


def test_what_only_moderators_see_finds_nothing(service: Served) -> None:
    """Neither addresses and hidden comments, nor what a page or a web site is called."""
    given = {"email": "rosa@home.example", "author_site": "https://oak.example/"}
    store(service, "shown", url="/elm/", **given)
    for status in ("pending", SPAM, DELETED):
        store(service, f"secret {status}", status, url="/elm/", author="Hidden")
    for words in ("rosa", "rosa home example", "email:rosa", "@home.example", "oak", "elm"):
        assert found(service, words) == [], words
    for words in ("secret", "hidden", "secret pending", "author:hidden"):
        answer = service.get(f"/api/search?q={quote(words)}")
        assert answer.body == b'{"data":[]}', words


def test_hidden_comments_with_the_words_change_no_answer(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does the position from which a search goes on tell the id of one of them."""
    monkeypatch.setattr(search, "SHOWN_EXAMINED", 3)
    shown = store(service, "word")
    for _ in range(3):
        store(service, "word", "pending")
    answer = data(service.get("/api/search?q=word"))
    assert answer["data"] == []
    assert answer["next"] % 1_024 == 0
    monkeypatch.setattr(search, "SHOWN_EXAMINED", 4)
    assert found(service, "word") == [shown]


def test_what_was_acknowledged_is_true_at_once(service: Served) -> None:
    number = store(service, "walnut")
    assert found(service, "walnut") == [number]
    decide(service.database, SPAM, number)
    assert found(service, "walnut") == []
    decide(service.database, APPROVED, number)
    assert found(service, "walnut") == [number]
    service.database.write_now(threads.move, "blog", "/p/", "/moved/")
    assert found(service, "walnut", "&url=/moved/") == found(service, "walnut", "&url=/p/")
    [row] = data(service.get("/api/search?q=walnut"))["data"]
    assert row["link"].startswith("https://blog.example/moved/#")


def test_a_search_goes_on_behind_the_last_result(service: Served) -> None:
    numbers = [store(service, f"word {each}") for each in range(23)]
    query, all_found = "q=word&url=/p/", list[int]()
    while query:
        answer = data(service.get(f"/api/search?{query}"))
        assert len(answer["data"]) <= 10
        all_found += [each["id"] for each in answer["data"]]
        query = f"q=word&url=/p/&before={answer['next']}" if "next" in answer else ""
    assert all_found == numbers[::-1]


def test_a_result_shows_the_passage_with_the_word(service: Served) -> None:
    html = f"<p>{'long ' * 300}<b>walnut</b> &lt;b&gt; {'end ' * 300}</p>"
    store(service, "long walnut", html=html)
    [row] = data(service.get("/api/search?q=WALNUT"))["data"]
    assert "walnut <b> end" in row["excerpt"]
    assert len(row["excerpt"]) <= 200
    assert row["excerpt"].startswith("…long")
    assert row["excerpt"].endswith("end…")


def test_no_answer_is_cached_and_unknown_parameters_are_refused(service: Served) -> None:
    answer = service.get("/api/search?q=tea")
    assert answer.tags == ()
    assert dict(answer.headers)["Cache-Control"] == "no-store"
    assert faults(service.get("/api/search?q=tea&x=1")) == ["x"]
    assert faults(service.get(f"/api/search?q={'a' * 101}")) == ["q"]
    assert service.get(f"/api/search?q={'a' * 1_000_000}").status == 400
    assert faults(service.get("/api/search?q=a&before=0")) == ["before"]
    assert service.get("/api/search?q=a&url=https://evil.example/").status == 400
    assert service.get("/api/search?q=a&site=none").status == 400


@pytest.mark.parametrize("path", ["/api/search", "/embed/search"])
def test_a_network_searches_thirty_times_a_minute(service: Served, path: str) -> None:
    for _ in range(30):
        assert service.get(f"{path}?q=a").status == 200
    assert service.get(f"{path}?q=a").status == 429
    assert service.get(f"{path}?q=").status == 200, "nothing was searched"


def test_no_query_has_phrases_or_more_than_eight_words() -> None:
    """A phrase of frequent words takes a hundred times as long as a list of words."""
    worst = " ".join(["w0 w1"] * 15)
    assert search.words_of(f'"{worst}"') == ["w0", "w1"]
    assert search.words_of("a-b_c.d") == ["a", "b", "c", "d"]
    assert len(search.words_of(" ".join(map(str, range(99))))) == 8
    assert search.words_of("a" * 10**6) == ["a" * 100]
    assert search.words_of("İstanbul e\u0301te") == ["İstanbul", "éte"]
