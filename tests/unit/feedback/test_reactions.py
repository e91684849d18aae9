"""Reactions: each reader can set each emoji once on a page, with a limit for each network."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from commentsvc.backup import integrity
from commentsvc.comments import queries
from commentsvc.comments.page_urls import PageRef
from commentsvc.db.database import Database
from commentsvc.db.query import Prepared
from commentsvc.errors import TooManyReactions, UnknownSite
from commentsvc.feedback import reactions
from commentsvc.feedback.reactions import Reaction
from commentsvc.feedback.votes import NETWORK_VOTES
from commentsvc.moderation import threads
from commentsvc.moderation.retention import REACTIONS
from tests.unit.database_fixture import HOUR, NOW, add, opened, plan

HERE = (b"now", b"before")
PAGE = PageRef("blog", "/post/")
OTHER = PageRef("blog", "/other/")


@pytest.fixture
def database(tmp_path: Path, purged: list[str]) -> Iterator[Database]:
    with opened(tmp_path, purged.extend) as database:
        purged.clear()
        yield database
        assert database.read_now(integrity.check) == []


def react(
    database: Database,
    word: str,
    emoji: str = "👍",
    given: bool = True,
    networks: Sequence[bytes] = HERE,
    page: PageRef = PAGE,
) -> dict[str, int]:
    reaction = Reaction(emoji, word, given)
    return database.write_now(reactions.react, page, reaction, networks, NOW)


def counts(database: Database, url: str = "/post/") -> dict[str, int]:
    found = database.read_now(queries.thread, "blog", url)
    numbers = database.read_now(reactions.counts, found.id)
    return {emoji: number for emoji, number in numbers.items() if number}


def test_a_reader_has_one_reaction_of_each_emoji(database: Database) -> None:
    given = [react(database, "ann", given=given)["👍"] for given in (True, True, False, False)]
    assert given == [1, 1, 0, 0]
    react(database, "ann")
    react(database, "ann", "🎉")
    assert react(database, "bob") == {"👍": 2, "🎉": 1}
    assert counts(database) == {"👍": 2, "🎉": 1}
    assert counts(database, "/other/") == {}


def test_a_reaction_purges_the_page_and_a_repeated_one_nothing(
    database: Database, purged: list[str]
) -> None:
    react(database, "ann")
    assert purged == ["thread:blog:/post/"]
    react(database, "ann")
    react(database, "bob", given=False)
    assert len(purged) == 1


def test_taking_back_what_was_never_given_makes_no_page(database: Database) -> None:
    assert react(database, "ann", given=False) == {}
    assert database.read_now(queries.thread, "blog", "/post/").id == 0
    with pytest.raises(UnknownSite):
        react(database, "ann", page=PageRef("nowhere", "/"))


def test_one_network_is_no_crowd(database: Database) -> None:
    for number in range(NETWORK_VOTES):
        react(database, f"reader {number}", networks=(HERE[number % 2], b""))
    with pytest.raises(TooManyReactions):
        react(database, "one more")
    assert react(database, "one more", "🎉")["🎉"] == 1
    assert react(database, "reader 3", given=False)["👍"] == NETWORK_VOTES - 1
    assert react(database, "elsewhere", networks=(b"other", b"older"))["👍"] == NETWORK_VOTES
    assert react(database, "unknown", networks=())["👍"] == NETWORK_VOTES + 1


def test_who_has_no_word_reacts_once_from_each_network(database: Database) -> None:
    for networks in (HERE, HERE, (b"later", b"now"), (b"other", b"older")):
        database.write_now(reactions.react_once, PAGE, "👍", networks, NOW)
    assert counts(database) == {"👍": 2}


def test_a_network_takes_back_only_what_it_gave_without_a_word(database: Database) -> None:
    react(database, "ann")
    react(database, "bob", networks=(b"before", b"older"))
    for networks in (HERE, (b"other", b"older")):
        database.write_now(reactions.withdraw_once, PAGE, "👍", networks, NOW)
    assert counts(database) == {"👍": 2}
    database.write_now(reactions.react_once, PAGE, "👍", (b"elsewhere", b"x"), NOW)
    for _ in range(2):
        database.write_now(reactions.withdraw_once, PAGE, "👍", (b"new", b"elsewhere"), NOW)
    assert counts(database) == {"👍": 2}
    assert react(database, "ann", given=False) == {"👍": 1}


def test_networks_are_forgotten_and_reactions_stay(database: Database) -> None:
    for number in range(3):
        react(database, f"reader {number}")
    assert not database.read_now(REACTIONS.is_due, NOW)
    assert database.read_now(REACTIONS.is_due, NOW + HOUR)
    for _ in range(2):
        database.write_now(REACTIONS.drop, NOW + HOUR, 2)
    assert not database.read_now(REACTIONS.is_due, NOW + HOUR)
    assert counts(database) == {"👍": 3}
    assert react(database, "reader 1", given=False)["👍"] == 2


def test_merged_pages_count_a_reader_once(database: Database) -> None:
    add(database)
    for word in ("ann", "bob"):
        react(database, word)
        react(database, word, "🎉", page=OTHER)
    react(database, "ann", page=OTHER)
    react(database, "cy", page=OTHER)
    thread = database.read_now(queries.thread, "blog", "/post/")
    database.write_now(lambda tx: reactions.add_counts(tx, thread.id, {"👍": 10}))
    database.write_now(threads.merge, "blog", "/other/", "/post/", "Mo", NOW)
    assert counts(database) == {"👍": 13, "🎉": 2}
    assert counts(database, "/other/") == {"👍": 13, "🎉": 2}  # an alias
    assert react(database, "cy", given=False, page=OTHER)["👍"] == 12


def test_reactions_to_an_address_that_becomes_an_alias_move_along(database: Database) -> None:
    add(database)
    for url in ("/new/", "/alias/"):
        react(database, f"reader of {url}", page=PageRef("blog", url))
    database.write_now(threads.move, "blog", "/post/", "/new/")
    database.write_now(threads.add_alias, "blog", "/new/", "/alias/")
    assert counts(database, "/new/") == counts(database, "/alias/") == {"👍": 2}


def test_a_moderator_removes_the_reactions_of_a_page(database: Database, purged: list[str]) -> None:
    react(database, "ann")
    react(database, "ann", page=OTHER)
    purged.clear()
    ref = database.read_now(threads.find, "blog", "/post/")
    database.write_now(reactions.remove, ref)
    assert (counts(database), purged) == ({}, ["thread:blog:/post/"])
    assert counts(database, "/other/") == {"👍": 1}
    assert react(database, "ann") == {"👍": 1}


@pytest.mark.sqlite_only("it looks at SQLite's plan")
@pytest.mark.parametrize(
    ("query", "values"),
    [
        (reactions.find_counts, (1,)),
        (reactions.find_reaction, (1, "👍", b"")),
        (reactions.count_of_network, (1, "👍", b"", b"")),
    ],
)
def test_each_query_uses_an_index(
    database: Database, query: Prepared, values: Sequence[object]
) -> None:
    steps = plan(database, query, *values)
    assert all(step.startswith("SEARCH") for step in steps), steps
