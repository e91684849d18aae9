"""Voting: one vote for each reader, which can be changed or withdrawn; a limit for each network."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from commentsvc.backup import integrity
from commentsvc.comments import queries
from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.db.query import Prepared
from commentsvc.db.schema.comments import CommentTable, VoteTable
from commentsvc.errors import TooManyVotes, UnknownComment
from commentsvc.feedback import votes as voting
from commentsvc.feedback.votes import NETWORK_VOTES
from commentsvc.model import DELETED, SPAM
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


def react(
    database: Database, word: str, emoji: str, networks: Sequence[bytes] = HERE, comment: int = 1
) -> dict[str, int]:
    return database.write_now(voting.react, comment, word, emoji, networks, NOW)


def react_once(database: Database, emoji: str, networks: Sequence[bytes] = HERE) -> dict[str, int]:
    database.write_now(voting.react_once, 1, emoji, networks, NOW)
    return database.read_now(voting.counts, 1)


def rows(database: Database) -> int:
    return len(database.read_now(lambda snapshot: snapshot.query(VoteTable.select())))


def test_a_reader_has_one_reaction_however_many_emoji_are_tried(database: Database) -> None:
    for emoji in "👍🎉👀💡👍":
        assert react(database, "ann", emoji) == {emoji: 1}
    assert (votes(database), rows(database)) == (1, 1)
    assert react(database, "bob", "👍") == {"👍": 2}
    assert react(database, "bob", "❤️") == {"👍": 1, "❤️": 1}
    assert votes(database) == 2
    for _ in range(2):  # a second click, or a second tab
        assert react(database, "ann", "") == {"❤️": 1}
    assert (votes(database), rows(database)) == (1, 1)
    assert react(database, "bob", "") == {}


def test_a_reaction_against_a_comment_is_a_vote_against_it(database: Database) -> None:
    for word, emoji, total in (("a", "👎", -1), ("b", "👎🏽", -2), ("c", "👍", -1), ("a", "❤️", 1)):
        react(database, word, emoji)
        assert votes(database) == total


def test_a_vote_and_a_reaction_take_the_place_of_each_other(database: Database) -> None:
    vote(database, "ann", -1)
    assert (react(database, "ann", "🎉"), votes(database)) == ({"🎉": 1}, 1)
    assert vote(database, "ann", -1) == -1
    assert database.read_now(voting.counts, 1) == {}
    assert rows(database) == 1


def test_a_changed_reaction_purges_the_page_and_a_repeated_one_nothing(
    database: Database, purged: list[str]
) -> None:
    for emoji, purges in (("👍", True), ("👍", False), ("❤️", True), ("", True), ("", False)):
        purged.clear()
        react(database, "ann", emoji)
        assert ("thread:blog:/post/" in purged) is purges


def test_one_network_is_no_crowd_of_reactions(database: Database) -> None:
    for number in range(NETWORK_VOTES):
        react(database, f"reader {number}", "👍❤️🎉"[number % 2])
    with pytest.raises(TooManyVotes):
        react(database, "one more", "🎉")
    with pytest.raises(TooManyVotes):
        vote(database, "one more", 1)
    react(database, "reader 3", "🎉")
    assert rows(database) == NETWORK_VOTES


def test_a_network_without_words_has_one_reaction_which_it_can_change(database: Database) -> None:
    assert react_once(database, "👍") == {"👍": 1}
    assert react_once(database, "🎉", (b"new", b"now")) == {"🎉": 1}, "its hash has changed"
    assert database.read_now(voting.reacted_once, 1, (b"new", b"now")) == "🎉"
    assert database.read_now(voting.reacted_once, 1, (b"other", b"x")) == ""
    assert react_once(database, "", (b"new", b"now")) == {}
    assert (votes(database), rows(database)) == (0, 0)


def test_a_network_where_somebody_has_reacted_keeps_what_it_has(database: Database) -> None:
    react_once(database, "👍")
    react(database, "ann", "👍")
    with pytest.raises(TooManyVotes):
        react_once(database, "🎉")
    assert database.read_now(voting.counts, 1) == {"👍": 2}


def test_a_comment_that_is_not_shown_gets_no_reactions(database: Database) -> None:
    add(database, parent=1)
    decide(database, DELETED, 1)
    assert database.read_now(voting.takes_votes, 1), "it is listed for its reply"
    for comment in (1, 99):
        with pytest.raises(UnknownComment):
            react(database, "ann", "👍", comment=comment)
        with pytest.raises(UnknownComment):
            database.write_now(voting.react_once, comment, "👍", HERE, NOW)
    assert rows(database) == 0


def test_an_imported_count_never_falls_below_zero(database: Database) -> None:
    """Regression in other systems: quick clicks made counts negative."""
    for _ in range(3):
        react(database, "ann", "👍")
        react(database, "ann", "")
        react(database, "ann", "")
    assert database.read_now(voting.counts, 1) == {}
    react(database, "bob", "👍")
    database.write_now(Transaction.change, CommentTable.update(reactions=""))
    assert database.read_now(integrity.check) == [
        "comment 1 counts 0 reactions 👍, but 1 were given"
    ]
    assert react(database, "bob", "") == {}


def test_a_damaged_count_is_found(database: Database) -> None:
    for text, fault in (
        ('{"👍": 3}', []),
        ("{", ["the reactions of comment 1 cannot be read"]),
        ("", []),
    ):
        database.write_now(Transaction.change, CommentTable.update(reactions=text))
        assert database.read_now(integrity.check) == fault
