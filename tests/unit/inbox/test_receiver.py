"""What a reply by mail does, that it does it once, and the mails that are sent then."""

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from commentsvc import outbox
from commentsvc.auth import accounts
from commentsvc.comments import queries, site_rows
from commentsvc.db.connection import Transaction
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.delivery.mail import MailComposer
from commentsvc.inbox import inbox
from commentsvc.model import OWNER, Comment
from commentsvc.moderation import changes, lists, private_notes, profiles
from commentsvc.readers import accounts as readers
from commentsvc.readers import subscriptions
from commentsvc.settings.schema import (
    InboxSettings,
    MailSettings,
    ModerationSettings,
    ServerSettings,
)
from commentsvc.spam.protected_names import name_skeletons
from commentsvc.util.timestamps import DAY_MS
from tests.unit.app_fixture import SETTINGS, Served, served, waiting
from tests.unit.inbox.mail_programs import PROGRAMS, Original, answers, plain
from tests.unit.inbox.test_reply_text import tidy

SECRET = "hook secret of 24 signs!".replace(" ", "-")
MAILING = replace(
    SETTINGS,
    server=ServerSettings(public_url="https://c.example"),
    moderation=ModerationSettings(policy="all"),
    sites=(replace(SETTINGS.sites[0], sign_in=("mail",), private_notes=True),),
    mail=MailSettings(
        host="localhost", sender="comments@blog.example", moderators=("mo@blog.example",)
    ),
    inbox=InboxSettings(address="comments@blog.example", hook_secret=SECRET),
)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, MAILING) as running:

        def work(tx: Transaction) -> None:
            accounts.add(tx, "mo", "hash", 1)
            profile = profiles.named(tx, "mo")
            named = replace(profile, role=OWNER, public_name="Mo Owner")
            profiles.verify(tx, named, "mo@blog.example")

        running.database.write_now(work)
        yield running


def composed(service: Served, row: OutboxRow) -> Original:
    """Return the mail of a row of the outbox, to be answered by its recipient."""
    envelope = service.database.read_now(MailComposer(MAILING, service.links).compose, row)
    assert envelope
    message = envelope.message
    text, html = message.get_body(("plain",)), message.get_body(("html",))
    assert text
    assert html
    return Original(
        name="A blog",
        sender="comments@blog.example",
        reply_to=str(message["Reply-To"]),
        message_id=str(message["Message-ID"]),
        subject=str(message["Subject"]),
        text=text.get_content().replace("\r\n", "\n"),
        html=html.get_content(),
    )


def send_all(service: Served) -> list[OutboxRow]:
    """Remove all mails from the outbox."""
    rows = waiting(service)
    for row in rows:
        service.database.write_now(outbox.mark_sent, row, "", 1)
    return rows


def asked(service: Served, message: str = "Hi") -> Original:
    """Return the mail that notifies a moderator of a new comment."""
    assert service.submit(message, author="Ann").status in (201, 202)
    [row] = [row for row in send_all(service) if row.kind == "submitted"]
    return composed(service, row)


def receive(service: Served, raw: bytes) -> None:
    """Receive a mail and process it."""

    async def main() -> None:
        await service.receiver.take(raw)
        task = asyncio.create_task(service.receiver.run(pause=0))
        async with asyncio.timeout(120):
            while service.database.read_now(inbox.next_waiting):  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.002)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(main())


def comment(service: Served, number: int) -> Comment:
    entry = service.database.read_now(queries.find, number)
    assert entry
    return entry.comment


def test_an_answer_counts_for_an_account_only_with_a_confirmed_address(service: Served) -> None:
    mo = service.database.read_now(profiles.named, "mo")
    original = asked(service)
    for email in ("", "Mo@blog.example"):
        service.database.write_now(profiles.save, replace(mo, email=email))
    for words in ("ok", "Welcome here!"):
        receive(service, plain(original, words))
    assert comment(service, 1).status == "pending"
    assert service.database.read_now(queries.find, 2) is None
    assert {row.kind for row in waiting(service)} == {"refused"}, "its sender is told"


@pytest.mark.parametrize(
    ("words", "status"),
    [("ok", "approved"), ("OK.", "approved"), ("", "approved"), ("No!", "deleted"),
     ("delete", "deleted"), ("SPAM", "spam"), ("SP", "spam")],
)  # fmt: skip
def test_one_word_decides_and_a_mail_confirms_it(service: Served, words: str, status: str) -> None:
    original = asked(service)
    receive(service, plain(original, words))
    assert comment(service, 1).status == status
    [row] = waiting(service)
    assert (row.kind, row.recipient, row.comment_id) == ("decided", "mo@blog.example", 1)
    mail = service.database.read_now(MailComposer(MAILING, service.links).compose, row)
    assert mail
    assert mail.message["Auto-Submitted"] == "auto-generated"
    assert "Reply-To" not in mail.message


def test_other_words_are_the_owners_answer_in_the_style_of_any_program(service: Served) -> None:
    original = asked(service, message="Is it *ok*?\n\n> no\n\n-- \nspam")
    for answer in answers(original, 2 * len(PROGRAMS), seed=3):
        mail = service.receiver._parser.read(answer.raw)
        assert tidy(mail.words) == tidy(answer.words), answer.program
    words = "Yes, it is.\n\nCome in."
    receive(service, plain(original, words))
    reply = comment(service, 2)
    assert (reply.author, reply.role, reply.status) == ("Mo Owner", "owner", "approved")
    assert (reply.source, reply.parent_id) == (words, 1)
    assert comment(service, 1).status == "approved"
    [row] = send_all(service)
    assert (row.kind, row.comment_id) == ("answered", 2)


def test_a_mail_is_answered_once_however_often_it_comes(
    service: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    original = asked(service)
    raw = plain(original, "no")
    receive(service, raw)
    send_all(service)
    receive(service, raw)
    assert "it came before" in caplog.text
    receive(service, plain(original, "ok", Message_ID="<2@mail.example>"))
    receive(service, plain(original, "Hello Ann", Message_ID="<3@mail.example>"))
    assert comment(service, 1).status == "deleted"
    assert len(service.stored()) == 1
    assert [row.kind for row in waiting(service)] == ["refused", "refused"]
    assert caplog.text.count("nothing is done") == 3


def test_words_expire_and_their_sender_is_told(service: Served) -> None:
    original = asked(service)
    service.now += 15 * DAY_MS / 1_000
    receive(service, plain(original, "ok"))
    assert comment(service, 1).status == "pending"
    assert [row.kind for row in waiting(service)] == ["refused"]


def test_who_answers_forty_mails_in_an_hour_loses_none(service: Served) -> None:
    originals = [asked(service, f"Hello number {number}") for number in range(34)]
    for number, original in enumerate(originals):
        receive(service, plain(original, "ok", Message_ID=f"<{number}@mail.example>"))
    assert {each.comment.status for each in service.stored()} == {"approved"}


def test_who_answers_from_the_mailbox_that_sends_our_mails_is_heard(service: Served) -> None:
    original = asked(service)
    receive(service, plain(original, "Come in.", From="Mo <Comments@blog.example>"))
    assert comment(service, 2).source == "Come in."


def test_who_is_no_moderator_any_more_decides_nothing(service: Served) -> None:
    original = asked(service)
    service.receiver._moderators = ("flo@blog.example",)
    receive(service, plain(original, "ok"))
    assert comment(service, 1).status == "pending"
    assert not waiting(service)


def test_nothing_is_decided_of_a_site_that_was_removed(service: Served) -> None:
    original = asked(service)
    del service.service.sites.options["blog"]
    receive(service, plain(original, "ok"))
    assert comment(service, 1).status == "pending"


@pytest.mark.parametrize("words", ["ok", "Hello Ann"])
@pytest.mark.parametrize(
    ("role", "sites", "decides"),
    [("moderator", ["blog"], True), ("moderator", ["notes"], False), ("viewer", [], False)],
)
def test_a_mail_decides_only_what_the_role_of_its_account_permits(
    service: Served, role: str, sites: list[str], decides: bool, words: str
) -> None:
    def work(tx: Transaction) -> None:
        accounts.add(tx, "flo", "hash", 1)
        site_rows.sync(tx, ["blog", "notes"])
        profiles.assign(tx, "flo", OWNER, [])
        profiles.assign(tx, "mo", role, sites)

    original = asked(service)
    service.database.write_now(work)
    receive(service, plain(original, words))
    assert comment(service, 1).status == ("approved" if decides else "pending")
    assert bool(waiting(service)) == decides


def test_a_text_that_is_too_long_is_told(service: Served) -> None:
    original = asked(service)
    receive(service, plain(original, "x" * 201))
    assert comment(service, 1).status == "pending"
    assert [row.kind for row in send_all(service)] == ["refused"]
    receive(service, plain(original, "Short.", Message_ID="<2@mail.example>"))
    assert comment(service, 2).source == "Short."


def test_no_more_than_thirty_answers_to_one_mail_are_taken_in_an_hour(service: Served) -> None:
    original = asked(service)
    for number in range(40):
        receive(service, plain(original, "x" * 201, Message_ID=f"<{number}@mail.example>"))
    assert len(waiting(service)) == 30


def reply_mail(service: Served, *, author: str = "Ann") -> Original:
    """Return the mail that notifies the author of a comment of a reply."""
    service.submit(author=author, email="ann@mail.example", notify=True)
    original = composed(service, send_all(service)[0])
    receive(service, plain(original, "ok"))
    service.database.write_now(subscriptions.confirm, 1, 1)
    send_all(service)
    service.submit(author="Bob", message="An answer", parent=1)
    [row] = [row for row in send_all(service) if row.kind == "submitted"]
    receive(service, plain(composed(service, row), "ok", Message_ID="<2@mail.example>"))
    [row] = [row for row in send_all(service) if row.kind == "reply"]
    return composed(service, row)


def test_a_reader_replies_by_mail_under_the_rules_for_every_comment(service: Served) -> None:
    original = reply_mail(service)
    assert "##- Write your answer above this line -##" in original.text
    receive(service, plain(original, "Thank you, Bob.", Message_ID="<3@mail.example>"))
    reply = comment(service, 3)
    assert (reply.author, reply.email, reply.parent_id) == ("Ann", "ann@mail.example", 2)
    assert (reply.source, reply.status, reply.role) == ("Thank you, Bob.", "pending", "")
    rows = {row.kind: row for row in waiting(service)}
    assert rows["replied"].recipient == "ann@mail.example"
    receive(service, plain(original, "Once more.", Message_ID="<4@mail.example>"))
    assert len(service.stored()) == 3


def test_who_signed_in_replies_by_mail_under_the_name_with_the_mark(service: Served) -> None:
    who = ("blog", ("mail", "ann@mail.example"), "ann@mail.example", 1)
    ann = service.database.write_now(readers.identified, *who)
    service.database.write_now(readers.choose_name, ann, "Ann", name_skeletons("Ann"))
    original = reply_mail(service)
    mark = "UPDATE comment SET reader_id = ? WHERE id = 1"
    service.database.write_now(lambda tx: tx.execute(mark, (ann.id,)))
    receive(service, plain(original, "Thank you, Bob.", Message_ID="<3@mail.example>"))
    reply = comment(service, 3)
    assert (reply.author, reply.reader_id) == ("Ann", ann.id)
    reasons = service.database.read_now(lists.verdicts_of, [3])[3].reasons
    assert "protected" not in " ".join(reasons)


def test_only_members_reply_by_mail_where_only_members_write(service: Served) -> None:
    original = reply_mail(service)
    options = service.service.sites.options
    options["blog"] = options["blog"]._replace(members_only=True)
    receive(service, plain(original, "Thank you.", Message_ID="<3@mail.example>"))
    assert len(service.stored()) == 2
    assert [row.kind for row in waiting(service)][-1] == "refused"
    who = ("blog", ("mail", "ann@mail.example"), "ann@mail.example", 1)
    ann = service.database.write_now(readers.identified, *who)
    mark = "UPDATE comment SET reader_id = ? WHERE id = 1"
    service.database.write_now(lambda tx: tx.execute(mark, (ann.id,)))
    receive(service, plain(original, "Thank you.", Message_ID="<4@mail.example>"))
    assert comment(service, 3).source == "Thank you."


def test_a_website_that_the_site_hides_is_not_in_a_reply_by_mail(service: Served) -> None:
    original = reply_mail(service)
    update = "UPDATE comment SET author_site = 'https://ann.example' WHERE id = 1"
    service.database.write_now(lambda tx: tx.execute(update))
    options = service.service.sites.options
    hidden = options["blog"].asks._replace(site="hidden")
    options["blog"] = options["blog"]._replace(asks=hidden)
    receive(service, plain(original, "Thank you.", Message_ID="<3@mail.example>"))
    assert comment(service, 3).site == ""


def test_a_reader_who_wants_no_more_mails_cannot_reply(service: Served) -> None:
    original = reply_mail(service)
    service.database.write_now(subscriptions.stop, 1)
    receive(service, plain(original, "Thank you.", Message_ID="<3@mail.example>"))
    assert len(service.stored()) == 2


def test_the_name_of_a_moderator_is_protected_by_mail_too(service: Served) -> None:
    original = reply_mail(service, author="Mo Owner")
    receive(service, plain(original, "I am the owner.", Message_ID="<3@mail.example>"))
    assert (comment(service, 3).status, comment(service, 3).role) == ("pending", "")


def test_a_mail_server_hands_answers_over_by_its_secret(service: Served) -> None:
    original = asked(service)
    raw = plain(original, "ok")
    for secret, status in (("", 401), ("Bearer wrong", 401), (f"Bearer {SECRET}", 202)):
        assert service.ask("POST", "/api/inbox", raw, authorization=secret).status == status
        assert bool(service.database.read_now(inbox.next_waiting)) == (status == 202)


def test_a_mail_with_a_picture_may_be_larger_than_other_bodies(service: Served) -> None:
    original = asked(service)
    head, body = plain(original, "ok").split(b"Content-Type", 1)[0], b"\r\n\r\nok\r\n"
    mail = head + b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b' + body + b"--b"
    mail += b"\r\nContent-Type: image/png\r\n\r\n" + (b"A" * 76 + b"\r\n") * 40_000 + b"--b--\r\n"
    for raw in (b"x" * (4 << 20), mail):
        answer = service.ask("POST", "/api/inbox", raw, authorization=f"Bearer {SECRET}")
        assert answer.status == 202
    receive(service, mail)
    assert comment(service, 1).status == "approved"


def test_wrong_secrets_of_the_hook_are_limited_for_their_network(service: Served) -> None:
    def answers(secret: str, count: int, peer: str = "192.0.2.1") -> list[int]:
        ask = service.ask
        return [
            ask("POST", "/api/inbox", b"x", peer, authorization=secret).status for _ in range(count)
        ]

    good = f"Bearer {SECRET}"
    assert {*answers(good, 50)} == {202}, "a good secret costs nothing"
    wrong = ["", "Bearer", "Bearer ", "Bearer \xff", "Bearer \udc80", f"Basic {SECRET}", SECRET]
    assert [answers(secret, 1) for secret in wrong] == [[401]] * len(wrong)
    assert answers("Bearer guess", 20)[-1] == 429
    assert answers(good, 1) == [429], "so no guess is answered either"
    assert answers(good, 1, "198.51.100.1") == [202]
    service.monotonic += 3_600
    assert answers(good, 1) == [202]


def test_without_a_secret_there_is_no_hook(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        assert service.ask("POST", "/api/inbox", b"x", authorization="Bearer ").status == 404


def body_of(service: Served, row: OutboxRow) -> str:
    envelope = service.database.read_now(MailComposer(MAILING, service.links).compose, row)
    assert envelope
    part = envelope.message.get_body(("plain",))
    assert part
    return str(part.get_content())


@pytest.mark.parametrize(
    "words",
    ["yes", "oui merci", "Approve!", "Vielen Dank!", "thank you very much", "谢谢", "شكرا جزيلا",
     "ok\n\nMax Mustermann\nMuster GmbH, +49 30 123456", "Merci\n\nEnvoyé de mon iPhone",
     "ok\n\nAq tlb nga shx-3 e mi 2026 me nji kompjuter te vjeter."],
)  # fmt: skip
def test_a_yes_or_a_thanks_approves_and_publishes_nothing_and_the_mail_says_how_to_answer(
    service: Served, words: str
) -> None:
    original = asked(service)
    receive(service, plain(original, words))
    assert comment(service, 1).status == "approved"
    assert len(service.stored()) == 1
    [row] = waiting(service)
    assert row.kind == "decided"
    assert "Answer:\nhttps://c.example/mail/answer?t=" in body_of(service, row)


@pytest.mark.parametrize(
    ("words", "headers"),
    [
        ("Nein, danke.", {}),
        ("Supprimer", {}),
        ("No.\n\nWe never open on Sundays.", {}),
        ("Thank you!\n\nI will read your mail in January, as soon as I am back.", {}),
        ("Ich bin nicht da.", {"Subject": "Weg bis Montag: hi"}),
        ("ok", {"Subject": "Weg bis Montag: hi"}),
        ("I am on leave until January.", {"Subject": "Mo is away"}),
        ("Hello, I am out of the office until 3 January.", {}),
        ("Ich bin bis zum 3. Januar nicht im Büro.\n\nMo", {}),
        ("I use a filter. Verify that you are a person: https://filter.example/?x", {}),
        ("Sent on Monday.", {}),
        ("Come in.\n\nx.y@z.example, 22/11/2026 15:00:\nno > no", {}),
        ("Write to comments@blog.example", {}),
    ],
)
def test_words_that_may_not_be_meant_for_the_page_wait_for_their_moderator(
    service: Served, words: str, headers: dict[str, str]
) -> None:
    original = asked(service)
    receive(service, plain(original, words, **headers))
    assert comment(service, 1).status == "pending"
    held = comment(service, 2)
    assert (held.status, held.parent_id, held.role) == ("pending", 1, "owner")
    [row] = send_all(service)
    assert (row.kind, row.comment_id, row.recipient) == ("held", 2, "mo@blog.example")
    text = body_of(service, row)
    assert held.source.splitlines()[0] in text
    assert "Approve:\nhttps://c.example/mail/comment?t=" in text
    assert "comments@blog.example" not in held.source
    receive(service, plain(original, "ok", Message_ID="<2@mail.example>"))
    assert comment(service, 1).status == "pending"  # each mail of ours is answered once


def test_a_held_answer_is_published_by_its_moderator(service: Served) -> None:
    receive(service, plain(asked(service), "Nein."))
    [row] = send_all(service)
    service.database.write_now(changes.change, [2], "approved", "mo", 5)
    shown = service.get("/api/comments?url=/p/").body
    assert b"Nein." in shown
    assert "Your answer is published." in body_of(service, row)


@pytest.mark.parametrize(
    "headers",
    [
        {"Auto-Submitted": "auto-replied"},
        {"X-Auto-Response-Suppress": "All"},
        {"Subject": "Automatische Antwort: Ann"},
        {"Subject": "=?utf-8?b?6Ieq5Yqo5Zue5aSN?=: Ann"},
    ],
)
def test_an_automatic_mail_decides_and_publishes_nothing(
    service: Served, headers: dict[str, str]
) -> None:
    original = asked(service)
    receive(service, plain(original, "ok", **headers))
    assert comment(service, 1).status == "pending"
    assert len(service.stored()) == 1
    assert not waiting(service)


def test_a_mail_that_cannot_be_read_is_told_and_can_be_sent_again(service: Served) -> None:
    original = asked(service)
    receive(service, plain(original, "x\n" * 20_000))
    [row] = send_all(service)
    assert (row.kind, row.recipient) == ("refused", "mo@blog.example")
    assert "cannot be read" in body_of(service, row)
    receive(service, plain(original, "ok", Message_ID="<2@mail.example>"))
    assert comment(service, 1).status == "approved"


def test_a_readers_mail_that_is_not_certain_is_told_and_not_published(service: Served) -> None:
    original = reply_mail(service)
    headers = {"Message_ID": "<3@mail.example>", "Subject": "Poissaolo: Re: hi"}
    receive(service, plain(original, "I am away.", **headers))
    assert len(service.stored()) == 2
    [row] = [row for row in waiting(service) if row.kind == "refused"]
    assert row.recipient == "ann@mail.example"


@pytest.mark.parametrize("words", ["unsubscribe", "STOP!", "Bitte abmelden\n\nAnn", "Remove me"])
def test_a_reader_who_asks_for_no_more_mails_is_not_published(service: Served, words: str) -> None:
    original = reply_mail(service)
    receive(service, plain(original, words, Message_ID="<3@mail.example>"))
    assert len(service.stored()) == 2
    [row] = [row for row in waiting(service) if row.kind == "refused"]
    assert "/mail/stop?" in body_of(service, row)


def test_a_mail_with_half_a_character_stops_no_other(service: Served) -> None:
    """Regression: storing it failed, so an IMAP mailbox was never read any further."""
    original = asked(service)
    raw = plain(original, "Hi +2AA- you").replace(b'charset="utf-8"', b"charset=utf-7")
    assert b"utf-7" in raw
    receive(service, raw)
    assert [row.kind for row in waiting(service)] == ["held"]


def test_all_mails_ask_answering_machines_for_silence(service: Served) -> None:
    service.submit("Hi", author="Ann", email="ann@mail.example", notify=True)
    [asked_about] = send_all(service)
    receive(service, plain(composed(service, asked_about), "ok"))
    for row in (asked_about, *waiting(service)):
        envelope = service.database.read_now(MailComposer(MAILING, service.links).compose, row)
        assert envelope
        mail = envelope.message
        assert mail["Auto-Submitted"] == "auto-generated"
        assert mail["X-Auto-Response-Suppress"] == "All"
        assert mail["Precedence"] == ("bulk" if row.kind == "submitted" else None)


def noted(service: Served, **fields: object) -> Original:
    """Return the mail that tells a moderator of a private note."""
    sent = {"url": "/p/", "author": "Ann", "message": "Psst", "email": "ann@home.example"}
    assert service.post("/api/notes", sent | fields).status == 202
    [row] = [row for row in send_all(service) if row.kind == "note"]
    return composed(service, row)


def note_state(service: Served, number: int = 1) -> tuple[str, str]:
    """Return the state of a private note, and the answer to it."""
    note = service.database.read_now(private_notes.find, number)
    assert note
    return note.state, note.answer


def test_an_answer_to_a_private_note_goes_to_its_reader_alone(service: Served) -> None:
    original = noted(service)
    raw = plain(original, "Thank you, it is fixed.")
    receive(service, raw)
    [row] = send_all(service)
    assert (row.kind, row.recipient, row.note_id) == ("note-answer", "ann@home.example", 1)
    mail = composed(service, replace(row, state="queued"))
    assert "> Thank you, it is fixed." in mail.text
    assert "Psst" not in mail.text
    assert mail.reply_to == "None", "who gave the address is not known, so nobody can answer"
    assert note_state(service) == ("done", "Thank you, it is fixed.")
    assert service.stored() == [], "nothing of it is published"
    receive(service, plain(original, "Once more", Message_ID="<2@mail.example>"))
    [refused] = send_all(service)
    assert (refused.kind, refused.recipient) == ("note-refused", "mo@blog.example")
    assert "had no effect" in composed(service, refused).subject
    assert note_state(service)[1] == "Thank you, it is fixed."


@pytest.mark.parametrize(
    ("words", "state"), [("ok", "done"), ("", "done"), ("Thanks!", "done"), ("spam", "spam")]
)
def test_one_word_mails_nothing_to_the_reader(service: Served, words: str, state: str) -> None:
    receive(service, plain(noted(service), words))
    assert note_state(service) == (state, "")
    assert waiting(service) == []


@pytest.mark.parametrize("doubt", ["quoting", "uncertain", "unreadable"])
def test_words_that_may_be_of_others_are_not_mailed_to_the_reader(
    service: Served, doubt: str
) -> None:
    """They may quote the mail, with the address for answers, or be those of a machine."""
    mail = service.receiver._parser.read(plain(noted(service), "It is fixed now, I think."))
    service.database.write_now(inbox.add, replace(mail, doubt=doubt), service.clock.now_ms())
    receive(service, plain(Original("x", "x", "x@x.example", "<x@x>", "x", "x", "x"), "x"))
    assert note_state(service) == ("new", "")
    assert [row.kind for row in waiting(service)] == ["note-refused"]


def test_an_answer_to_a_note_does_not_name_the_address_for_answers(service: Served) -> None:
    original = noted(service)
    address = original.reply_to.strip("<>")
    receive(service, plain(original, f"Please write to {address} again, I have fixed it."))
    assert address.split("@")[0] not in note_state(service)[1]


def test_nobody_answers_a_note_by_mail_without_the_right_to_its_site(service: Served) -> None:
    original = noted(service)
    mo = service.database.read_now(profiles.named, "mo")
    service.database.write_now(profiles.save, replace(mo, email="Mo@blog.example"))
    receive(service, plain(original, "It is fixed now."))
    assert note_state(service) == ("new", "")
    assert waiting(service) == []


def test_the_address_for_a_note_decides_on_no_comment_and_the_other_way(service: Served) -> None:
    """A note and a comment with the same number are not taken for each other."""
    comment_mail, note_mail = asked(service, message="A comment"), noted(service)
    receive(service, plain(note_mail, "spam"))
    assert comment(service, 1).status == "pending"
    assert note_state(service) == ("spam", "")
    receive(service, plain(comment_mail, "ok"))
    assert comment(service, 1).status == "approved"
    assert note_state(service) == ("spam", "")


def test_a_note_without_an_address_cannot_be_answered_by_mail(service: Served) -> None:
    assert noted(service, email="").reply_to == "None"
