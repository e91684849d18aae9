"""Whatever guards something refuses what is absent: nothing is equal to its own absence.

`GUARDS` has each function that compares a secret, a token or a signature with what somebody sent.
"""

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import commentsvc
from commentsvc.auth import (
    accounts,
    api_tokens,
    blog_sessions,
    blog_tokens,
    passwords,
    sessions,
    totp,
)
from commentsvc.auth.accounts import Moderator
from commentsvc.auth.blog_sessions import BlogSessionRefused
from commentsvc.auth.blog_tokens import BlogTokenRefused
from commentsvc.auth.edit_tokens import EditTokens, ReplyFeedWords
from commentsvc.auth.reply_addresses import ReplyAddresses
from commentsvc.auth.sessions import Cookies, Lifetime
from commentsvc.auth.signed_links import LinkError, SignedLinks
from commentsvc.auth.two_factor import TwoFactor
from commentsvc.db.database import Database
from commentsvc.delivery import judge
from commentsvc.readers import accounts as readers
from commentsvc.spam.form_tokens import FormTokens
from commentsvc.spam.proof_of_work import ProofOfWork
from tests.unit.database_fixture import opened

KEYS = (b"key" * 16,)
MO = Moderator(1, "mo", "", 1)  # without a password
# What a client can send in place of a secret, as it arrives: always a text.
ABSENT = ("", " ", "0", "null", "None", "undefined", "[]", "{}", "false", "\0", "=", ".", "..", "é")
Guard = Callable[[str, Database], object]


def signed(sent: str, _database: Database) -> object:
    with contextlib.suppress(LinkError):
        return SignedLinks(KEYS).read("", sent, 1)
    return None


def of_blog(secret: str) -> Guard:
    def check(sent: str, _database: Database) -> object:
        with contextlib.suppress(BlogTokenRefused):
            return blog_tokens.read(sent, secret, "", 1)
        return None

    return check


def agreed(sent: str, _database: Database) -> object:
    links = SignedLinks(KEYS)
    with contextlib.suppress(LinkError):
        blog_sessions.read_code(links, sent, "a word", "https://blog.example", 1)
    for word, page in ((sent, "https://blog.example"), ("a word", sent)):
        about = (1, 1, "blog", "https://blog.example", blog_sessions.challenge("a word"))
        code = links.make(blog_sessions.CODE, *about, expires=2_000)
        with contextlib.suppress(BlogSessionRefused):
            return blog_sessions.read_code(links, code, word, page, 1)
    return None


GUARDS: dict[str, Guard] = {
    "auth/blog_sessions.py read_code": agreed,
    "auth/blog_sessions.py find": lambda sent, database: database.read_now(
        blog_sessions.find, sent, 1
    ),
    "auth/sessions.py is_csrf_token": lambda sent, _: sessions.is_csrf_token(sent, ""),
    "auth/sessions.py token": lambda sent, _: Cookies(KEYS).token(f"{sessions.COOKIE}={sent}"),
    "auth/sessions.py is_known": lambda sent, _: (
        Cookies(KEYS).is_known(f"{sessions.KNOWN_COOKIE}={sent}", MO)
        or Cookies(KEYS).is_known(None, MO)
    ),
    "auth/sessions.py find": lambda sent, database: database.read_now(
        sessions.find, sent, Lifetime(1, 1), 1
    ),
    "auth/edit_tokens.py check": lambda sent, _: (
        EditTokens(KEYS).check(sent, b"") or EditTokens(KEYS).check(sent, bytes(32))
    ),
    "auth/edit_tokens.py read": lambda sent, _: ReplyFeedWords(KEYS).read(sent),
    "auth/reply_addresses.py find": lambda sent, _: (
        ReplyAddresses(KEYS, "").find(f"To: {sent}+@")
        or ReplyAddresses(KEYS, "c@blog.example").find(f"To: c+{sent}@blog.example")
    ),
    "auth/signed_links.py read": signed,
    "auth/blog_tokens.py read without a secret": of_blog(""),
    "auth/blog_tokens.py read": of_blog("s" * 32),
    "auth/api_tokens.py find": lambda sent, database: database.read_now(api_tokens.find, sent),
    "auth/totp.py matching_step": lambda sent, _: totp.matching_step(b"", sent, 10**12),
    "auth/two_factor.py accept": lambda sent, database: database.write_now(
        TwoFactor(KEYS).accept, 1, sent, 1
    ),
    "auth/two_factor.py confirm": lambda sent, database: database.write_now(
        TwoFactor(KEYS).confirm, 1, sent, "browser", 1
    ),
    "auth/passwords.py verify": lambda sent, _: any(
        passwords.verify(sent, stored) for stored in ("", sent, passwords.NOBODY)
    ),
    "readers/accounts.py of_token": lambda sent, database: database.read_now(
        readers.of_token, sent, 1
    ),
    "delivery/judge.py _judgement": lambda sent, _: (
        judge._judgement(sent, "mark") or judge._judgement(f'{{"mark":"{sent}"}}', "mark")
    ),
    "spam/form_tokens.py check": lambda sent, _: FormTokens(KEYS).check(sent, "", 0, 1).usable,
    "spam/proof_of_work.py is_solved": lambda sent, _: ProofOfWork(KEYS, 9).is_solved(sent, ""),
}


@pytest.fixture(scope="module")
def database(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with opened(tmp_path_factory.mktemp("guards")) as database:
        database.write_now(accounts.add, "mo", "", 1)
        yield database


@pytest.mark.parametrize("guard", GUARDS)
def test_nothing_in_place_of_a_secret_opens_anything(database: Database, guard: str) -> None:
    for sent in ABSENT:
        assert not GUARDS[guard](sent, database), (guard, sent)


def test_every_module_that_compares_secrets_is_in_the_table() -> None:
    root = Path(commentsvc.__file__).parent
    compares: Any = re.compile(
        r"compare_digest|\.unsign\(|BadData|verify_solution|argon2id\.verify"
    )
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if compares.search(path.read_text())
    }
    known = {guard.split()[0] for guard in GUARDS}
    assert found - {"inbox/hook.py"} <= known
