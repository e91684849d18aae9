"""Comments by mail: from the link on a page to the comment, and what never leads to one."""

import asyncio
import dataclasses
import json
import re
from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage
from email.parser import BytesHeaderParser
from email.policy import SMTP
from functools import partial
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

import feedparser
import pytest
from msgspec.structs import replace

from commentsvc import outbox
from commentsvc.auth import accounts
from commentsvc.auth.reply_addresses import REPLY, ReplyAddresses
from commentsvc.comments.page_urls import Sites
from commentsvc.db.connection import Transaction
from commentsvc.db.schema.inbox import MailedCommentTable
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.delivery.mail import MailComposer
from commentsvc.inbox import automatic
from commentsvc.inbox.comment_mail import language, page, sender, why_forged
from commentsvc.inbox.message import Unwanted
from commentsvc.moderation import personal_data, profiles, retention
from commentsvc.readers import mailed_comments
from commentsvc.settings.schema import InboxSettings, MailSettings, ServerSettings, Site
from commentsvc.spam import bans
from commentsvc.util.i18n import languages
from commentsvc.util.timestamps import DAY_MS, HOUR_MS
from tests.unit.app_fixture import SETTINGS, Served, data, served, waiting
from tests.unit.inbox import public_mails
from tests.unit.inbox.mail_programs import Original
from tests.unit.inbox.test_reply_text import ORIGINAL
from tests.unit.processor_time import assert_quick

ANN = "ann@mail.example"
TAKING = replace(
    SETTINGS,
    server=ServerSettings(public_url="https://c.example"),
    mail=MailSettings(host="localhost", sender="no-reply@blog.example"),
    inbox=InboxSettings(address="comments@blog.example"),
    sites=(
        Site(name="blog", origins=("https://blog.example",), title="A blog", comments_by_mail=True),
        Site(name="shop", origins=("https://shop.example",), comments_by_mail=True),
        Site(name="quiet", origins=("https://quiet.example",)),
    ),
)
PAGE = "https://blog.example/a/?n=1"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, TAKING) as running:
        yield running


def link(service: Served, page: str = PAGE, lang: str = "en") -> tuple[str, str]:
    """Return the address and the subject of the link on the page to write a mail."""
    answer = service.get("/mail/write?" + urlencode({"url": page, "lang": lang}))
    assert answer.status == 200
    [mailto] = re.findall(r'href="mailto:([^"]+)"', answer.body.decode())
    address, _, query = unescape(mailto).partition("?")
    return unquote(address), parse_qs(query)["subject"][0]


def written(to: str, subject: str, words: str = "Hello *you*!", **fields: str) -> bytes:
    """Return a mail; "" leaves a field out."""
    message = EmailMessage(policy=SMTP)
    given = {"From": f"Ann Ash <{ANN}>", "To": to, "Subject": subject} | {
        name.replace("_", "-"): value for name, value in fields.items()
    }
    for name, value in given.items():
        if value:
            message[name] = value
    message.set_content(words)
    return message.as_bytes()


def take(service: Served, raw: bytes) -> bool:
    return asyncio.run(service.receiver.take(raw))


def mails(service: Served) -> list[tuple[OutboxRow, str]]:
    """Take all mails out of the outbox; return their rows and texts."""
    found = []
    for row in waiting(service):
        envelope = service.database.read_now(MailComposer(TAKING, service.links).compose, row)
        service.database.write_now(outbox.mark_sent, row, "", 1)
        if envelope:
            body = envelope.message.get_body(("plain",))
            assert body
            found.append((row, str(body.get_content())))
    return found


def asked(service: Served, raw: bytes) -> str:
    """Return the path of the link that the sender of a mail gets."""
    take(service, raw)
    [(row, text)] = mails(service)
    assert row.kind == mailed_comments.MAILED
    assert row.recipient in message_from_bytes(raw)["From"]
    [path] = re.findall(r"https://c\.example(/mail/submit\?t=\S+)", text)
    return str(path)


def fields(page: bytes) -> dict[str, str]:
    html = page.decode()
    [name] = re.findall(r'name="name"[^>]* value="([^"]*)"', html)
    [message] = re.findall(r"<textarea[^>]*>\n([^<]*)</textarea>", html)
    return {"name": unescape(name), "message": unescape(message)}


def test_a_mail_becomes_a_comment_when_its_sender_has_confirmed(service: Served) -> None:
    to, subject = link(service)
    assert subject == f"Comment on {PAGE}"
    path = asked(service, written(to, subject, "Hello *you*!\n\n-- \nAnn, on the road"))
    assert not service.stored(), "nothing is judged before"
    shown = service.get(path)
    form = fields(shown.body)
    assert form == {"name": "Ann Ash", "message": "Hello *you*!"}
    assert ANN not in shown.body.decode()
    assert service.form(path, urlencode(form)).status == 200
    [entry] = service.stored()
    assert (entry.site, entry.url) == ("blog", "/a/?n=1")
    assert (entry.comment.author, entry.comment.source) == ("Ann Ash", "Hello *you*!")
    assert entry.comment.email == ANN
    assert service.form(path, urlencode(form)).status == 410
    assert len(service.stored()) == 1
    for target in ("/api/comments?url=/a/?n=1", "/feed.atom", "/feed.json", "/api/comments"):
        assert b"mail.example" not in service.get(target).body


def test_the_sender_may_correct_the_text_and_the_name(service: Served) -> None:
    path = asked(service, written(*link(service), From=f'"{ANN}" <{ANN}>'))
    form = fields(service.get(path).body)
    assert form["name"] == "", "an address is no name"
    refused = service.form(path, urlencode(form))
    assert refused.status == 400
    assert fields(refused.body)["message"] == "Hello *you*!"
    assert service.form(path, urlencode({"name": "Ash", "message": "Hi"})).status == 200
    assert service.stored()[0].comment.source == "Hi"


def test_the_page_asks_for_what_the_site_asks_for(tmp_path: Path) -> None:
    asking = replace(
        TAKING.sites[0],
        name_field="hidden",
        email_field="hidden",
        website_field="required",
        agreement="I have read the rules",
        guidelines="Be *kind*.",
    )
    with served(tmp_path, replace(TAKING, sites=(asking,))) as service:
        path = asked(service, written(*link(service)))
        shown = service.get(path).body.decode()
        assert "Be <em>kind</em>." in shown
        assert 'name="name"' not in shown
        form = {"message": "Hi", "site": "https://ann.example", "agreed": "yes"}
        for field in ("site", "agreed"):
            assert service.form(path, urlencode(form | {field: ""})).status == 400
        assert service.form(path, urlencode(form)).status == 200
        comment = service.stored()[0].comment
        assert (comment.email, comment.site) == ("", "https://ann.example")


def test_a_confirmed_comment_passes_the_same_checks_as_any_other(service: Served) -> None:
    service.database.write_now(bans.add, "word", "casino", "mo", 1)
    path = asked(service, written(*link(service), "A casino"))
    assert service.form(path, urlencode({"name": "Ann", "message": "A casino"})).status == 200
    assert service.stored()[0].comment.status == "spam"

    def own_name(tx: Transaction) -> None:
        accounts.add(tx, "mo", "hash", 1)
        profiles.save(tx, replace(profiles.named(tx, "mo"), public_name="Mo Owner"))

    service.database.write_now(own_name)
    path = asked(service, written(*link(service), Message_ID="<2@mail.example>"))
    service.form(path, urlencode({"name": "Mo Owner", "message": "Mine"}))
    assert service.stored()[0].comment.status == "pending"


def test_the_address_of_a_page_counts_for_no_other_page_and_no_other_site(service: Served) -> None:
    to, subject = link(service)
    for other in ("https://blog.example/b/", "https://shop.example/a/?n=1", "/a/", "hello"):
        take(service, written(to, f"Comment on {other}", From=f"a{len(other)}@mail.example"))
        [(row, text)] = mails(service)
        assert row.kind == mailed_comments.UNREADABLE
        assert "/mail/submit" not in text
    forged = to.replace(to[12], "a" if to[12] != "a" else "b")
    assert not take(service, written(forged, subject, From="eve@mail.example"))
    assert not mails(service)


def test_no_mail_goes_to_machines_lists_and_forged_senders(service: Served) -> None:
    for given in (
        {"Auto_Submitted": "auto-replied"},
        {"Precedence": "bulk"},
        {"List_Id": "<list.example>"},
        {"Return_Path": "<>"},
        {"From": "MAILER-DAEMON@mail.example"},
        {"From": ""},
        {"From": "a@mail.example, b@mail.example"},
        {"From": "comments@blog.example"},
        {"From": "no-reply@blog.example"},
        {"From": "Ann <not an address>"},
        {"Authentication_Results": "mx.example; dkim=none; dmarc=fail (p=none)"},
        {"Authentication_Results": "mx.example; SPF=Fail smtp.mailfrom=mail.example"},
        {"Received_SPF": "fail (mx.example: not a sender)"},
        {"Authentication_Results": "mx.example; dkim=pass; spf=fail; dmarc=none"},
        {"Authentication_Results": "mx.example; dkim=pass header.d=eve.example; spf=fail"},
        {"Authentication_Results": "mx; dkim=pass header.i=@mail.example.eve.example; spf=fail"},
        {"Authentication_Results": "mx; dkim=fail header.d=mail.example; spf=fail; dkim=pass"},
        {"X_Spam_Flag": "YES"},
        {"X_Spam_Status": "Yes, score=9.1"},
    ):
        assert not take(service, written(*link(service), **given)), given
    assert not mails(service)


def test_a_forwarded_mail_is_answered_and_only_to_its_sender(service: Served) -> None:
    for number, given in enumerate(
        (
            {"Authentication_Results": "mx.example; dkim=pass; spf=fail; dmarc=pass"},
            {"Authentication_Results": "mx.example; dkim=fail; spf=softfail; dmarc=none"},
            {"Authentication_Results": "mx.example; dkim=pass header.d=mail.example; spf=fail"},
            {"Authentication_Results": 'mx; dkim=pass header.i="x@m.Mail.example" a=b; spf=fail'},
            {"X_Spam_Status": "No, score=-1"},
            {"Reply_To": "other@mail.example"},
        )
    ):
        asked(service, written(*link(service), From=f"r{number}@mail.example", **given))


def test_an_address_gets_few_mails_of_which_no_comment_comes(service: Served) -> None:
    mail = link(service)
    for number in range(10):
        take(service, written(*mail, Message_ID=f"<{number}@x.example>"))
    assert len(mails(service)) == mailed_comments.UNCONFIRMED
    service.now += 29 * DAY_MS / 1_000
    mail = link(service)
    take(service, written(*mail, From="<ANN@MAIL.example>", Message_ID="<x@x.example>"))
    assert not mails(service), "in no other spelling"
    service.now += 2 * DAY_MS / 1_000
    take(service, written(*mail, Message_ID="<y@x.example>"))
    assert len(mails(service)) == 1


def test_what_follows_a_plus_is_no_other_mailbox_but_another_address(service: Served) -> None:
    mail = link(service)
    for number in range(10):
        take(service, written(*mail, From=f"ann+{number}@mail.example", Message_ID=f"<{number}@x>"))
    assert len(mails(service)) == mailed_comments.UNCONFIRMED
    waiting = service.database.read_now(mailed_comments.of_address, "Ann+1@mail.example")
    assert [each.email for each in waiting] == ["ann+1@mail.example"]


def test_who_confirms_may_write_often(service: Served) -> None:
    for number in range(2 * mailed_comments.UNCONFIRMED):
        raw = written(*link(service), f"Number {number}", Message_ID=f"<{number}@x.example>")
        path = asked(service, raw)
        assert service.form(path, urlencode(fields(service.get(path).body))).status == 200
    assert len(service.stored()) == 2 * mailed_comments.UNCONFIRMED


def test_a_flood_from_many_addresses_makes_few_mails_and_rows(service: Served) -> None:
    mail = link(service)
    for number in range(mailed_comments.ALL_HOURLY + 10):
        take(service, written(*mail, From=f"r{number}@mail{number}.example"))
    assert len(mails(service)) == mailed_comments.ALL_HOURLY
    rows = service.database.read_now(lambda snapshot: snapshot.query(MailedCommentTable.select()))
    assert len(rows) == mailed_comments.ALL_HOURLY


def test_a_domain_gets_few_mails_of_which_no_comment_comes(service: Served) -> None:
    """One person may have all addresses of a domain."""
    mail, most = link(service), mailed_comments.DOMAIN_DAILY
    for number in range(most + 5):
        take(service, written(*mail, From=f"r{number}@Mail.example", Message_ID=f"<{number}@x>"))
    assert len(mails(service)) == most
    asked(service, written(*mail, From="r@other.example"))
    for number in range(2):
        asked(service, written(*mail, From=f"r{number}@gmail.com", Message_ID=f"<g{number}@x>"))


def test_forged_senders_close_no_domain(service: Served, caplog: pytest.LogCaptureFixture) -> None:
    """Regression: 15 mails with invented names closed the address to all others of a domain."""
    mail = link(service)
    for number in range(mailed_comments.DOMAIN_DAILY + 5):
        sent = written(*mail, From=f"r{number}@mail.example", Message_ID=f"<{number}@x>")
        with caplog.at_level("INFO"):
            take(service, sent)
    assert "15 comments by mail from mail.example within a day" in caplog.text
    mails(service)
    for result in ("dmarc=pass", "dkim=pass header.d=mail.example"):
        known = {"Authentication_Results": f"mx.example; {result}"}
        sent = written(*mail, From=f"{len(result)}@mail.example", Message_ID="", **known)
        asked(service, sent)
    below = {"Authentication_Results": "mx; dmarc=none\r\nAuthentication-Results: x; dmarc=pass"}
    sent = written(*mail, From="forged@mail.example").replace(
        b"From:", f"Authentication-Results: {below['Authentication_Results']}\r\nFrom:".encode(), 1
    )
    take(service, sent)
    assert not mails(service), "the mail server says so, not the sender"


@pytest.mark.parametrize(
    ("domain", "is_one"),
    [
        ("{}.mail.example", True),
        ("a.{}.mail.co.uk", True),
        ("mail{}.co.uk", False),
        ("m{}.de", False),
    ],
)
def test_the_domains_below_one_are_counted_together(
    service: Served, domain: str, is_one: bool
) -> None:
    mail, most = link(service), mailed_comments.DOMAIN_DAILY
    for number in range(most + 5):
        sent = written(*mail, From=f"r@{domain.format(number)}", Message_ID=f"<{number}@x>")
        take(service, sent)
    assert len(mails(service)) == (most if is_one else most + 5)


def test_an_authenticated_domain_is_bounded_too(service: Served) -> None:
    mail, most = link(service), mailed_comments.AUTHENTICATED_DAILY
    for number in range(most + 5):
        service.now += HOUR_MS / 1_000 / 20
        known = {"Authentication_Results": "mx.example; dmarc=pass"}
        take(
            service,
            written(*mail, From=f"r{number}@Mail.example", **known, Message_ID=f"<{number}@x>"),
        )
    assert len(mails(service)) == most


def test_at_a_large_provider_many_may_write(service: Served) -> None:
    mail, most = link(service), mailed_comments.DOMAIN_DAILY
    for number in range(most + 5):
        take(service, written(*mail, From=f"r{number}@gmail.com", Message_ID=f"<{number}@x>"))
    assert len(mails(service)) == most + 5


def test_a_mail_that_comes_twice_is_answered_once(service: Served) -> None:
    raw = written(*link(service))
    asked(service, raw)
    assert take(service, raw)
    assert not mails(service)


def test_two_mails_of_one_moment_get_two_links(service: Served) -> None:
    mail = link(service)
    for number in range(2):
        take(service, written(*mail, f"Number {number}", Message_ID=f"<{number}@x.example>"))
    found = re.findall(r"/mail/submit\?t=\S+", " ".join(text for _, text in mails(service)))
    texts = [fields(service.get(path).body)["message"] for path in found]
    assert texts == ["Number 0", "Number 1"]


def test_what_is_not_confirmed_in_time_is_deleted(service: Served) -> None:
    path = asked(service, written(*link(service)))
    service.now += 2 * DAY_MS / 1_000
    assert service.get(path).status == 410
    service.database.write_now(mailed_comments.drop_old, service.clock.now_ms() + 1)
    query = MailedCommentTable.select(
        MailedCommentTable.email, MailedCommentTable.words, MailedCommentTable.author
    )
    assert service.database.read_now(lambda snapshot: snapshot.query(query)) == [("", "", "")]
    service.now += 31 * DAY_MS / 1_000
    service.database.write_now(mailed_comments.drop_old, service.clock.now_ms())
    assert not service.database.read_now(lambda snapshot: snapshot.query(query))


def test_the_address_of_a_page_expires(service: Served) -> None:
    mail = link(service)
    service.now += 31 * DAY_MS / 1_000
    assert not take(service, written(*mail))


def test_a_banned_sender_gets_no_mail(service: Served) -> None:
    service.database.write_now(bans.add, "author", "Ann@Mail.example", "mo", 1)
    take(service, written(*link(service)))
    assert not mails(service)


def test_waiting_mails_belong_to_a_persons_own_data(service: Served) -> None:
    asked(service, written(*link(service), "My words"))
    found = service.database.read_now(personal_data.export, ANN, service.clock.now_ms())
    assert [(each.url, each.message) for each in found.by_mail] == [("/a/?n=1", "My words")]
    assert service.database.read_now(personal_data.is_known, "ANN@mail.example")
    service.database.write_now(retention.forget, ANN, "mo", service.clock.now_ms())
    assert not service.database.read_now(personal_data.is_known, ANN)


def test_a_site_without_the_setting_offers_and_takes_nothing(service: Served) -> None:
    assert service.get("/mail/write?url=https://quiet.example/").status == 404
    for site, offered in (("blog", True), ("quiet", False)):
        query = urlencode({"url": "/a/", "site": site})
        assert data(service.get(f"/api/form-token?{query}")).get("by_mail", False) is offered
        for target in (f"/embed/thread?{query}", f"/embed/thread?{query}&view=page"):
            assert (b"mail/write?" in service.get(target).body) is offered
    addresses = ReplyAddresses(service.service.keys, TAKING.inbox.address)
    expires = service.clock.now_ms() + DAY_MS
    to = addresses.make_for_page("quiet", "/", "en", expires)
    take(service, written(to, "Comment on https://quiet.example/"))
    assert [row.kind for row, _ in mails(service)] == [mailed_comments.UNREADABLE]


def test_the_address_and_the_subject_are_understood_in_all_languages(service: Served) -> None:
    addresses = ReplyAddresses(service.service.keys, TAKING.inbox.address)
    sites = Sites(TAKING.sites)
    for tag in languages():
        to, subject = link(service, lang=tag)
        head = BytesHeaderParser().parsebytes(written(to, subject).partition(b"\r\n\r\n")[0])
        assert not automatic.reason(head), tag
        word = addresses.find(to)
        assert word
        assert language(word) == tag
        assert page(automatic.subject(head), word, sites) == ("blog", "/a/?n=1"), tag
        broken = f"{subject[:-9]}\n {subject[-9:]}"
        assert page(broken, word, sites) == ("blog", "/a/?n=1"), tag


def test_each_entry_of_a_feed_has_the_link_to_write(service: Served) -> None:
    for url in ("https://blog.example/a/?b=2&n=1", "https://quiet.example/a/"):
        assert service.submit("Hi", url).status == 201
        address = quote(urlsplit(url)._replace(scheme="", netloc="").geturl(), safe="")
        name = "blog" if "blog" in url else "quiet"
        link = f"https://c.example/mail/write?url={address}&site={name}&lang=en"
        query = urlencode({"site": name})
        html = data_of_feed(service.get(f"/feed.json?{query}").body)
        atom = feedparser.parse(service.get(f"/feed.atom?{query}").body)
        rss = feedparser.parse(service.get(f"/feed.rss?{query}").body)
        assert [atom.bozo, rss.bozo] == [False, False]
        shown = [html, atom.entries[0].content[0].value, rss.entries[0].summary]
        assert all((link in unescape(each)) is (name == "blog") for each in shown), shown


def data_of_feed(body: bytes) -> str:
    return str(json.loads(body)["items"][0]["content_html"])


@pytest.mark.parametrize(
    ("given", "name", "email"),
    [
        ("Ann <ann@mail.example>", "Ann", ANN),
        ('"Ash, Ann" <ann@mail.example>', "Ash, Ann", ANN),
        ("=?utf-8?q?J=C3=B6rg?= <ann@mail.example>", "Jörg", ANN),
        ("Jörg <jörg@mail.example>", "Jörg", "jörg@mail.example"),
        ("'Ann' <ann@mail.example>", "Ann", ANN),
        ("Ann\r\n <ann@mail.example>", "Ann", ANN),
        ("ann@mail.example", "", ANN),
        ("ann@mail.example (Ann)", "Ann", ANN),
        ("\u202eevil\u202c <ann@mail.example>", "evil", ANN),
        ("=?utf-8?q?a=0D=0ABcc=3A=20b?= <ann@mail.example>", "a Bcc: b", ANN),
        ("=?utf-8?q?a=40mail=2Eexample?=", "", ""),
        ("Ann <=?utf-8?q?a=40mail=2Eexample?=>", "Ann", ""),
        ("Ann <ann@mail.example\u200b>", "Ann", ""),
        ("a" * 2_000 + " <ann@mail.example>", "", ""),
        ("Ann <ann@mail.example>, Bob <bob@mail.example>", "", ""),
        ("Ann <ann@mail.example>\r\nFrom: bob@mail.example", "", ""),
    ],
)
def test_name_and_address_come_from_the_sender(given: str, name: str, email: str) -> None:
    fields_of_mail = BytesHeaderParser().parsebytes(f"From: {given}\r\n\r\n".encode())
    assert sender(fields_of_mail) == (name, email)


def test_public_mails_are_read_as_answers_are(service: Served) -> None:
    """Real mails in many encodings, with attachments and HTML alone, sent to a page."""
    to, subject = link(service)
    parser, now = service.receiver._parser, service.clock.now_ms()
    reply_to = ReplyAddresses(service.service.keys, TAKING.inbox.address).make(
        REPLY, 1, 1, ANN, now + DAY_MS
    )
    seen = 0
    for path in sorted((public_mails.fetched() / "tests" / "mails").iterdir()):
        if path.name in ("mail_outlook_1", "mail_malformed_2"):  # no mail; a report
            continue
        raw = public_mails.as_answer(path.read_bytes(), replace_original(ORIGINAL, reply_to))
        to_page = raw.replace(reply_to.encode(), to.encode())
        to_page = to_page.replace(b"Subject: Re: hi", f"Subject: {subject}".encode())
        try:
            mail = parser.read_comment(to_page, now)
        except Unwanted:  # it is spam, said the mail server that took it
            continue
        assert mail
        assert (mail.email, mail.url) == (ANN, "/a/?n=1")
        assert mail.words == parser.without_addresses(parser.read(raw).words), path.name
        seen += 1
    assert seen >= 20


def replace_original(original: Original, reply_to: str) -> Original:
    return dataclasses.replace(original, reply_to=reply_to)


# What a mail server says of a signature, and whether it is of the sender's domain.
SIGNED = {
    "header.d=mail.example": True,
    "(2048-bit key; unprotected) header.d=mail.example": True,
    "(a (nested; b) c) header.i=@mail.example (d) header.b=x": True,
    '(a \\) b " ; ) header . d = mail.example': False,
    "header.d = mail.example": True,
    'reason="good; header.d=eve.example" header.d=mail.example': True,
    "header.i=ann@mail.example header.d=mail.example": True,
    'header.i="a b"@mail.example': True,
    "header.i=mail.example@eve.example": False,
    'header.i="x@mail.example"@eve.example': False,
    'header.i="x header.d=mail.example"@eve.example': False,
    "header.i=x@mail.example header.d=eve.example": False,
    "header.d=eve.example header.d=mail.example": False,
    'reason="header.d=mail.example" header.d=eve.example': False,
    'reason="a\\" header.d=mail.example" header.d=eve.example': False,
    "(header.d=mail.example) header.d=eve.example": False,
    "(a; dmarc=pass) header.d=eve.example": False,
    'reason="; dmarc=pass; dkim=pass header.d=mail.example"': False,
    "header.d=eve.example; x=y dkim=pass header.d=mail.example": False,
    "header.d=example": False,
    "header.d=": False,
    "": False,
}


@pytest.mark.parametrize(("said", "is_own"), SIGNED.items())
def test_only_a_signature_of_the_senders_own_domain_counts(said: str, is_own: bool) -> None:
    """Regression: the signer could write the domain of somebody else into what it chooses."""
    head = f"From: ann@mail.example\r\nAuthentication-Results: mx; spf=fail; dkim=pass {said}\r\n"
    fields_of_mail = BytesHeaderParser().parsebytes(f"{head}\r\n".encode())
    assert (why_forged(fields_of_mail) == "") is is_own


# What filters of spam write into a mail, and whether it is spam.
FILTERED = {
    "X-Spam: Yes": True,
    "X-Spam-Flag: YES": True,
    "X-Spam-Status: Yes, score=9.1 required=5.0": True,
    "X-Spam-Status: No, score=-2.6": False,
    "X-Spam-Flag: NO": False,
    "X-Spam-Action: reject": True,
    "X-Spam-Action: no action": False,
    "X-Rspamd-Action: add header": True,
    "X-Bogosity: Spam, tests=bogofilter, spamicity=0.99": True,
    "X-Bogosity: Yes, tests=bogofilter": True,
    "X-Bogosity: Ham, tests=bogofilter": False,
    "X-Bogosity: Unsure, tests=bogofilter": False,
    "X-Forefront-Antispam-Report: CIP:192.0.2.1;CTRY:US;LANG:en;SCL:9;SFV:SPM;H:x": True,
    "X-Forefront-Antispam-Report: CIP:192.0.2.1;SCL:1;SFV:NSPM;H:x": False,
    "X-MS-Exchange-Organization-SCL: 6": True,
    "X-MS-Exchange-Organization-SCL: -1": False,
    "Authentication-Results: mx; dmarc=none; compauth=fail reason=001": True,
    "Authentication-Results: mx; dmarc=pass; compauth=pass reason=100": False,
}


@pytest.mark.parametrize(("field", "is_bad"), FILTERED.items())
def test_what_the_mail_server_takes_for_spam_gets_no_answer(field: str, is_bad: bool) -> None:
    fields = BytesHeaderParser().parsebytes(f"From: ann@mail.example\r\n{field}\r\n\r\n".encode())
    assert (why_forged(fields) != "") is is_bad


@pytest.mark.parametrize(
    "piece", ["dkim=pass ", "(", '"', "\\", "= ", ";", "(a)", "header.i=a@", " "]
)
def test_what_a_mail_server_says_is_read_once(piece: str) -> None:
    head = "From: ann@mail.example\r\nReceived-SPF: fail\r\nAuthentication-Results: mx; dkim=pass "
    text = (piece * (60_000 // len(piece))).encode()
    fields_of_mail = BytesHeaderParser().parsebytes(head.encode() + text + b"\r\n\r\n")
    assert assert_quick(partial(why_forged, fields_of_mail), 50)
