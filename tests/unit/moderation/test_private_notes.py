"""Private notes: how they are sent, read, answered and thanked for, and that they stay private."""

import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from html import escape
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import pytest
from msgspec.structs import replace

from commentsvc import outbox
from commentsvc.archive import static_pages
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.schema.notes import PrivateNote
from commentsvc.delivery.mail import MailComposer
from commentsvc.delivery.smtp import Envelope
from commentsvc.errors import TooManyPending, UnknownNote
from commentsvc.exports import contents, disqus, hugo, wordpress
from commentsvc.exports.contents import Selection
from commentsvc.exports.output import Output
from commentsvc.markup import image_names
from commentsvc.model import DONE, NEW, NOTE_STATES, SPAM, site_tag, thread_tag
from commentsvc.moderation import permissions, personal_data, private_notes, profiles, retention
from commentsvc.moderation.private_notes import NewNote
from commentsvc.settings.schema import (
    MailSettings,
    ModerationSettings,
    ServerSettings,
    Settings,
    SpamSettings,
)
from tests.unit.admin_client import PASSWORD, Seat, seated, text
from tests.unit.app_fixture import NOW, SETTINGS, Served, data, faults, served, waiting
from tests.unit.database_fixture import HOUR
from tests.unit.delivery.test_webhooks import ALL
from tests.unit.public_reads import SITE, requests

MO = "mo@blog.example"
NOTING: Settings = replace(
    SETTINGS,
    server=ServerSettings(public_url="https://c.example"),
    sites=(replace(SETTINGS.sites[0], private_notes=True, language="de"), SETTINGS.sites[1]),
    mail=MailSettings(host="localhost", sender="comments@blog.example", moderators=(MO,)),
)
FIELDS = {
    "url": "/p/",
    "title": "A page",
    "author": "Ann",
    "email": "ann@home.example",
    "quote": "teh oak",
    "message": "It should be “the oak”.",
    "thank": True,
}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, NOTING) as running:
        yield running


def send(service: Served, **fields: object) -> int:
    """Send a private note; return the status of the answer."""
    answer = service.post("/api/notes", FIELDS | fields)
    if answer.status == 202:
        assert data(answer) == {"status": "received"}
    return answer.status


def notes(service: Served) -> list[PrivateNote]:
    """Return all notes, the oldest first."""

    def work(snapshot: Snapshot) -> list[PrivateNote]:
        found = (
            note
            for state in NOTE_STATES
            for note in private_notes.listing(snapshot, state, None, 1 << 62, 1_000)
        )
        return sorted(found, key=lambda note: note.id)

    return service.database.read_now(work)


def mails(service: Served) -> list[Envelope]:
    """Take all mails out of the outbox, and return them as they would be sent."""
    composer, sent = MailComposer(NOTING, service.links), []
    for row in waiting(service):
        assert row.channel == "mail"
        envelope = service.database.read_now(composer.compose, row)
        service.database.write_now(outbox.mark_sent, row, "", service.clock.now_ms())
        assert envelope, row.kind
        sent.append(envelope)
    return sent


def body(envelope: Envelope) -> str:
    part = envelope.message.get_body(("plain",))
    assert part
    return str(part.get_content())


def test_a_note_waits_and_is_mailed_to_the_moderators_alone(service: Served) -> None:
    assert send(service) == 202
    [note] = notes(service)
    assert (note.state, note.author, note.quote, note.may_thank) == (NEW, "Ann", "teh oak", True)
    assert service.stored() == []
    assert service.purged == []
    [mail] = mails(service)
    assert mail.recipient == MO
    assert "teh oak" in body(mail)
    assert "It should be" in body(mail)
    assert "never published" in body(mail)


def test_no_note_is_taken_where_the_site_has_them_off(service: Served) -> None:
    answer = service.post("/api/notes?site=notes", FIELDS)
    assert answer.status == 404
    assert data(answer)["error"]["code"] == "no_notes"
    form = service.form("/embed/thread?site=notes", urlencode(FIELDS | {"private": "yes"}))
    assert form.status == 404
    assert 'action="thread' not in form.body.decode(), "sent again, it would be public"
    assert "It should be" in form.body.decode(), "no text is lost"
    assert notes(service) == []
    assert service.stored() == []


@pytest.mark.parametrize("field", ["private", "note", "only_author"])
def test_no_comment_has_a_field_that_could_be_taken_for_privacy(
    service: Served, field: str
) -> None:
    """A client that wants a note but posts a comment is refused: nothing becomes public."""
    sent = {"url": "/p/", "author": "Ann", "message": "Psst", field: True}
    answer = service.post("/api/comments", sent)
    assert (answer.status, faults(answer)) == (400, [field])
    assert service.stored() == []


@pytest.mark.parametrize("values", [["yes"], ["", "yes"], ["anything"]])
def test_a_plain_form_with_the_box_never_becomes_a_comment(
    service: Served, values: list[str]
) -> None:
    fields = FIELDS | {
        "private": values,
        "thank": "yes",
        "parent": "7",
        "site": "https://a.example",
    }
    del fields["quote"]
    answer = service.form("/embed/thread", urlencode(fields, doseq=True))
    assert answer.status in (202, 400)
    assert service.stored() == []


def test_the_plain_form_sends_a_note_and_says_that_it_is_private(service: Served) -> None:
    page = service.get("/embed/thread?url=/p/&view=page").body.decode()
    assert 'name="private" value="yes">' in page
    sent = {"url": "/p/", "author": "Ann", "message": "Psst", "private": "yes"}
    answer = service.form("/embed/thread", urlencode(sent))
    assert answer.status == 202
    assert "Only the author of this page can read it." in answer.body.decode()
    wrong = service.form("/embed/thread", urlencode(sent | {"message": ""})).body.decode()
    assert 'name="private" value="yes" checked' in wrong
    [note] = notes(service)
    assert (note.message, note.may_thank) == ("Psst", False)


def test_a_picture_in_a_private_note_is_refused_before_it_is_stored(tmp_path: Path) -> None:
    site = replace(NOTING.sites[0], images=True)
    with served(tmp_path, replace(NOTING, sites=(site,))) as service:
        parts = {"url": "/p/", "author": "Ann", "message": "Hi", "private": "yes"}
        lines = "".join(
            f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in parts.items()
        )
        file = '--b\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n\r\n'
        answer = service.ask(
            "POST",
            "/embed/thread",
            f"{lines}{file}x\r\n--b--\r\n".encode(),
            content_type="multipart/form-data; boundary=b",
        )
        assert answer.status == 400
        assert "A private note can have no picture" in answer.body.decode()
        assert notes(service) == []


def test_a_private_note_names_no_picture(service: Served) -> None:
    name = image_names.name(b"RIFF red", 4, 3)
    answer = service.post("/api/notes", FIELDS | {"message": f"See ![it](image:{name})"})
    assert answer.status == 400
    assert "A private note can have no picture" in answer.body.decode()
    assert not notes(service)
    assert send(service, message="The word image: alone is no picture.") == 202


def test_invalid_fields_are_named_and_a_long_quotation_is_cut(service: Served) -> None:
    answer = service.post("/api/notes", {"url": "/p/", "author": "", "parent": 1, "thank": "yes"})
    assert (answer.status, faults(answer)) == (400, ["author", "message", "parent", "thank"])
    assert send(service, quote="word " * 1_000) == 202
    [note] = notes(service)
    assert len(note.quote) <= 500


def test_a_note_that_is_sent_again_is_stored_and_mailed_once(service: Served) -> None:
    assert [send(service, key="one-secret-key"), send(service, key="one-secret-key")] == [202, 202]
    assert send(service, key="one-secret-key", message="Other words") == 409
    assert [send(service), send(service)] == [202, 202]
    assert len(notes(service)) == len(mails(service)) == 2


def test_notes_are_judged_and_bounded_like_comments(tmp_path: Path) -> None:
    spam = SpamSettings(rate_limit="100/minute", pending_limit="2/day", blocked_words=("casino",))
    with served(tmp_path, replace(NOTING, spam=spam)) as service:
        assert send(service, subject="x") == 400
        assert [send(service, message=f"Number {n}") for n in range(3)] == [202, 202, 429]
        assert len(notes(service)) == 2


def test_spam_gets_the_same_answer_and_no_mail(tmp_path: Path) -> None:
    spam = SpamSettings(rate_limit="off", max_links=0, blocked_words=("casino",), spam_score=3)
    with served(tmp_path, replace(NOTING, spam=spam)) as service:
        assert send(service, quote="casino https://x.example", message="casino") == 202
        [note] = notes(service)
        assert note.state == SPAM
        assert waiting(service) == []


@pytest.mark.locked_only("the others run its queries")
def test_many_notes_cause_few_mails_and_a_site_keeps_a_bounded_number(service: Served) -> None:
    def work(tx: Transaction, state: str, number: int) -> None:
        for each in range(number):
            words = ("blog", "/p/", "", "A", "", "", f"{state} {each}", "en")
            new = NewNote(*words, may_thank=False, state=state, key="", network=None)
            private_notes.add(tx, new, int(NOW * 1_000) + each)

    service.database.write_now(work, NEW, private_notes.FLOOD + 30)
    kinds = [row.kind for row in waiting(service)]
    assert kinds == ["note"] * private_notes.FLOOD + ["notes"]
    *_, digest = mails(service)
    assert digest.message["Subject"] == "[A blog] 50 private notes"
    assert "https://c.example/moderation/notes" in body(digest)
    service.database.write_now(work, SPAM, private_notes.MOST + 5)
    spam = service.database.read_now(private_notes.listing, SPAM, None, 1 << 62, 2_000)
    assert len(spam) == private_notes.MOST
    with pytest.raises(TooManyPending):
        service.database.write_now(work, NEW, private_notes.MOST + 1)


def test_only_who_decides_on_the_site_sees_its_notes(service: Served) -> None:
    send(service)
    find = private_notes.get
    for role, sites, sees in (
        ("owner", "", True),
        ("moderator", "blog", True),
        ("moderator", "notes", False),
        ("viewer", "", False),
    ):
        who = permissions.actor(1, "x", role, sites)
        if sees:
            assert service.database.read_now(find, who, 1).author == "Ann"
        else:
            with pytest.raises(UnknownNote):
                service.database.read_now(find, who, 1)


@pytest.fixture
def seat(service: Served) -> Seat:
    return seated(service)


def test_the_page_shows_answers_and_moves_notes(service: Served, seat: Seat) -> None:
    send(service)
    page = text(seat.get("notes"))
    assert "It should be" in page
    assert '>Notes <span class="number">1</span>' in page
    assert seat.send("notes", id="1", do="done").status == 303
    assert "It should be" not in text(seat.get("notes"))
    assert "It should be" in text(seat.get("notes?state=done"))
    assert seat.send("notes", id="1", do="new").status == 303
    assert seat.send("notes", id="1", do="spam").status == 303
    assert "It should be" in text(seat.get("notes?state=spam"))
    assert seat.send("notes", id="1", do="delete").status == 303
    assert notes(service) == []
    assert seat.send("notes", id="1", do="done").status == 404
    assert seat.send("notes", id="1", do="nonsense").status == 400


def test_a_note_cannot_disturb_the_page_or_the_mail(service: Served, seat: Seat) -> None:
    attack = '<script>alert(1)</script>\r\nBcc: x@y.example =?utf-8?q?x?= "><img src=x onerror=y>'
    sent = {"author": attack[:20], "title": attack, "quote": attack, "message": attack}
    assert send(service, **sent) == 202
    page = text(seat.get("notes"))
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    [mail] = mails(service)
    html = mail.message.get_body(("html",))
    assert html
    assert "<script" not in html.get_content()
    assert "<img" not in html.get_content()
    assert "Bcc" not in [*mail.message.keys()]


def test_an_answer_is_mailed_once_to_the_reader_and_to_nobody_else(
    service: Served, seat: Seat
) -> None:
    send(service)
    mails(service)
    assert seat.send("notes", id="1", do="answer", message=" ").status == 422
    assert seat.send("notes", id="1", do="answer", message="Fixed, thank you!").status == 303
    [mail] = mails(service)
    assert mail.recipient == "ann@home.example"
    assert "> Fixed, thank you!" in body(mail)
    assert "https://blog.example/p/" in body(mail)
    for words in ("teh oak", "It should be", "Ann"):
        assert words not in body(mail), "nobody has confirmed the address"
    assert seat.send("notes", id="1", do="answer", message="Again").status == 409
    assert service.stored() == []
    assert notes(service)[0].state == DONE


def test_a_note_without_an_address_cannot_be_answered(service: Served, seat: Seat) -> None:
    send(service, email="")
    assert "Answer by mail" not in text(seat.get("notes"))
    assert seat.send("notes", id="1", do="answer", message="Hi").status == 409


def test_thanks_name_the_reader_and_not_the_notes_words(service: Served, seat: Seat) -> None:
    send(service, author="*Ann* [x](y)")
    assert seat.send("notes", id="1", do="thank").status == 303
    [entry] = service.stored()
    comment = entry.comment
    assert comment.html == "<p>Danke für deinen Hinweis zu dieser Seite, *Ann* [x](y)!</p>\n"
    assert (comment.role, comment.status, comment.parent_id) == ("owner", "approved", None)
    assert seat.send("notes", id="1", do="thank").status == 409
    assert len(service.stored()) == 1


@pytest.mark.parametrize("name", ["www.cheap.example", "<b>&amp;", "https://x.example", "`@Ann"])
def test_a_name_in_thanks_is_text_alone(service: Served, seat: Seat, name: str) -> None:
    send(service, author=name)
    seat.send("notes", id="1", do="thank")
    [entry] = service.stored()
    assert entry.comment.html.endswith(f", {escape(name)}!</p>\n")


def test_nobody_is_thanked_without_agreeing_to_it(service: Served, seat: Seat) -> None:
    send(service, thank=False)
    assert "Thank publicly" not in text(seat.get("notes"))
    assert seat.send("notes", id="1", do="thank").status == 409
    assert service.stored() == []


def test_a_reader_gets_a_copy_of_all_notes_and_can_erase_them(service: Served, seat: Seat) -> None:
    send(service)
    send(service, email="Ann@HOME.example", message="More")
    send(service, email="", message="Nobody’s")
    seat.send("notes", id="1", do="thank")
    seat.send("notes", id="2", do="answer", message="Fixed.")
    email = "ann@home.example"
    exported = service.database.read_now(personal_data.export, email, 1)
    assert [(note.message, note.answer) for note in exported.notes] == [
        ("It should be “the oak”.", ""),
        ("More", "Fixed."),
    ]
    assert service.database.read_now(personal_data.is_known, email)
    assert service.database.write_now(retention.forget, email, "its author", 2) == (1,)
    assert [note.message for note in notes(service)] == ["Nobody’s"]
    assert not service.database.read_now(personal_data.is_known, email)
    [entry] = service.stored()
    assert (entry.comment.status, entry.comment.source) == ("deleted", "")
    assert [row.recipient for row in waiting(service)] == [MO], "no mail about the others waits"


def test_notes_are_deleted_long_after_they_are_done(service: Served, seat: Seat) -> None:
    send(service)
    send(service, message="Thanked")
    send(service, message="Waits")
    seat.send("notes", id="1", do="done")
    seat.send("notes", id="2", do="thank")
    for days, left in ((-1, [1, 2, 3]), (1, [2, 3])):
        before = int(NOW * 1_000) + days * 24 * HOUR
        assert service.database.read_now(private_notes.is_due, DONE, before) == (days > 0)
        service.database.write_now(private_notes.delete_old, DONE, before, 100)
        assert [note.id for note in notes(service)] == left
    thanked, kept = notes(service)
    assert (thanked.message, thanked.author, thanked.email) == ("", "", "")
    assert kept.message == "Waits"
    assert service.database.write_now(retention.forget, "ann@home.example", "x", 1) == (1,)


def test_a_moderator_of_another_site_gets_no_mail(service: Served, seat: Seat) -> None:
    profile = service.database.read_now(profiles.named, "ann")
    limited = replace(profile, role="moderator", sites="notes", email=MO, verified_email=MO)
    service.database.write_now(profiles.save, replace(limited, role="owner", sites=""))
    service.database.write_now(profiles.save, limited)
    send(service)
    composer = MailComposer(NOTING, service.links)
    for row in waiting(service):
        assert service.database.read_now(composer.compose, row) is None


def test_the_setting_says_whether_forms_offer_notes(service: Served) -> None:
    token = "/api/form-token?url=/p/"
    assert data(service.get(token))["notes"] is True
    assert "notes" not in data(service.get(f"{token}&site=notes"))
    assert (
        'name="private"'
        not in service.get("/embed/thread?url=/p/&view=page&site=notes").body.decode()
    )


def test_notes_are_taken_while_comments_are_held_or_closed(tmp_path: Path) -> None:
    settings = replace(NOTING, moderation=ModerationSettings(policy="all"))
    with served(tmp_path, settings) as service:
        assert send(service) == 202
        assert notes(service)[0].state == NEW


WORDS = {
    "title": "zyxwva",
    "author": "zyxwvb",
    "email": "zyxwvc@zyxwvc.example",
    "quote": "zyxwvd",
    "message": "zyxwve",
}


def public(service: Served, folder: Path) -> dict[str, bytes]:
    """Return everything that others than moderators can get, by what it is."""
    found = {asked: service.get(asked).body for _, asked in requests(service)}
    origins = {SITE.name: SITE.origins[0]}

    def exported(write: Callable[..., None]) -> bytes:
        file = io.BytesIO()
        output = Output(file)
        pages = partial(contents.pages, selection=Selection())
        service.database.read_now(lambda snapshot: write(pages(snapshot), origins, output))
        output.flush()
        return file.getvalue()

    found |= {"Disqus": exported(disqus.write), "WordPress": exported(wordpress.write)}
    anonymous = Selection(anonymous=True)
    found["anonymous"] = msgspec.json.encode(
        service.database.read_now(lambda tx: [*contents.records(tx, anonymous)])
    )
    service.database.read_now(static_pages.write, [SITE], folder / "archive")
    service.database.read_now(hugo.write, SITE.name, folder / "hugo")
    for path in folder.rglob("*.*"):
        if path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def test_no_word_of_a_note_is_public_by_any_way(tmp_path: Path) -> None:
    """Each list, feed, count, export, archive, stream, cache, webhook and foreign interface."""
    site = replace(SITE, private_notes=True)
    settings = replace(NOTING, sites=(site,), hooks=ALL)
    with served(tmp_path, settings) as service:
        seat = seated(service)
        service.submit("Hello", url="/p/", author="Rosa")
        for row in waiting(service):
            service.database.write_now(outbox.mark_sent, row, "", 1)
        service.purged.clear()
        service.publisher.followed = {thread_tag("blog", "/p/"), site_tag("blog")}
        before = public(service, tmp_path / "before")
        note = WORDS | {"url": "/p/", "thank": True}
        assert service.post("/api/notes", note).status == 202
        assert service.post("/api/notes", note | {"url": "/zyxwvf/"}).status == 202
        seat.send("notes", id="1", do="answer", message="zyxwvg")
        after = public(service, tmp_path / "after")
        assert [what for what, said in after.items() if b"zyxwv" in said] == []
        assert {*after} == {*before}, "nor has a file or page come"
        fixed = {
            what
            for what, said in public(service, tmp_path / "again").items()
            if said == after[what]
        }
        assert [what for what in fixed if before[what] != after[what]] == []
        assert service.purged == []
        assert service.publisher.sent == []
        assert {(row.channel, row.recipient) for row in waiting(service)} == {
            ("mail", MO),
            ("mail", WORDS["email"]),
        }
        seat.send("notes", id="1", do="thank")
        after = public(service, tmp_path / "thanked")
        shown = b"".join(after.values())
        assert b"zyxwvb" in shown
        assert [letter for letter in "acdefg" if f"zyxwv{letter}".encode() in shown] == []


def test_programs_of_moderators_get_no_notes(service: Served) -> None:
    """A token that reads comments was not given for what readers wrote in confidence."""
    send(service, message="zyxwve")
    seat = seated(service)
    fields = {"name": "reads", "scope": "administer", "days": "90", "password": PASSWORD}
    [token] = re.findall(r"<code>(cs_[\w-]{43})</code>", text(seat.send("tokens", **fields)))
    for route in service.routes:
        if route.method == "GET" and route.pattern.startswith("/api/moderation/"):
            target = route.pattern.replace("{id}", "1")
            if "stream" not in target:
                answer = service.ask("GET", target, authorization=f"Bearer {token}")
                assert answer.status in (200, 400, 404), target
                assert b"zyxwve" not in answer.body


def test_no_answer_to_a_public_request_that_writes_has_a_word_of_a_note(tmp_path: Path) -> None:
    """Counts, votes, edits and lists that foreign clients ask for by POST, PUT or DELETE."""
    site = replace(SITE, private_notes=True)
    with served(tmp_path, replace(NOTING, sites=(site,))) as service:
        assert service.post("/api/notes", WORDS | {"url": "/p/", "thank": True}).status == 202
        page = dict.fromkeys(("url", "uri", "path", "page_key", "key"), "/p/")
        asked = 0
        for route in service.routes:
            if route.method == "GET" or route.pattern.startswith("/moderation"):
                continue
            if route.operation and route.operation.permission:
                continue
            target = route.pattern.replace("{id}", "1").replace("{path}", "1")
            for body in (page, ["/p/"], {**page, "email": WORDS["email"], "author": "Eve"}):
                answer = service.ask(route.method, target, msgspec.json.encode(body))
                assert b"zyxwv" not in answer.body, (route.method, route.pattern)
                asked += 1
        assert asked > 100
        assert service.stored() == []
