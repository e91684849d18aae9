"""One mailbox is one person, however its address is typed: each place that compares addresses.

Mails go to the address as it was typed.
"""

import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from msgspec.structs import replace

from commentsvc.auth import accounts
from commentsvc.auth.reply_addresses import digest_of
from commentsvc.comments import search
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.schema.outbox import FormerIdTable, SubscriberTable
from commentsvc.db.schema.readers import ReaderTable
from commentsvc.exports.records import FollowerRecord, SubscriberRecord
from commentsvc.imports.records import ImportedComment
from commentsvc.imports.staging.authors import AuthorRules
from commentsvc.imports.store import native_store
from commentsvc.moderation import personal_data, profiles, retention
from commentsvc.readers import accounts as readers
from commentsvc.readers import follows, subscriptions
from commentsvc.settings.schema import ModerationSettings
from commentsvc.spam import bans
from commentsvc.spam.protected_names import ProtectedNames
from commentsvc.util.timestamps import DAY_MS, HOUR_MS
from tests.unit.app_fixture import Served, data, served, waiting
from tests.unit.database_fixture import plan
from tests.unit.pages.test_reader_sign_in import SIGNING_IN

PAIRS = [
    ("zoe@reader.example", "Zoe@Reader.Example"),
    ("zoe@bücher.example", "ZOE@xn--bcher-kva.example"),
    ("zoë@reader.example", unicodedata.normalize("NFD", "ZOË@reader.example")),
]
FIRST = replace(SIGNING_IN, moderation=ModerationSettings(policy="first", trust_after=1))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, SIGNING_IN) as running:
        yield running


def kinds(service: Served) -> list[tuple[str, str, int | None]]:
    return [(row.kind, row.recipient, row.comment_id) for row in waiting(service)]


def rows(service: Served, sql: str) -> list[tuple[object, ...]]:
    def read(snapshot: Snapshot) -> list[tuple[object, ...]]:
        return [tuple(row) for row in snapshot.execute(sql).fetchall()]

    return service.database.read_now(read)


def subscribed(service: Served, email: str) -> None:
    """Comment 1 is by Zoe, who has confirmed that she wants mails about replies."""
    service.submit(author="Zoe", email=email, notify=True)
    [row] = service.database.read_now(lambda snapshot: snapshot.query(SubscriberTable.select()))
    service.database.write_now(subscriptions.confirm, row[0], service.clock.now_ms())


def own_replies_are_not_mailed(service: Served, typed: str, other: str) -> None:
    subscribed(service, typed)
    service.submit("mine", author="Zoe", email=other, parent=1)
    service.submit("theirs", author="Bob", email="bob@reader.example", parent=1)
    assert [each for each in kinds(service) if each[0] == "reply"] == [("reply", "", 3)]


def a_mailbox_is_asked_once_about_replies(service: Served, typed: str, other: str) -> None:
    service.submit("one", author="Zoe", email=typed, notify=True)
    service.submit("two", author="Zoe", email=other, notify=True)
    assert kinds(service) == [("confirm", "", 1)]
    assert service.database.read_now(subscriptions.subscriber, 2) == (1, typed, "asked")


def who_has_confirmed_is_known(service: Served, typed: str, other: str) -> None:
    subscribed(service, typed)
    assert service.database.read_now(subscriptions.has_confirmed, other)


def a_mailbox_is_asked_once_about_a_page(service: Served, typed: str, other: str) -> None:
    for email in (typed, other):
        answer = service.post("/api/follow?url=/p/", {"email": email})
        assert answer.status == 202
    assert kinds(service) == [("follow", typed, None)]
    service.now += 2 * 86_400
    service.post("/api/follow?url=/p/", {"email": other})
    assert kinds(service)[1:] == [("follow", other, None)], "to the address as it was typed"
    row = waiting(service)[-1]
    assert service.database.read_now(follows.asked, row.recipient, row.created_at)


def requests_are_counted_together(service: Served, typed: str, other: str) -> None:
    def ask(email: str, number: int) -> int:
        body, peer = f"email={quote(email)}".encode(), f"192.0.{number}.1"
        kind = "application/x-www-form-urlencoded"
        return service.ask("POST", "/mail/own", body, peer, content_type=kind).status

    answers = [ask((typed, other)[number % 2], number) for number in range(20)]
    alone = [ask("bob@reader.example", number) for number in range(20, 40)]
    assert answers.index(429) == alone.index(429)


def own_comments_on_a_followed_page_are_not_mailed(service: Served, typed: str, other: str) -> None:
    write = service.database.write_now
    write(follows.request, ("blog", "/p/"), typed, "", service.clock.now_ms())
    write(follows.confirm, 1, service.clock.now_ms())
    service.now += 1
    service.submit("mine", author="Zoe", email=other)
    later = service.clock.now_ms() + HOUR_MS
    write(follows.queue_mails, later)
    assert [each for each in kinds(service) if each[0] == "followed"] == []
    service.submit("theirs", author="Bob")
    write(follows.queue_mails, later)
    [(_, recipient, _)] = [each for each in kinds(service) if each[0] == "followed"]
    assert recipient == typed
    follower = service.database.read_now(follows.find, 1)
    assert follower is not None
    assert service.database.read_now(follows.news, follower, 9) == [2]


def a_mailbox_gets_one_mail_about_pages_in_an_hour(service: Served, typed: str, other: str) -> None:
    write = service.database.write_now
    for number, (url, email) in enumerate((("/p/", typed), ("/q/", other)), 1):
        write(follows.request, ("blog", url), email, "", service.clock.now_ms())
        write(follows.confirm, number, service.clock.now_ms())
    service.now += 1
    service.submit("theirs", author="Bob")
    write(follows.queue_mails, service.clock.now_ms() + HOUR_MS)
    service.submit("theirs, too", url="/q/", author="Bob")
    write(follows.queue_mails, service.clock.now_ms() + HOUR_MS)
    assert [each[0] for each in kinds(service)].count("followed") == 1


def a_ban_holds(service: Served, typed: str, other: str) -> None:
    service.database.write_now(bans.add, "author", typed, "Mo", service.clock.now_ms())
    service.submit(author="Eve", email=other)
    service.submit(author=other[:20], email="")
    assert [entry.comment.status for entry in service.stored()][-1] == "spam"


def the_address_of_an_account_is_protected(service: Served, typed: str, other: str) -> None:
    def employ(tx: Transaction) -> None:
        accounts.add(tx, "zoe", "hash", 1)
        profiles.save(tx, replace(profiles.named(tx, "zoe"), email=typed))

    service.database.write_now(employ)
    names = ProtectedNames(SIGNING_IN)
    service.database.read_now(names.load)
    assert names.check("Eve", other, ""), "of a submission"
    found = service.database.read_now(profiles.of_address, other)
    assert found is not None
    assert found.name == "zoe"
    rules = AuthorRules(names, {}, [found], {typed: found})
    comment = ImportedComment(
        position="", page="/p/", id="1", parent="", identity="1", created=1, text="Hi",
        markup="markdown", author="Zoe", email=other, role="owner",
    )  # fmt: skip
    assert rules.moderator(comment) == found, "of an import"
    assert rules.owner(comment) == found, "of our own export"


def a_repeated_submission_is_one_comment(service: Served, typed: str, other: str) -> None:
    one, two = (data(service.submit(author="Zoe", email=each)) for each in (typed, other))
    assert one["comment"]["id"] == two["comment"]["id"]
    given = [
        service.submit("keyed", author="Zoe", email=each, key="0123456789ab").status
        for each in (typed, other)
    ]
    assert given[1] in (200, 201), given


def an_author_has_one_picture(service: Served, typed: str, other: str) -> None:
    service.submit("one", author="Zoe", email=typed)
    service.submit("two", author="Zoe", email=other)
    comments = data(service.get("/api/comments?url=/p/"))["data"]
    assert len({each["avatar"] for each in comments}) == 1


def answers_by_mail_are_of_the_same_person(service: Served, typed: str, other: str) -> None:
    assert digest_of(typed) == digest_of(other)


def a_search_finds_all_spellings(service: Served, typed: str, other: str) -> None:
    service.submit("one", author="Zoe", email=typed)
    service.submit("two", author="Zoe", email=other)
    service.submit("three", author="Bob", email="bob@other.example")
    service.database.write_now(search.index_pending, 99)

    def find(snapshot: Snapshot, query: str) -> list[int]:
        found = search.find(snapshot, query, status="", sites=None, limit=9, before=None)
        return [entry.comment.id for entry in found.items]

    for email in (typed, other):
        for query in (email, email[email.index("@") :]):
            assert service.database.read_now(find, query) == [2, 1], query


def a_reader_signs_in_as_the_same(service: Served, typed: str, other: str) -> None:
    def identified(email: str) -> readers.SignedReader:
        identity = (readers.BY_MAIL, email)
        return service.database.write_now(readers.identified, "blog", identity, email, 1)

    who = identified(typed)
    service.database.write_now(readers.choose_name, who, "Zoe", ["zoe"])
    assert identified(other).id == who.id
    provider = ("https://id.example", "7")
    same = service.database.write_now(readers.identified, "blog", provider, typed, 1)
    assert not service.database.read_now(readers.holds, "blog", ["zoe"], same), "a name is shared"


def an_import_adds_no_second_row(service: Served, typed: str, other: str) -> None:
    service.submit(url="/p/")
    now = "2026-11-01T00:00:00Z"

    def put(tx: Transaction) -> None:
        tx.execute(
            "INSERT INTO import_run (source, files, digest, keeps_ids, started_at)"
            " VALUES ('x', 'y', ?, 0, 1)",
            (b"z",),
        )
        for email in (typed, other):
            subscriber = SubscriberRecord("blog", email, "confirmed", now)
            follower = FollowerRecord("blog", email, "confirmed", now, "/p/", "")
            native_store._take_subscriber(tx, subscriber, "blog", 1)
            native_store._add_follower(tx, follower, "blog", 1)

    service.database.write_now(put)
    for table in ("subscriber", "follower"):
        emails = f"SELECT email FROM {table}"
        assert rows(service, emails) == [(typed,)]


def all_of_a_person_is_exported_and_erased(service: Served, typed: str, other: str) -> None:
    subscribed(service, other)
    service.submit("two", author="Zoe", email=typed)
    service.post("/api/follow?url=/p/", {"email": other})
    service.form(f"/reader/sign-in?{urlencode(START)}", f"email={quote(other)}")
    service.database.write_now(readers.identified, "blog", (readers.BY_MAIL, other), other, 1)
    for indexed in (False, True):
        if indexed:
            service.database.write_now(search.index_pending, 99)
        found = service.database.read_now(personal_data.export, typed, service.clock.now_ms())
        assert len(found.comments) == 2
        assert [len(each) for each in (found.wishes, found.follows, found.sign_ins)] == [1, 1, 1]
    ids = service.database.write_now(retention.forget, typed, "Mo", service.clock.now_ms())
    assert ids == (1, 2)
    for email in (typed, other):
        assert not service.database.read_now(personal_data.is_known, email)
    assert [row for row in waiting(service) if row.recipient == other] == []
    left = "SELECT (SELECT count(*) FROM sign_in_link) + (SELECT count(*) FROM subscriber)"
    assert rows(service, left) == [(0,)]


START = {"page": "https://blog.example/p/", "word": "a-random-word"}
COMPARED: list[Callable[[Served, str, str], None]] = [
    own_replies_are_not_mailed,
    a_mailbox_is_asked_once_about_replies,
    who_has_confirmed_is_known,
    a_mailbox_is_asked_once_about_a_page,
    requests_are_counted_together,
    own_comments_on_a_followed_page_are_not_mailed,
    a_mailbox_gets_one_mail_about_pages_in_an_hour,
    a_ban_holds,
    the_address_of_an_account_is_protected,
    a_repeated_submission_is_one_comment,
    an_author_has_one_picture,
    answers_by_mail_are_of_the_same_person,
    a_search_finds_all_spellings,
    a_reader_signs_in_as_the_same,
    an_import_adds_no_second_row,
    all_of_a_person_is_exported_and_erased,
]


@pytest.mark.parametrize(("typed", "other"), PAIRS)
@pytest.mark.parametrize("compare", COMPARED, ids=lambda each: each.__name__)
def test_a_mailbox_is_one_person_however_it_is_typed(
    service: Served, compare: Callable[[Served, str, str], None], typed: str, other: str
) -> None:
    compare(service, typed, other)


@pytest.mark.parametrize(("typed", "other"), PAIRS)
def test_trust_does_not_depend_on_how_an_address_is_typed(
    tmp_path: Path, typed: str, other: str
) -> None:
    with served(tmp_path, FIRST) as service:
        service.submit("one", author="Zoe", email=typed)
        service.database.write_now(
            lambda tx: tx.execute("UPDATE comment SET status = 'approved', published_at = 1")
        )
        service.submit("two", author="Zoe", email=other)
        assert [entry.comment.status for entry in service.stored()] == ["approved", "approved"]


def test_a_reader_of_an_older_version_is_still_the_same_reader(service: Served) -> None:
    """The subject was stored in lower case, with the domain as it was typed."""
    old, now = ("mail", "zoe@bücher.example"), service.clock.now_ms()

    def work(tx: Transaction) -> int:
        known = readers.identified(tx, "blog", old, old[1], now)
        changed = ReaderTable.update(subject=old[1])
        tx.change(changed.where(ReaderTable.id == known.id))
        return known.id

    number = service.database.write_now(work)
    for typed in ("Zoe@bücher.example", "zoe@xn--bcher-kva.example"):
        identity = ("mail", typed)
        who = service.database.write_now(readers.identified, "blog", identity, typed, now)
        assert who.id == number
    other = ("mail", "zoe@buecher.example")
    who = service.database.write_now(readers.identified, "blog", other, other[1], now)
    assert who.id != number


@pytest.mark.parametrize("former", [7, 8])
def test_links_name_the_row_that_another_became_one_with(service: Served, former: int) -> None:
    subscribed(service, "zoe@reader.example")
    write, now = service.database.write_now, service.clock.now_ms()
    write(follows.request, ("blog", "/p/"), "zoe@reader.example", "", now)
    write(follows.confirm, 1, now)
    tables = [{"kind": kind, "former": 7, "kept": 1} for kind in ("subscriber", "follower")]
    write(lambda tx: tx.change(FormerIdTable.insert_many(tables)))
    for page in ("stop", "unfollow"):
        token = service.links.make(page, former, expires=now + HOUR_MS)
        assert service.form(f"/mail/{page}?t={token}", "").status == (200 if former == 7 else 410)
    for table in ("subscriber", "follower"):
        consent = "stopped" if former == 7 else "confirmed"
        assert rows(service, f"SELECT consent FROM {table}") == [(consent,)]
    write(retention.forget, "zoe@reader.example", "Mo", now)
    assert rows(service, "SELECT * FROM former_id") == []


def test_a_mail_that_waits_is_sent_though_its_row_became_one_with_another(service: Served) -> None:
    write, now = service.database.write_now, service.clock.now_ms()
    write(follows.request, ("blog", "/p/"), "zoe@reader.example", "", now)
    assert service.database.read_now(follows.asked, "Zoe@Reader.example", now)
    write(follows.confirm, 1, now)
    service.now += 1
    service.submit("theirs", author="Bob")
    later = now + HOUR_MS
    write(follows.queue_mails, later)
    assert service.database.read_now(follows.mailed, "Zoe@Reader.example", later)


@pytest.mark.sqlite_only("it looks at SQLite's plan")
def test_rows_of_a_mailbox_are_found_by_an_index(service: Served) -> None:
    for query, index in (
        (subscriptions._confirmed, "subscriber_email_key_site_id (email_key=?)"),
        (subscriptions._confirmed, "follower_email_key_site_id_thread_id (email_key=?)"),
        (native_store._find_subscriber, "subscriber_email_key_site_id (email_key=? AND site_id=?)"),
    ):
        steps = plan(service.database, query, *[1] * query.sql.count("?"))
        assert any(f"INDEX {index}" in step for step in steps), steps
    steps = plan(service.database, follows.find_behind, DAY_MS, 9)
    assert any("follower_email_key_site_id_thread_id (email_key=?)" in each for each in steps)
