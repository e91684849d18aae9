"""Voting: one vote for each reader, which can be changed or withdrawn; a limit for each network."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from commentsvc.backup import integrity
from commentsvc.comments import queries
from commentsvc.db.database import Database
from commentsvc.db.query import Prepared
from commentsvc.db.schema.comments import VoteTable
from commentsvc.errors import TooManyVotes, UnknownComment
from commentsvc.feedback import votes as voting
from commentsvc.feedback.votes import NETWORK_VOTES
from commentsvc.model import SPAM
from commentsvc.moderation.retention import VOTES
from tests.unit.database_fixture import HOUR, NOW, add, decide, opened, plan

HERE = (b"now", b"before")


@pytest.fixture
def database(tmp_path: Path, purged: list[str]) -> Iterator[Database]:
    """Return a database with one approved comment."""
    with opened(tmp_path, purged.extend) as database:
        add(database)
        purged.clear()
        yield database
        assert database.read_now(integrity.check) == []


def vote(
    database: Database, word: str, value: int, networks: Sequence[bytes] = HERE, comment: int = 1
) -> int:
    return database.write_now(voting.vote, comment, word, value, networks, NOW)


def votes(database: Database) -> int:
    found = database.read_now(queries.find, 1)
    assert found is not None
    return found.comment.votes


def test_the_last_vote_of_each_reader_counts(database: Database) -> None:
    assert [vote(database, "ann", value) for value in (1, 1, -1, 0, 0, 1)] == [1, 1, -1, 0, 0, 1]
    assert vote(database, "bob", 1) == 2
    assert vote(database, "ann", 0) == 1
    assert votes(database) == 1


def test_a_vote_purges_the_page_and_a_repeated_one_nothing(
    database: Database, purged: list[str]
) -> None:
    vote(database, "ann", 1)
    assert "thread:blog:/post/" in purged
    purged.clear()
    vote(database, "ann", 1)
    assert purged == []


def test_a_comment_that_is_not_shown_gets_no_votes(database: Database) -> None:
    decide(database, SPAM, 1)
    for comment in (1, 99):
        with pytest.raises(UnknownComment):
            vote(database, "ann", 1, comment=comment)
    assert votes(database) == 0


def test_a_network_without_votes_left_learns_nothing_of_a_hidden_comment(
    database: Database,
) -> None:
    database.write_now(voting.vote_once, 1, 1, HERE, NOW)
    assert database.read_now(voting.takes_votes, 1)
    decide(database, SPAM, 1)
    with pytest.raises(UnknownComment):
        database.write_now(voting.vote_once, 1, 1, HERE, NOW)
    assert not database.read_now(voting.takes_votes, 1)


def test_a_network_takes_back_only_the_vote_that_it_cast_without_a_word(database: Database) -> None:
    vote(database, "ann", 1)
    vote(database, "bob", -1, (b"before", b"older"))
    take_back = voting.withdraw_once
    database.write_now(take_back, 1, HERE)
    assert votes(database) == 0
    database.write_now(voting.vote_once, 1, 1, (b"elsewhere", b"x"), NOW)
    for networks, left in ((HERE, 1), ((b"other", b"y"), 1), ((b"new", b"elsewhere"), 0)):
        for _ in range(2):
            database.write_now(take_back, 1, networks)
            assert votes(database) == left
    assert vote(database, "ann", 0) == -1


def test_a_network_that_was_forgotten_meanwhile_has_one_vote(database: Database) -> None:
    database.write_now(voting.vote_once, 1, 1, HERE, NOW)
    database.write_now(VOTES.drop, NOW + HOUR, 9)
    database.write_now(voting.vote_once, 1, 1, HERE, NOW)
    assert votes(database) == 1
    database.write_now(voting.withdraw_once, 1, HERE)
    assert votes(database) == 0


def test_votes_of_a_network_on_two_comments_have_nothing_in_common(database: Database) -> None:
    add(database)
    for comment in (1, 2):
        database.write_now(voting.vote_once, comment, 1, HERE, NOW)
    voters = database.read_now(lambda snapshot: snapshot.query(VoteTable.select(VoteTable.voter)))
    assert len(set(voters)) == 2


def test_one_network_is_no_crowd(database: Database) -> None:
    for number in range(NETWORK_VOTES):
        vote(database, f"reader {number}", 1, (HERE[number % 2], b""))
    with pytest.raises(TooManyVotes):
        vote(database, "one more", 1)
    assert vote(database, "reader 3", 0) == NETWORK_VOTES - 1, "it is changed"
    assert vote(database, "elsewhere", 1, (b"other", b"older")) == NETWORK_VOTES
    assert vote(database, "unknown", 1, ()) == NETWORK_VOTES + 1


def test_networks_are_forgotten_and_votes_stay(database: Database) -> None:
    for number in range(3):
        vote(database, f"reader {number}", 1)
    assert not database.read_now(VOTES.is_due, NOW)
    later = NOW + HOUR
    for left in (True, False):
        assert database.read_now(VOTES.is_due, later)
        database.write_now(VOTES.drop, later, 2)
        assert database.read_now(VOTES.is_due, later) is left
    assert vote(database, "reader 1", 0) == 2


@pytest.mark.sqlite_only("it looks at SQLite's plan")
@pytest.mark.parametrize(
    ("query", "values"),
    [
        (voting.find_vote, (1, b"")),
        (voting.count_of_network, (1, b"", b"")),
    ],
)
def test_no_vote_is_searched_for(
    database: Database, query: Prepared, values: Sequence[object]
) -> None:
    steps = plan(database, query, *values)
    assert all(step.startswith("SEARCH") for step in steps), steps
