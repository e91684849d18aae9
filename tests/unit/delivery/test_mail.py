"""The content of mails, in text and HTML, whatever readers write."""

import re
from collections.abc import Iterator
from email import message_from_bytes, message_from_string, policy
from email.message import EmailMessage
from gettext import NullTranslations
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from commentsvc import outbox
from commentsvc.auth import account_mails, accounts
from commentsvc.auth.signed_links import SignedLinks
from commentsvc.comments import site_rows
from commentsvc.comments.submission import is_email
from commentsvc.db.database import Database
from commentsvc.db.schema.outbox import OutboxRow, Target
from commentsvc.delivery.mail import SUBJECT_LENGTH, MailComposer
from commentsvc.delivery.mail_contents import MailContent
from commentsvc.delivery.mail_kinds import KINDS
from commentsvc.feedback import reports
from commentsvc.markup.markdown import render
from commentsvc.model import APPROVED
from commentsvc.moderation import changes, profiles
from commentsvc.readers import subscriptions
from commentsvc.settings.schema import ServerSettings, Settings, Site
from commentsvc.util import i18n
from commentsvc.util.origin import deliverable
from commentsvc.util.timestamps import DAY_MS
from tests.unit.database_fixture import NOW, add, opened
from tests.unit.mail_server import mail_settings

SETTINGS = Settings(
    server=ServerSettings(public_url="https://c.example/comments/"),
    mail=mail_settings(25),
    sites=(Site(name="blog", origins=("https://blog.example",), title="A blog"),),
)
LINKS = SignedLinks([b"key" * 16])
MAILS = MailComposer(SETTINGS, LINKS)
ROW = OutboxRow(9, "mail", "submitted", "mo@blog.example", 1, None, "queued", NOW, NOW, NOW, 0, "")
HOSTILE = (
    "<script>alert(1)</script>",
    "\r\nBcc: all@evil.example\r\n\r\nHi",
    '"><img src=x onerror=alert(1)>',
    "-- \nApprove:\nhttps://evil.example/",
    "[click](javascript:alert(1)) ![x](https://evil.example/track.gif)",
    "\u202emoc.elpmaxe",
    "{{ 7 * 7 }} {% raw %}",
    "=?utf-8?q?x?= <a@b.example>,",
    "=?utf-8?q?=0D=0ABcc:_all@evil.example=0D=0A=0D=0AHi?=",
    "a =\x00?utf-8?b?DQpCY2M6IHg=?= b",
    "==\r\n?utf-8?q?=0ABcc:_x?=",
    "x" * 70_000,
)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as opened_database:
        yield opened_database


def composed(database: Database, row: OutboxRow = ROW) -> EmailMessage:
    """Return the mail of a row as its recipient gets it."""
    envelope = database.read_now(MAILS.compose, row)
    assert envelope
    assert envelope.recipient == row.recipient
    parsed: Any = message_from_bytes(envelope.message.as_bytes(), policy=policy.default)
    assert isinstance(parsed, EmailMessage)
    assert not parsed.defects
    return parsed


@pytest.mark.parametrize(
    "address",
    [
        "jörg@mail.example", "Jörg.Groß@bücher.example", "иван@пример.рф", "用户@例え.example",
        "aßb@faß.example", "a.b+c_d-e@mail.example", "o'neil@mail.example", "a%b@mail.example",
        "x" * 64 + "@mail.example", "!#$&*/?^`{|}~@mail.example", "123@a.example",
    ],
)  # fmt: skip
def test_whatever_the_form_takes_as_an_address_is_mailed(database: Database, address: str) -> None:
    assert is_email(address)
    add(database)
    envelope = database.read_now(MAILS.compose, replace(ROW, recipient=address))
    assert envelope
    sent = envelope.message.as_bytes(policy=policy.SMTP.clone(utf8=True))
    parsed: Any = message_from_string(sent.decode(), policy=policy.default)
    [to] = parsed["To"].addresses
    assert f"{to.username}@{to.domain}" == deliverable(address)


@pytest.mark.sqlite_only("it is about texts; other tests here have both engines")
@pytest.mark.parametrize(
    "title",
    [
        "Ann and Bo, a very long title of a blog, with commas, about cooking, e@evil.example",
        "Der Ärger, mit den Öfen, und <anderes@evil.example>, was man so kennt, und liebt",
        'Say "hello, world" to ' + "the very long title, " * 5 + "\\ end", "日本語、" * 30,
        "a, " * 60, *("," * n for n in (44, 45, 46, 47, 48)), *('"' * n for n in (22, 23, 24, 45)),
        "\\" * 24, "Ann & Bo: a blog", "x" * 200, "<", ",,,,", "(a) [b] {c}; d: e. f@g",
    ],
)  # fmt: skip
def test_a_mail_has_one_sender_whatever_the_blog_is_called(database: Database, title: str) -> None:
    """Regression: Python lost the quotation marks of a long name, and each comma began another."""
    add(database)
    site = replace(SETTINGS.sites[0], title=title)
    mails = MailComposer(replace(SETTINGS, sites=(site,)), LINKS)
    envelope = database.read_now(mails.compose, ROW)
    assert envelope
    for each in (policy.SMTP, policy.SMTP.clone(utf8=True), policy.default):
        sent = envelope.message.as_bytes(policy=each)
        parsed: Any = message_from_string(sent.decode(), policy=policy.default)
        [sender] = parsed["From"].addresses
        assert sender.addr_spec == SETTINGS.mail.sender
        assert not parsed["From"].defects


def part(message: EmailMessage, kind: str) -> str:
    body = message.get_body((kind,))
    assert body
    return str(body.get_content()).replace("\r\n", "\n")


class Outline(HTMLParser):
    """The tags and addresses of a mail; fails if anything could run or be loaded."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "img", "iframe", "form", "link", "object", "svg")
        for name, value in attrs:
            assert not name.startswith("on")
            assert name not in ("src", "srcset", "background")
            if name == "href":
                assert re.match("https?://|mailto:|/|$", value or "")
                self.links.append(value or "")


def test_a_moderator_reads_the_comment_and_finds_three_links(database: Database) -> None:
    add(database, status="pending", title="A walk", source="Hello *you*")
    message = composed(database)
    assert message["From"] == "A blog <comments@blog.example>"
    assert message["To"] == "mo@blog.example"
    assert message["Subject"] == "[A blog] Ann commented on “/post/”"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Message-ID"] == f"<submitted.9.{NOW}@blog.example>"
    text, html = part(message, "plain"), part(message, "html")
    assert "\n> Hello *you*\n" in text
    assert "<p>Hello <em>you</em></p>" in html
    links = re.findall(r"^https://c\.example/comments/mail/comment\?t=(\S+)$", text, re.MULTILINE)
    assert [LINKS.read("comment", link, NOW)[0] for link in links] == [
        "approved",
        "spam",
        "deleted",
    ]
    assert [link.partition("?t=")[2] for link in Outline(html).links if "?t=" in link] == links
    assert "https://blog.example/post/" in text


def test_a_mail_loads_no_picture_of_a_comment_and_has_its_description(database: Database) -> None:
    source = f"Look: ![a red bird](image:{'0' * 32}-640x480)"
    html = render(source, service="https://c.example/comments")
    assert "<img" in html
    add(database, status="pending", source=source, html=html)
    shown = part(composed(database), "html")
    Outline(shown)
    assert "<p>Look: a red bird</p>" in shown


def test_the_same_row_gives_the_same_mail(database: Database) -> None:
    add(database, status="pending")
    first, second = composed(database), composed(database)
    assert part(first, "html") == part(second, "html")
    assert first.items()[:-1] == second.items()[:-1]


@pytest.mark.parametrize(
    ("status", "says", "links"),
    [
        ("pending", "It is waiting for approval.", 3),
        ("approved", "It is published.", 2),
        ("spam", "It was marked as spam in the meantime.", 2),
        ("deleted", "It was deleted in the meantime.", 0),
    ],
)
def test_a_mail_tells_what_the_comment_is_by_now(
    database: Database, status: str, says: str, links: int
) -> None:
    add(database, status=status)
    message = composed(database)
    assert says in part(message, "plain")
    assert says in part(message, "html")
    assert part(message, "plain").count("mail/comment?t=") == links


def test_the_links_expire_after_the_days_of_the_settings(database: Database) -> None:
    add(database, status="pending")
    [token, *_] = re.findall(r"\?t=(\S+)", part(composed(database), "plain"))
    LINKS.read("comment", token, NOW + 14 * DAY_MS - 1_000)
    with pytest.raises(Exception, match="expired"):
        LINKS.read("comment", token, NOW + 14 * DAY_MS)


def test_of_a_comment_that_is_gone_there_is_no_mail(database: Database) -> None:
    assert database.read_now(MAILS.compose, ROW) is None


def test_mails_about_one_page_belong_together(database: Database) -> None:
    add(database)
    add(database)
    add(database, url="/other/")
    references = [
        composed(database, replace(ROW, comment_id=number))["References"] for number in (1, 2, 3)
    ]
    assert references[0] == references[1] != references[2]


def test_no_e_mail_address_of_an_author_is_told(database: Database) -> None:
    add(database, email="ann@secret.example")
    message = composed(database)
    assert "secret" not in message.as_string() + part(message, "html") + part(message, "plain")


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("field", ["author", "title", "url", "source"])
def test_no_text_of_a_reader_gets_out_of_its_place(
    database: Database, field: str, hostile: str
) -> None:
    texts: dict[str, Any] = {field: hostile, "html": render(hostile)}  # Any: as in `add`
    add(database, status="pending", **texts)
    message = composed(database)
    assert sorted(set(message.keys())) == [
        "Auto-Submitted",
        "Content-Type",
        "Date",
        "From",
        "MIME-Version",
        "Message-ID",
        "Precedence",
        "References",
        "Subject",
        "To",
        "X-Auto-Response-Suppress",
    ]
    assert message["To"] == "mo@blog.example"
    assert len(message["Subject"]) <= 150
    text, html = part(message, "plain"), part(message, "html")
    links = [link for link in Outline(html).links if link.startswith("https://c.example/")]
    assert len(links) == 4
    assert not re.search(r"^https://evil", text, re.MULTILINE), "it is quoted"
    add(database, status="pending")
    usual = part(composed(database, replace(ROW, comment_id=2)), "plain")
    ours, theirs = (
        [line for line in each.splitlines() if line[:1] != ">"] for each in (usual, text)
    )
    assert len(ours) == len(theirs), "whatever it is, it is a part of one line"
    assert max(len(line) for line in theirs if not line.startswith("https://blog.")) <= 700
    assert max(map(len, message.as_bytes().splitlines())) <= 998


# Each kind of mail, and where its text comes from that strangers choose: see the test of that name.
STRANGERS = {
    "submitted": "test_no_text_of_a_reader_gets_out_of_its_place",
    "digest": "as submitted",
    "reported": "test_the_words_of_who_reports_are_quoted",
    "published": "as submitted, without the author",
    "reply": "as submitted",
    "followed": "as submitted",
    **dict.fromkeys(("decided", "answered", "replied", "refused", "held"), "as submitted"),
    "confirm": "the address of a page with an approved comment, bounded",
    "follow": "test_no_line_of_a_stranger_is_mailed_to_who_shall_follow",
    "sign-in": "test_no_line_of_a_stranger_is_mailed_to_who_shall_sign_in",
    **dict.fromkeys(
        ("note", "note-refused", "note-answer"),
        "moderation/test_private_notes: test_a_note_cannot_disturb_the_page_or_the_mail",
    ),
    "notes": "none",
    "own": "none",
    **dict.fromkeys(outbox.NOTICES, "the canonical address of the page, bounded"),
    **dict.fromkeys(("mailed", "mailed-in-vain"), "the canonical address of a page, bounded"),
    "invitation": "none: an owner's name, and the site's of the settings",
    **dict.fromkeys(("confirm-address", *account_mails.CHANGES), "none"),
}


def test_it_is_known_of_each_kind_of_mail_what_strangers_write_in_it() -> None:
    assert {*STRANGERS} == {*KINDS} - {"test"}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_the_words_of_who_reports_are_quoted(database: Database, hostile: str) -> None:
    add(database, status="approved")
    for word, words in (("a-random-word", hostile), ("another-word", "")):
        reason = reports.Reason("spam", words)
        database.write_now(reports.report, 1, word, NOW, reason)
    message = composed(database, replace(ROW, kind="reported"))
    assert message["Subject"] == "[A blog] A reader reported the comment by Ann on “/post/”"
    text, html = part(message, "plain"), part(message, "html")
    assert "Reported by 2 readers: Spam or advertising (2)" in text
    ours_only = ("https://c.example/", "https://blog.example")
    assert all(link.startswith(ours_only) for link in Outline(html).links)
    ours = [line for line in text.splitlines() if line[:1] != ">"]
    assert "evil" not in "".join(ours)


def test_the_first_report_of_a_comment_is_mailed_unless_it_was_decided(database: Database) -> None:
    target = Target("mail", "mo@blog.example", digest_ms=DAY_MS)
    database.write_now(outbox.sync_targets, [target, Target("hook", "")])
    add(database, status="approved")

    def waiting() -> list[OutboxRow]:
        rows = database.read_now(outbox.due, "mail", NOW + 9, 9)
        return [row for row in rows if row.kind == "reported"]

    for word in ("a-random-word", "another-word"):
        database.write_now(reports.report, 1, word, NOW)
    [row] = waiting()
    assert row.recipient == "mo@blog.example"
    assert database.read_now(MAILS.compose, row)
    database.write_now(changes.change, [1], APPROVED, "mo", NOW)
    assert database.read_now(MAILS.compose, row) is None, "it is kept"
    database.write_now(reports.report, 1, "a-third-word", NOW)
    assert len(waiting()) == 2


def test_a_flood_of_reports_is_no_flood_of_mails(database: Database) -> None:
    database.write_now(outbox.sync_targets, [Target("mail", "mo@blog.example")])
    for number in range(1, outbox.HOURLY + 2):
        add(database, status="approved")
        database.write_now(reports.report, number, "a-random-word", NOW)
    rows = [
        row for row in database.read_now(outbox.due, "mail", NOW + 9, 99) if row.kind == "reported"
    ]
    for row in rows[:-1]:
        assert not database.read_now(outbox.is_flooding, row, NOW)
        database.write_now(outbox.mark_sent, row, "", NOW)
    assert database.read_now(outbox.is_flooding, rows[-1], NOW)
    database.write_now(outbox.collect, rows[-1], NOW)
    left = database.read_now(outbox.due, "mail", NOW + 9, 99)
    assert [row for row in left if row.kind == "reported"] == []
    assert not database.read_now(outbox.is_flooding, rows[-1], NOW + DAY_MS)


@pytest.mark.parametrize("tag", ["en", "de", "ja"])
def test_a_long_address_leaves_the_whole_subject_in_a_mail(database: Database, tag: str) -> None:
    add(database, url="/%E4%BD%A0" + "/a" * 900, author="Ann " * 15)
    mail = replace(SETTINGS.mail, language=tag)
    settings = replace(SETTINGS, mail=mail)
    made = database.read_now(MailComposer(settings, LINKS).compose, ROW)
    assert made
    subject = str(made.message["Subject"])
    assert ("Ann " * 15).strip() in subject
    assert "/你/a/a/a" in subject
    assert len(subject) <= SUBJECT_LENGTH
    saying = KINDS["submitted"].subject
    assert isinstance(saying, i18n.Message)
    closing = i18n.translate(saying, tag).rpartition("%(title)s")[2]
    assert subject.endswith(closing)


@given(st.text(), st.text())
def test_no_name_or_title_makes_a_mail_impossible(name: str, title: str) -> None:
    values = {"comments": [], "number": 1, "may_answer": False, "account": ""}
    content = MailContent(values, subject={"author": name, "title": title})
    envelope = MAILS._envelope(replace(ROW, recipient="a@b.example"), content)
    head = envelope.message.as_bytes().partition(b"\r\n\r\n")[0]
    names = [line.split(b":")[0] for line in head.split(b"\r\n") if line[:1] not in b" \t"]
    assert names == [name.encode() for name in envelope.message.keys()]  # noqa: SIM118 - no dict
    assert envelope.message["To"] == "a@b.example"


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_title_of_a_site_gets_out_of_its_place(database: Database, hostile: str) -> None:
    add(database, status="pending")
    site = Site(name="blog", origins=("https://blog.example",), title=hostile)
    mails = MailComposer(replace(SETTINGS, sites=(site,)), LINKS)
    envelope = database.read_now(mails.compose, ROW)
    assert envelope
    parsed: Any = message_from_bytes(envelope.message.as_bytes(), policy=policy.default)
    assert parsed.keys() == envelope.message.keys()
    [sender] = parsed["From"].addresses
    assert sender.addr_spec == "comments@blog.example"


def digest(database: Database, number: int) -> EmailMessage:
    for each in range(number):
        add(database, status="pending", source=f"No {each}", author=f"A{each}")
    return composed(database, replace(ROW, kind="digest", last_comment_id=number))


def test_a_digest_tells_of_all_comments_with_links_for_each(database: Database) -> None:
    message = digest(database, 3)
    assert message["Subject"] == "[A blog] 3 new comments"
    text = part(message, "plain")
    assert re.findall(r"^> No \d", text, re.MULTILINE) == ["> No 0", "> No 1", "> No 2"]
    links = Outline(part(message, "html")).links
    assert text.count("mail/comment?t=") == len(links) - 6 == 9
    assert text.count("/moderation/comment?id=") == 3


def test_a_long_digest_is_cut_and_says_so(database: Database) -> None:
    message = digest(database, 60)
    assert message["Subject"] == "[A blog] 60 new comments"
    for kind in ("plain", "html"):
        assert "And 10 more" in part(message, kind)


def test_a_digest_of_what_is_spam_by_now_is_not_sent(database: Database) -> None:
    add(database, status="spam")
    row = replace(ROW, kind="digest", last_comment_id=1)
    assert database.read_now(MAILS.compose, row) is None


def test_a_test_mail_names_the_address_of_the_links() -> None:
    envelope = MAILS.test("mo@blog.example", 7, NOW)
    message: Any = message_from_bytes(envelope.message.as_bytes(), policy=policy.default)
    assert "https://c.example/comments" in part(message, "plain")
    assert Outline(part(message, "html")).links == ["https://c.example/comments"]


@pytest.mark.parametrize(
    ("language", "subject", "direction"),
    [
        ("", "Do you want a mail when someone replies to you?", "ltr"),
        ("de", "Möchtest du eine E-Mail bekommen, wenn dir jemand antwortet?", "ltr"),
        ("ar", "هل تريد رسالة عندما يرد عليك أحد؟", "rtl"),
    ],
)
def test_an_author_is_mailed_in_the_language_of_the_page(
    database: Database, language: str, subject: str, direction: str
) -> None:
    add(database, email="ann@x.example", notify=True, language=language)
    message = composed(database, replace(ROW, kind="confirm", recipient="ann@x.example"))
    assert message["Subject"].replace(" ", "") == f"[A blog]{subject}".replace(" ", "")
    assert f'dir="{direction}">' in part(message, "html")
    assert (f"&lang={language}" in part(message, "plain")) == bool(language)
    database.write_now(subscriptions.confirm, 1, NOW)
    add(database, parent=1, author="Bo")
    reply = composed(database, replace(ROW, kind="reply", comment_id=2, recipient="ann@x.example"))
    assert f'dir="{direction}">' in part(reply, "html")


@pytest.mark.parametrize(("status", "label"), [("pending", "Approve"), ("approved", "Answer")])
def test_the_likeliest_action_comes_first(database: Database, status: str, label: str) -> None:
    add(database, status=status)
    [first] = re.findall(r'class="button first"[^>]*>([^<]*)<', part(composed(database), "html"))
    assert first == label


def test_moderators_are_mailed_in_the_language_of_the_settings(database: Database) -> None:
    add(database, status="pending")
    settings = replace(SETTINGS, mail=replace(SETTINGS.mail, language="de"))
    envelope = database.read_now(MailComposer(settings, LINKS).compose, ROW)
    assert envelope
    assert envelope.message["Subject"] == "[A blog] Ann hat „/post/“ kommentiert"
    own = replace(ROW, kind="own", language="fr", recipient="ann@x.example")
    add(database, email="ann@x.example")
    envelope = database.read_now(MAILS.compose, own)
    assert envelope
    assert envelope.message["Subject"] == "[A blog] Vos commentaires"


class Pseudo(NullTranslations):
    """A language in which each text is enclosed in ⟦ and ⟧."""

    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"⟦{msgid1 if n == 1 else msgid2}⟧"


@pytest.mark.parametrize("kind", ["submitted", "digest", "confirm", "published", "reply", "own"])
def test_a_mail_says_nothing_past_the_catalogue(
    database: Database, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pseudo = i18n.Language("en", lambda _: b"{}", for_moderators=True)
    pseudo.translations = Pseudo()
    monkeypatch.setattr(i18n, "languages", lambda: {"en": pseudo})
    add(database, email="ann@x.example", author="0", source="0", html="0", notify=True)
    if kind in ("published", "reply"):
        database.write_now(subscriptions.confirm, 1, NOW)
    if kind == "reply":
        add(database, author="0", source="0", html="0", parent=1)
    row = replace(ROW, kind=kind, recipient="ann@x.example", last_comment_id=2)
    message = composed(database, replace(row, comment_id=2) if kind == "reply" else row)
    html = re.sub(r"<style>.*?</style>|<[^>]+>", " ", part(message, "html"), flags=re.DOTALL)
    for said in (message["Subject"], part(message, "plain"), html):
        said = re.sub(r"https?://\S+|/post/|ann@x\.example|A blog", "", said)
        while "⟦" in said:
            said = re.sub(r"⟦[^⟦⟧]*⟧", "", said)
        assert not re.search(r"[^\W\d_]", said), said


def test_mails_to_an_account_are_about_its_sites_and_what_it_may_do(database: Database) -> None:
    database.write_now(site_rows.sync, ["blog", "notes"])
    for site in ("blog", "notes"):
        add(database, status="pending", site=site, source=f"on {site}")
    for name in ("ann", "mo"):
        database.write_now(accounts.add, name, "hash", NOW)
    mo = database.read_now(profiles.named, "mo")
    database.write_now(profiles.verify, mo, ROW.recipient)
    database.write_now(profiles.assign, "mo", "moderator", ["notes"])
    assert database.read_now(MAILS.compose, ROW) is None
    message = composed(database, replace(ROW, kind="digest", last_comment_id=2))
    assert message["Subject"] == "[blog] 1 new comment"
    text = part(message, "plain")
    assert "on notes" in text
    assert "on blog" not in text
    assert text.count("mail/comment?t=") == 3
    mo = database.read_now(profiles.named, "mo")
    for email in ("", ROW.recipient.upper()):  # which nobody has confirmed
        database.write_now(profiles.save, replace(mo, email=email))
    message = composed(database, replace(ROW, comment_id=2))
    assert "mail/" not in part(message, "plain")
    assert "https://c.example/comments/moderation/account" in part(message, "plain")
    assert "Reply-To" not in message
    database.write_now(profiles.verify, mo, ROW.recipient)
    database.write_now(profiles.assign, "mo", "viewer", [])
    message = composed(database)
    assert "on blog" in part(message, "plain")
    assert "mail/comment" not in part(message, "plain")
    assert "Reply-To" not in message
