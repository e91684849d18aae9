"""Everything that is exported from a database in which every feature is used."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest
from msgspec.structs import replace

from commentsvc.comments import images, site_rows
from commentsvc.comments.page_urls import PageRef, UnknownSiteError
from commentsvc.db.database import Database
from commentsvc.exports import contents, records
from commentsvc.exports.contents import Selection
from commentsvc.exports.records import (
    BanRecord,
    CommentRecord,
    EndRecord,
    FollowerRecord,
    HeaderRecord,
    IdentityRecord,
    NoteRecord,
    ReaderRecord,
    Record,
    SavedReplyRecord,
    SettingRecord,
    StatementRecord,
    SubscriberRecord,
    ThreadRecord,
    TrainingTokenRecord,
    ViewsRecord,
)
from commentsvc.feedback import reactions, views, votes
from commentsvc.feedback.reactions import Reaction
from commentsvc.markup import image_names
from commentsvc.model import APPROVED, SPAM
from commentsvc.moderation import (
    changes,
    internal_notes,
    permissions,
    private_notes,
    retention,
    saved_replies,
    statements,
    stored_settings,
    threads,
    undo,
)
from commentsvc.moderation.private_notes import NewNote
from commentsvc.moderation.statements import Reasons
from commentsvc.moderation.stored_settings import Change
from commentsvc.readers import accounts, follows, subscriptions
from commentsvc.readers.accounts import SignedReader
from commentsvc.settings.loader import LoadedSettings
from commentsvc.settings.schema import CommentsSettings, Settings, Site
from commentsvc.spam import bans
from commentsvc.spam.protected_names import name_skeletons
from commentsvc.util.timestamps import rfc3339_ms
from tests.unit.database_fixture import HOUR, NOW, add, decide, opened

R = TypeVar("R", bound=msgspec.Struct)
PERSONAL = (
    "Ann",
    "ann@blog.example",
    "flo@",
    "Mo",
    "aunt.example",
    "0102",
    "a bad name",
    "id.example",
    "Nora",
)


def sign_in(database: Database, site: str, name: str, email: str) -> SignedReader:
    """Return a new reader of a site, whom a provider has identified by the address."""
    identity = ("https://id.example", email)
    who = database.write_now(accounts.identified, site, identity, email, NOW)
    return database.write_now(accounts.choose_name, who, name, name_skeletons(name))


def fill(database: Database) -> None:
    """Make two sites; the first has a reply, votes, a history, followers and a ban of each kind.

    The other one has a comment by a reader who signed in.
    """
    database.write_now(site_rows.sync, ["blog", "other"])
    add(
        database,
        author="Ann",
        email="ann@blog.example",
        author_site="https://aunt.example",
        title="A post",
        network=b"\x01\x02",
        notify=True,
        language="de",
        score=2,
        reasons="common +1",
        token_hash=b"secret of an edit token",
    )
    image = image_names.name(b"RIFF red", 4, 3)
    database.write_now(images.put, "blog", image, b"RIFF red", NOW, images.Quota(99))
    reply = {"author": "Bob", "email": "bob@blog.example", "source": f"![Red](image:{image})"}
    add(database, now=NOW + HOUR, parent=1, status="pending", **reply)
    cleo = sign_in(database, "other", "Cleo", "cleo@new.example")
    database.write_now(accounts.set_trust, cleo.id, "Mo", NOW)
    thanks = ("Thanks", "Thank you!", "Mo", NOW, CommentsSettings())
    database.write_now(saved_replies.save, *thanks)
    loaded = LoadedSettings(Settings(sites=(Site(), Site(name="other"))))
    wanted = {("", "spam.blocked_words"): ("pills",), ("other", "site.close_days"): 90}
    for most, who in ((8, "Jo"), (9, "Mo")):
        done = Change(wanted | {("", "spam.max_links"): most}, 99, who, NOW)
        database.write_now(stored_settings.store, loaded, done)
    mo = permissions.actor(1, "Mo", "moderator", "")
    database.write_now(internal_notes.add, mo, 1, "Known from elsewhere", NOW)
    database.write_now(statements.add, [1], {1: Reasons("rules", "It stays")}, "Mo", NOW)
    old = {"author": "Cleo", "email": "cleo@old.example", "reader_id": cleo.id}
    add(database, now=NOW + HOUR, site="other", url="/elsewhere/", **old)
    decide(database, APPROVED, 2, now=NOW + 2 * HOUR)
    database.write_now(undo.last, [2], "Mo", NOW + 3 * HOUR)
    decide(database, SPAM, 2, now=NOW + 4 * HOUR)
    database.write_now(follows.request_at_comment, 2, "fr")
    for number, url in enumerate(("/post/", ""), start=1):
        database.write_now(follows.request, ("blog", url), "flo@blog.example", "nl", NOW + number)
        database.write_now(follows.confirm, number, NOW + HOUR)
    database.write_now(follows.stop, 2, NOW + 2 * HOUR)
    database.write_now(changes.edit, 1, "Hello **you**", "Mo", NOW + 5 * HOUR)
    database.write_now(votes.vote, 1, "a reader", 1, [b"\x01\x02"], NOW)
    database.write_now(votes.vote, 1, "another", -1, [], NOW + 6 * HOUR)
    database.write_now(votes.react, 1, "one more", "❤️", [], NOW)
    for reader, networks in (("a reader", [b"\x01\x02"]), ("another", [])):
        given = Reaction("👍", reader)
        database.write_now(reactions.react, PageRef("blog", "/post/"), given, networks, NOW)
    pages = {PageRef("blog", "/viewed/"): 3, PageRef("other", "/elsewhere/"): 1}
    database.write_now(views.add, pages)
    database.write_now(threads.add_alias, "blog", "/post/", "/old/")
    database.write_now(threads.set_state, "blog", "/post/", "closed")
    note = ("blog", "/post/", "A post", "Nora", "nora@blog.example", "teh", "the", "nl", True)
    database.write_now(private_notes.add, NewNote(*note, "new", "", b"\x03"), NOW)
    for kind, value in (("author", "Ann"), ("word", "casino"), ("domain", "spam.example")):
        database.write_now(bans.add, kind, value, "Mo", NOW, NOW + HOUR)


@pytest.fixture(scope="module")
def database(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Return a database in which every feature is used."""
    with opened(tmp_path_factory.mktemp("data")) as database:
        fill(database)
        yield database


def read(database: Database, **selection: str | int | bool) -> list[Record]:
    wanted = msgspec.convert(selection, Selection)
    return database.read_now(lambda snapshot: list(contents.records(snapshot, wanted)))


def of(kind: type[R], found: list[Record]) -> list[R]:
    return [record for record in found if isinstance(record, kind)]


def test_everything_is_exported_in_a_stable_order(database: Database) -> None:
    found = read(database)
    assert found[0] == HeaderRecord(format="commentsvc", version=1)
    post, elsewhere = of(ThreadRecord, found)
    expected = ThreadRecord("blog", "/post/", "A post", "closed", ("/old/",), {"👍": 2})
    assert replace(post, reacted=()) == expected
    assert sorted((each.network or "", each.emoji) for each in post.reacted) == [
        ("", "👍"),
        ("0102", "👍"),
    ]
    assert elsewhere == ThreadRecord("other", "/elsewhere/")
    first, second, third = of(CommentRecord, found)
    assert (first.id, first.author, first.email) == (1, "Ann", "ann@blog.example")
    assert (first.message, first.html) == (
        "Hello **you**",
        "<p>Hello <strong>you</strong></p>\n",
    )
    assert (first.created, first.published) == (rfc3339_ms(NOW), rfc3339_ms(NOW))
    assert (first.proposed_title, first.network, first.subscribed) == ("A post", "0102", True)
    assert [(change.field, change.old) for change in first.history] == [("text", "Hello *you*")]
    assert sorted((vote.value, vote.network or "", vote.emoji) for vote in first.voters) == [
        *((-1, "", ""), (1, "", "❤️"), (1, "0102", ""))
    ]
    assert (first.votes, first.reactions) == (1, {"❤️": 1})
    assert (first.language, first.follows) == ("de", False)
    assert [(note.actor, note.message) for note in first.internal_notes] == [
        ("Mo", "Known from elsewhere")
    ]
    said = StatementRecord(rfc3339_ms(NOW), "Mo", "rules", "It stays")
    assert first.statements == (said,)
    assert (second.parent, second.status) == (1, "spam")
    assert (second.subscribed, second.follows, second.language) == (False, True, "fr")
    assert [(image.name, image.content) for image in second.images] == [
        (second.message[13:-1], b"RIFF red")
    ]
    assert [(change.new, change.undone_by) for change in second.history] == [
        ("approved", "Mo"),
        ("spam", None),
    ]
    assert second.training is not None
    assert second.training.label == "spam"
    assert set(second.training.tokens) == {each.hash for each in of(TrainingTokenRecord, found)}
    identity = ("https://id.example", "cleo@new.example")
    assert (third.site, third.reader) == ("other", IdentityRecord(*identity))
    assert of(ReaderRecord, found) == [
        ReaderRecord("other", *identity, "Cleo", "cleo@new.example", "Mo", rfc3339_ms(NOW))
    ]
    assert [ban.value for ban in of(BanRecord, found)] == ["ann", "spam.example", "casino"]
    assert of(SavedReplyRecord, found) == [
        SavedReplyRecord("Thanks", "Thank you!", "Mo", rfc3339_ms(NOW))
    ]
    changed = rfc3339_ms(NOW)
    assert of(SettingRecord, found) == [
        SettingRecord("spam.blocked_words", ["pills"], "Jo", changed),
        SettingRecord("site.close_days", 90, "Jo", changed, "other"),
        SettingRecord("spam.max_links", 9, "Mo", changed),
    ]
    assert of(SubscriberRecord, found) == [
        SubscriberRecord("blog", "ann@blog.example", "asked", rfc3339_ms(NOW))
    ]
    flo, stopped = ("blog", "flo@blog.example"), rfc3339_ms(NOW + 2 * HOUR)
    assert of(FollowerRecord, found) == [
        FollowerRecord(*flo, "stopped", stopped, language="nl"),
        FollowerRecord(*flo, "confirmed", rfc3339_ms(NOW + 1), "/post/", "nl"),
    ]
    [note] = of(NoteRecord, found)
    assert (note.site, note.author, note.email) == ("blog", "Nora", "nora@blog.example")
    assert (note.quote, note.message, note.state, note.may_thank) == ("teh", "the", "new", True)
    tokens = len(second.training.tokens)
    assert found[-1] == EndRecord(
        threads=2,
        comments=3,
        bans=3,
        saved_replies=1,
        settings=3,
        subscribers=1,
        followers=2,
        readers=1,
        notes=1,
        training_totals=1,
        training_tokens=tokens,
        views=2,
    )
    assert of(ViewsRecord, found) == [
        ViewsRecord("blog", "/viewed/", 3),
        ViewsRecord("other", "/elsewhere/", 1),
    ]


def test_what_is_exported_fits_the_format(database: Database) -> None:
    for record in read(database):
        line = msgspec.json.encode(record)
        assert msgspec.json.decode(line, type=records.Record) == record


def test_no_secret_is_exported(database: Database) -> None:
    text = msgspec.json.encode(read(database))
    assert b"edit token" not in text
    assert b"edit token".hex().encode() not in text


def test_an_anonymous_export_names_nobody(database: Database) -> None:
    found = read(database, anonymous=True)
    post = of(ThreadRecord, found)[0]
    assert (post.reactions, post.reacted) == ({"👍": 2}, ())
    text = msgspec.json.encode(found).decode()
    assert not [word for word in PERSONAL if word in text]
    first, second, _ = of(CommentRecord, found)
    assert not of(FollowerRecord, found) + of(NoteRecord, found)
    assert (first.language, second.follows) == ("", False)
    assert (first.message, first.score, len(first.history)) == ("Hello **you**", 2, 1)
    assert [change.new for change in second.history] == ["approved", "spam"]
    assert [ban.value for ban in of(BanRecord, found)] == ["spam.example", "casino"]


def test_one_site_comes_without_what_belongs_to_all(database: Database) -> None:
    found = read(database, site="blog")
    assert {record.site for record in of(CommentRecord, found)} == {"blog"}
    assert {record.site for record in of(ThreadRecord, found)} == {"blog"}
    assert not of(BanRecord, found)
    assert not of(SettingRecord, found)
    assert not of(ReaderRecord, found)
    assert not of(TrainingTokenRecord, found)
    with pytest.raises(UnknownSiteError, match="There are: blog, other"):
        read(database, site="third")


@pytest.mark.parametrize(
    ("hours", "ids"), [(0, [1, 2, 3]), (1, [1, 2, 3]), (2, [1, 2]), (5, [1]), (6, [1]), (7, [])]
)
def test_only_what_changed_since_a_moment(database: Database, hours: int, ids: list[int]) -> None:
    found = read(database, since=NOW + hours * HOUR)
    assert [record.id for record in of(CommentRecord, found)] == ids
    assert len(of(ThreadRecord, found)) == 2


def test_the_owner_of_an_address_stays_unmailed(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        add(database, email="ann@blog.example", notify=True)
        database.write_now(subscriptions.stop, 1)
        [subscriber] = of(SubscriberRecord, read(database))
        assert subscriber.consent == "stopped"
        assert not of(CommentRecord, read(database))[0].subscribed


def test_an_imported_comment_says_how_it_was_known(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        add(database)
        add(database)
        database.write_now(
            lambda tx: tx.execute(
                "INSERT INTO imported_comment (comment_id, import_id, key, anchor, is_html)"
                " VALUES (2, 1, ?, 'isso-7', 1)",
                (b"\0",),
            )
        )
        found = of(CommentRecord, read(database))
    assert [(each.markup, each.anchor) for each in found] == [("markdown", ""), ("html", "isso-7")]


def test_what_was_erased_is_in_no_later_export(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        add(database, email="ann@blog.example", source="My *secret*", html="<p>My secret</p>")
        add(database, parent=1, author="Bob")
        database.write_now(changes.edit, 1, "My other secret", "Mo", NOW)
        database.write_now(bans.add, "author", "ann@blog.example", "Mo", NOW)
        database.write_now(follows.request, ("blog", "/post/"), "Ann@blog.example", "", NOW)
        assert b"secret" in msgspec.json.encode(read(database))
        database.write_now(retention.forget, "ann@blog.example", "Mo", NOW)
        database.write_now(bans.remove, 1)
        text = msgspec.json.encode(read(database))
    assert b"secret" not in text
    assert b"ann@blog.example" not in text.lower()
