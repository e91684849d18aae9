"""Sessions: the cookies, and the rows that make them valid."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc.auth import accounts, sessions
from commentsvc.auth.accounts import Moderator
from commentsvc.auth.sessions import COOKIE, KNOWN_COOKIE, Cookies, Lifetime, Session, SignInOver
from commentsvc.db.database import Database
from tests.unit.database_fixture import NOW, opened

LIFETIME = Lifetime(most=1_000, idle=100)
ANN = Moderator(1, "Ann", "hash", NOW)
COOKIES = Cookies([b"k" * 32])


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        for name in ("Ann", "Bob"):
            database.write_now(accounts.add, name=name, password="hash", now=NOW)
        yield database


def sent_back(set_cookie: str) -> str:
    return set_cookie.partition(";")[0]


def begin(database: Database, token: str, moderator: Moderator = ANN, now: int = NOW) -> None:
    database.write_now(sessions.begin, token, moderator, "Firefox", now)


def find(database: Database, token: str, now: int = NOW) -> Session | None:
    return database.read_now(sessions.find, token, LIFETIME, now)


def test_a_cookie_is_read_back() -> None:
    token, cookie = COOKIES.visit(b"r" * 32)
    assert cookie.endswith("; Path=/; Secure; HttpOnly; SameSite=Strict")
    assert COOKIES.token(sent_back(cookie)) == token
    assert COOKIES.token(f"a=b; {sent_back(cookie)}; c=d") == token


def test_two_cookies_differ() -> None:
    assert COOKIES.visit(b"r" * 32) != COOKIES.visit(b"s" * 32)


def test_a_cookie_that_was_altered_is_none() -> None:
    _, cookie = COOKIES.visit(b"r" * 32)
    good = sent_back(cookie)
    for index in range(len(COOKIE) + 1, len(good)):
        other = "A" if good[index] != "A" else "B"
        altered = good[:index] + other + good[index + 1 :]
        # The last letter of base64 has unused bits; the signed text itself is compared.
        assert COOKIES.token(altered) in (None, COOKIES.token(good)), index
        if index < len(good) - 1:
            assert COOKIES.token(altered) is None, index


@pytest.mark.parametrize(
    "header",
    [None, "", COOKIE, f"{COOKIE}=", f"{COOKIE}=x", f"{COOKIE}=.", f"{COOKIE}=é.é", "x=y"],
)
def test_what_we_did_not_make_is_none(header: str | None) -> None:
    assert COOKIES.token(header) is None


def test_a_cookie_without_end_is_none() -> None:
    _, cookie = COOKIES.visit(b"r" * 32)
    assert COOKIES.token(f"{COOKIE}={'x' * 16_000}") is None
    assert COOKIES.token(sent_back(cookie) + "x" * 300) is None


@given(st.text(max_size=300))
def test_no_text_is_a_cookie(text: str) -> None:
    assert COOKIES.token(f"{COOKIE}={text}") is None
    assert COOKIES.token(text) is None


def test_a_cookie_of_one_kind_is_none_of_the_other() -> None:
    _, visit = COOKIES.visit(b"r" * 32)
    value = sent_back(visit).partition("=")[2]
    assert not COOKIES.is_known(f"{KNOWN_COOKIE}={value}", ANN)
    known = sent_back(COOKIES.known(ANN)).partition("=")[2]
    assert COOKIES.token(f"{COOKIE}={known}") is None


def test_an_older_key_is_accepted_and_the_newest_signs() -> None:
    old, new = b"o" * 32, b"n" * 32
    _, cookie = Cookies([old]).visit(b"r" * 32)
    assert Cookies([new, old]).token(sent_back(cookie))
    assert Cookies([new]).token(sent_back(cookie)) is None
    _, cookie = Cookies([new, old]).visit(b"r" * 32)
    assert Cookies([new]).token(sent_back(cookie))


def test_a_browser_is_known_as_the_moderators_until_the_password_changes() -> None:
    header = sent_back(COOKIES.known(ANN))
    assert COOKIES.is_known(header, ANN)
    assert not COOKIES.is_known(header, Moderator(2, "Bob", "hash", NOW))
    assert not COOKIES.is_known(header, Moderator(1, "Ann", "another", NOW))
    assert not COOKIES.is_known(None, ANN)


def test_a_token_of_forms_belongs_to_one_cookie_and_tells_nothing_of_it() -> None:
    assert sessions.is_csrf_token(sessions.csrf_token("a"), "a")
    assert not sessions.is_csrf_token(sessions.csrf_token("b"), "a")
    assert not sessions.is_csrf_token("", "a")
    assert not sessions.is_csrf_token("\ud800", "a")
    assert "token" not in sessions.csrf_token("token")


def test_a_token_is_a_session_once_it_began(database: Database) -> None:
    assert find(database, "token") is None
    begin(database, "token")
    session = find(database, "token")
    assert session == Session(1, 1, "Ann", NOW, NOW, "Firefox", "", "owner", "")
    assert find(database, "another") is None


@pytest.mark.parametrize("stale", [Moderator(1, "Ann", "old", NOW), Moderator(9, "Eve", "hash", 1)])
def test_no_session_begins_with_what_is_no_longer_the_password(
    database: Database, stale: Moderator
) -> None:
    with pytest.raises(SignInOver):
        begin(database, "token", stale)
    assert find(database, "token") is None


def test_the_rows_hold_nothing_from_which_a_cookie_could_be_made(database: Database) -> None:
    begin(database, "token")
    [row] = database.read_now(lambda snapshot: snapshot.execute("SELECT * FROM session").fetchall())
    assert "token" not in repr(row)


def test_a_session_ends_when_it_is_not_used(database: Database) -> None:
    begin(database, "token")
    assert find(database, "token", NOW + 99)
    assert find(database, "token", NOW + 100) is None
    database.write_now(sessions.touch, 1, NOW + 99)
    assert find(database, "token", NOW + 198)


def test_a_session_ends_however_much_it_is_used(database: Database) -> None:
    begin(database, "token")
    for now in range(NOW, NOW + 1_100, 50):
        assert (find(database, "token", now) is not None) == (now < NOW + 1_000)
        database.write_now(sessions.touch, session_id=1, now=now)


def test_a_moderators_sessions_are_told_and_end_one_by_one(database: Database) -> None:
    for number, moderator in enumerate((ANN, ANN, Moderator(2, "Bob", "hash", NOW)), 1):
        begin(database, f"token {number}", moderator)
    database.write_now(sessions.touch, 2, NOW + 1)

    def mine(now: int = NOW + 2) -> list[int]:
        found = database.read_now(sessions.of_moderator, 1, LIFETIME, now)
        return [session.id for session in found]

    assert mine() == [2, 1]
    assert not database.write_now(sessions.end, 3, 1), "it is Bob's"
    assert find(database, "token 3")
    assert database.write_now(sessions.end, 2, 1)
    assert find(database, "token 2") is None
    assert mine() == [1]
    assert mine(NOW + 100) == []


def test_the_rows_of_expired_sessions_are_swept(database: Database) -> None:
    begin(database, "old", now=NOW - 200)
    begin(database, "new")
    database.write_now(sessions.sweep, LIFETIME, NOW)
    left = database.read_now(lambda snapshot: snapshot.execute("SELECT id FROM session").fetchall())
    assert left == [(2,)]


def test_a_browser_that_calls_itself_at_length_is_cut_short(database: Database) -> None:
    database.write_now(sessions.begin, "token", ANN, "x" * 9_000, NOW)
    session = find(database, "token")
    assert session
    assert len(session.user_agent) == sessions.AGENT_LENGTH
