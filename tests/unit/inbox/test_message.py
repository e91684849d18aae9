"""Replies by mail are parsed; mails that no person wrote, or not to us, are ignored."""

import contextlib
import tracemalloc
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP
from encodings import _cache  # the names that Python was asked for
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commentsvc.auth.reply_addresses import MODERATE, ReplyAddresses, digest_of
from commentsvc.db.schema.inbox import QUOTING, UNCERTAIN, UNREADABLE, ReceivedMail
from commentsvc.inbox.message import MAIL_SIZE, TAGS, MailParser, Unwanted
from tests.unit.inbox.mail_programs import plain
from tests.unit.inbox.test_reply_text import ADDRESSES, ORIGINAL, SETTINGS
from tests.unit.processor_time import assert_quick

PARSER = MailParser(ADDRESSES, SETTINGS)


def read(words: str, **headers: str) -> ReceivedMail:
    return PARSER.read(plain(ORIGINAL, words, **headers))


def with_body(body: bytes, **fields: str) -> bytes:
    """Return a reply whose header fields describe its body as `fields` say."""
    head = message_from_bytes(plain(ORIGINAL, "x"), policy=SMTP)
    for name, value in fields.items():
        del head[name.replace("_", "-")]
        head[name.replace("_", "-")] = value
    text = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return text.encode() + b"\r\n" + body


def test_an_answer_says_what_it_answers_and_to_whom_that_went() -> None:
    mail = read("Thank you.")
    assert (mail.purpose, mail.comment_id, mail.outbox_id) == (MODERATE, 7, 9)
    assert mail.recipient == digest_of("MO@blog.example")
    assert mail.words == "Thank you."


def test_the_address_may_be_written_in_other_letters_and_stand_elsewhere() -> None:
    upper = ORIGINAL.reply_to.upper()
    assert read("Hi", To=upper).comment_id == 7
    assert read("Hi", To="list@blog.example", Delivered_To=ORIGINAL.reply_to).comment_id == 7


def test_the_valid_address_is_found_among_others() -> None:
    forged = f"comments+{'a' * 40}@blog.example"
    assert read("Hi", To=f"{forged}, {ORIGINAL.reply_to}").comment_id == 7


def test_a_report_of_undelivered_mail_is_left_alone() -> None:
    body = b"--x\r\nContent-Type: text/plain\r\n\r\nok\r\n--x--\r\n"
    kind = 'multipart/report; report-type=delivery-status; boundary="x"'
    with pytest.raises(Unwanted, match="report"):
        PARSER.read(with_body(body, Content_Type=kind))


@pytest.mark.parametrize("changed", [0, 5, 20, 39])
def test_a_forged_word_is_none(changed: int) -> None:
    local, _, domain = ORIGINAL.reply_to.partition("@")
    word = list(local.partition("+")[2])
    word[changed] = "a" if word[changed] != "a" else "b"
    with pytest.raises(Unwanted, match="answers no mail of ours"):
        read("ok", To=f"comments+{''.join(word)}@{domain}")


def test_words_of_another_key_are_none_and_those_of_an_older_key_are_ours() -> None:
    raw = plain(ORIGINAL, "ok")
    foreign = MailParser(ReplyAddresses([b"other" * 16], "comments@blog.example"), SETTINGS)
    with pytest.raises(Unwanted, match="answers no mail of ours"):
        foreign.read(raw)
    keys = [b"other" * 16, b"key" * 16]
    rotated = MailParser(ReplyAddresses(keys, "comments@blog.example"), SETTINGS)
    assert rotated.read(raw).comment_id == 7


def test_an_empty_answer_is_read_and_an_empty_mail_is_not() -> None:
    assert read("").doubt == ""
    assert read("\n-- \nAnn").words == ""
    assert read("", In_Reply_To="").doubt == UNREADABLE


def test_a_mail_with_a_picture_or_another_mail_and_no_text_is_not_an_empty_answer() -> None:
    """An empty answer approves the comment."""
    for kind in ("image/png", "message/rfc822", "application/pkcs7-mime", "text/plain; name=a.txt"):
        body = b"--b\r\n\r\n\r\n--b\r\nContent-Type: " + kind.encode() + b"\r\n\r\nok\r\n--b--\r\n"
        mail = PARSER.read(with_body(body, Content_Type="multipart/mixed; boundary=b"))
        assert (mail.words, mail.doubt) == ("", UNREADABLE), kind
    assert PARSER.read(with_body(b"abc", Content_Type="image/png")).doubt == UNREADABLE


def test_a_mail_that_only_quotes_is_told_of() -> None:
    assert read("> ok\n> spam\n").doubt == UNREADABLE
    assert read("\n##- Write your answer above this line -##\n\nno\n").doubt == UNREADABLE


@pytest.mark.parametrize(
    "words",
    [
        "Approve: https://c.example/comments/mail/comment?t=abc",
        f"it went to {ORIGINAL.reply_to}",
        "Tovald yx qwerty\n\nWrote to COMMENTS@blog.example yesterday",
        "comments+abc@elsewhere.example",
    ],
)
def test_a_text_with_our_own_addresses_is_held_and_shown_without_them(words: str) -> None:
    mail = read(words)
    assert mail.doubt == QUOTING
    shown = PARSER.without_addresses(mail.words).lower()
    assert "…" in shown
    assert "comments@" not in shown
    assert "comments+" not in shown
    assert "/mail/" not in shown


TOKEN = "WzE3OTYyMDk2MDAsInNwYW0iLDEsMSwibW9AYmxvZy5leGFtcGxlIl0.Zk-3_aQ"


@pytest.mark.parametrize(
    "words",
    [f"Yes.\nmail/comment?t={TOKEN}", f"Yes.\n{TOKEN}\nSee you!", f"Yes.\n{TOKEN[20:]}"],
)
def test_the_rest_of_a_broken_link_is_held_and_not_shown(words: str) -> None:
    """A program that breaks long lines may leave a part of a link outside of the quotation."""
    mail = read(words)
    assert mail.doubt == QUOTING
    shown = PARSER.without_addresses(mail.words)
    assert TOKEN[20:] not in shown
    assert shown.startswith("Yes.\n")


@pytest.mark.parametrize(
    "words",
    [
        "See https://youtu.be/dQw4w9WgXcQ?t=43 and https://a.example/W9AYmxvZy5leGFtcGxlIl0W9AYmxv",
        "Donaudampfschifffahrtsgesellschaftskapitän2026",
        "Try commit 2f1d7c9a4b6e8d0f1a3c5e7b9d0f2a4c6e8b0d1f",
        "Call DEFAULT_MAX_CONNECTIONS_2 or connection.default_timeout_in_seconds.",
    ],
)
def test_long_words_and_links_of_others_are_published(words: str) -> None:
    assert read(words).doubt == ""


@pytest.mark.parametrize(
    "below",
    [
        "Mo Owner | Head of Things\nTel. +49 30 1234567\nwww.mo.example",
        "Mo\nMobile: (030) 123 45 67",
        "+1 555 010 9999",
        "This email and any files transmitted with it are confidential.",
        "Diese Nachricht ist vertraulich und nur für ihren Empfänger bestimmt.",
        "Ce message est confidentiel.",
        "Please consider the environment before printing this email.",
    ],
)
def test_what_companies_put_below_a_mail_is_held(below: str) -> None:
    """Signatures without a mark, and notices, are published under the owner's badge else."""
    assert read(f"Yes, we open at nine on Mondays.\n\n{below}").doubt == QUOTING


@pytest.mark.parametrize(
    "words",
    [
        "Our number is +49 30 1234567, call us any time.",
        "On 01.12.2026 we are closed.\n\nFrom 02.12. on we are there again, at 9:00.",
        "It takes two steps:\n\n- sand it 12 times\n- then oil it",
    ],
)
def test_dates_and_a_number_in_the_only_paragraph_are_published(words: str) -> None:
    assert read(words).doubt == ""


@pytest.mark.parametrize(
    "subject",
    ["Automaattivastausviesti: hi", "Fwd: hi", "WG: hi", "Bin dann mal weg: Re: hi"],
)
def test_what_may_be_of_an_answering_machine_is_held(subject: str) -> None:
    assert read("I am away until Monday.", Subject=subject).doubt == UNCERTAIN


@pytest.mark.parametrize(
    "subject",
    ["Re: hi", "RE: Re: hi", "AW: hi", "[EXT] SV: hi", "回复：hi", "Re[2]: hi", "Antw.: hi", "",
     "=?utf-8?b?UsOpcA==?= : hi", "\u200fRE: hi", "\u2067Re: hi", "Réf. : hi",
     "Odp.: hi", "Re-2: hi",
     "*** SPAM *** Antw: hi"],
)  # fmt: skip
def test_the_subject_of_a_reply_is_known(subject: str) -> None:
    assert read("I am here.", Subject=subject).doubt == ""


@pytest.mark.parametrize(
    "subject",
    [
        "hi",
        "Mo is out of the office",
        "Vacation",
        "Undelivered Mail Returned to Sender",
        "Re: Automatic reply commented on “A walk”",
    ],
)
def test_a_text_whose_subject_is_not_that_of_a_reply_is_held_and_a_command_is_not(
    subject: str,
) -> None:
    assert read("I am here.", Subject=subject).doubt == QUOTING


@pytest.mark.parametrize("text", ["", " ", "\n\nMore.\n"])
def test_what_is_encrypted_is_told_of(text: str) -> None:
    armor = "-----BEGIN PGP MESSAGE-----\n\nhQEMA0xyz\n=abcd\n-----END PGP MESSAGE-----\n"
    assert read(f"{text}{armor}".lstrip()).doubt == UNREADABLE
    body = f"--b\r\n\r\nA list's footer\r\n--b\r\n\r\n{armor}\r\n--b--\r\n"
    kind = "multipart/encrypted; boundary=b"
    assert PARSER.read(with_body(body.encode(), Content_Type=kind)).doubt == UNREADABLE


@pytest.mark.parametrize(
    "html",
    [
        '<br><div class="gmail_quote"><blockquote>Hi</blockquote><p>My answer</p></div>',
        '<blockquote type="cite"><p>Hi</p><p>My answer</p></blockquote>',
        '<br><div id="divRplyFwdMsg">From: A blog</div><p>Hi</p><p>My answer</p>',
    ],
)
def test_an_html_mail_of_which_nothing_is_left_is_no_empty_answer(html: str) -> None:
    raw = with_body(html.encode(), Content_Type="text/html; charset=utf-8")
    assert PARSER.read(raw).doubt == UNREADABLE


@pytest.mark.parametrize("emoji", ["👍", "😂"])
def test_a_reaction_of_gmail_is_its_emoji_and_not_published(emoji: str) -> None:
    body = (
        f"--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{emoji}\r\n\r\nMo reacted "
        "via Gmail <https://www.google.com/gmail/about/?x>\r\n--b\r\n"
        f"Content-Type: text/vnd.google.email-reaction+json\r\n\r\n{{}}\r\n--b--\r\n"
    )
    raw = with_body(body.encode(), Content_Type="multipart/alternative; boundary=b")
    mail = PARSER.read(raw)
    assert (mail.words, mail.doubt) == (emoji, QUOTING)


def test_a_text_that_tells_of_the_html_beside_it_is_not_what_a_person_wrote() -> None:
    notice = "This message is in HTML format. Your program cannot display it."
    for text, words in ((notice, "Come in."), ("Use HTML.", "Use HTML."), (notice * 9, notice * 9)):
        html = "Content-Type: text/html\r\n\r\n<p>Come in.</p>\r\n"
        body = f"--b\r\n\r\n{text}\r\n--b\r\n{html}--b--\r\n"
        kind = "multipart/alternative; boundary=b"
        assert PARSER.read(with_body(body.encode(), Content_Type=kind)).words == words


def test_the_links_and_the_spaces_of_code_in_an_html_mail_are_read() -> None:
    html = (
        '<p>See <a href="https://x.example/a">my page</a>, not <a href="https://y.example/">'
        "y.example</a>:</p><pre>if a:\n    b\n</pre>"
    )
    mail = PARSER.read(with_body(html.encode(), Content_Type="text/html"))
    assert mail.words == "See my page <https://x.example/a>, not y.example:\n\nif a:\n    b"


def test_a_mail_of_10_mb_is_not_even_parsed() -> None:
    raw = plain(ORIGINAL, "x") + b"x" * 10_000_000
    assert assert_quick(partial(PARSER.read, raw), 100).doubt == UNREADABLE
    assert MAIL_SIZE < 10_000_000


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b"x" * 300_000, {"Content_Type": "text/plain"}),
        (b"x\n" * 30_000, {"Content_Type": "text/plain"}),
        (b"--b\r\n\r\nx\r\n" * 60, {"Content_Type": "multipart/mixed; boundary=b"}),
    ],
    ids=["long", "many lines", "many parts"],
)
def test_a_long_text_is_told_of(body: bytes, fields: dict[str, str]) -> None:
    mail = PARSER.read(with_body(body, **{"Content_Transfer_Encoding": "8bit"} | fields))
    assert (mail.words, mail.doubt) == ("", UNREADABLE)


def test_a_person_is_told_of_a_header_that_is_too_long_to_read() -> None:
    raw = plain(ORIGINAL, "Come in.")
    for field in (b"X: " + b"a" * 200_000, b'Content-Type: text/plain; x="' + b"a" * 5_000 + b'"'):
        mail = PARSER.read(raw.replace(b"\r\n\r\n", b"\r\n" + field + b"\r\n\r\n", 1))
        assert (mail.words, mail.doubt) == ("", UNREADABLE)


@pytest.mark.parametrize("name", ["boundary*", "boundary*0*"])
def test_no_encoding_of_a_boundary_is_looked_up(name: str) -> None:
    raw = with_body(b"--b\r\n\r\nx\r\n--b--", Content_Type="multipart/mixed; boundary=b")
    _cache.pop("no-such-4", None)
    mail = PARSER.read(raw.replace(b'boundary="b"', f"{name}=no-such-4''b".encode()))
    assert (mail.words, mail.doubt) == ("", UNREADABLE)
    assert "no-such-4" not in _cache


def test_empty_lines_above_a_mail_hide_nothing() -> None:
    assert PARSER.read(b"\r\n\n" + plain(ORIGINAL, "Come in.")).words == "Come in."


def test_a_garbled_text_is_held() -> None:
    kind = {"Content_Type": "text/plain; charset=utf-8", "Content_Transfer_Encoding": "8bit"}
    assert PARSER.read(with_body(b"\xff\xfe ok", **kind)).doubt == UNCERTAIN
    assert PARSER.read(with_body(b"o\x00k", **kind)).doubt == UNCERTAIN


PARTS = {
    "text, picture, text": (
        "multipart/mixed",
        [("text/plain", "One."), ("image/png; name=a.png", "x"), ("text/plain", "Two.")],
        "One.\n\nTwo.",
    ),
    "text and a file of text": (
        "multipart/mixed",
        [("text/plain", "One."), ("text/plain; name*=utf-8''%C3%A4.txt", "no")],
        "One.",
    ),
    "a file whose name is in pieces (RFC 2231)": (
        "multipart/mixed",
        [("text/plain", "One."), ("text/plain; name*0=a; name*1=.txt", "no")],
        "One.",
    ),
    "plain and HTML": (
        "multipart/alternative",
        [("text/plain", "One."), ("text/html", "<p>One.</p>")],
        "One.",
    ),
    "HTML alone": (
        "multipart/alternative",
        [("text/plain", " "), ("text/html", "<p>One.")],
        "One.",
    ),
    "HTML, picture, HTML": (
        "multipart/mixed",
        [("text/html", "<p>One.</p>"), ("image/png", "x"), ("text/html", "<p>Two.</p>")],
        "One.\n\nTwo.",
    ),
    "HTML with its pictures": (
        "multipart/related",
        [("text/html", "<p>One.</p>"), ("text/html", "no")],
        "One.",
    ),
    "signed": (
        "multipart/signed",
        [("text/plain", "One."), ("application/pgp-signature", "no")],
        "One.",
    ),
    "a forwarded mail below": (
        "multipart/mixed",
        [("text/plain", "One."), ("message/rfc822", "Subject: x\r\n\r\nno")],
        "One.",
    ),
    "winmail.dat": (
        "multipart/mixed",
        [("text/plain", "One."), ("application/ms-tnef; name=winmail.dat", "no")],
        "One.",
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_all_inline_texts_are_read_in_order_and_no_files(name: str) -> None:
    kind, parts, words = PARTS[name]
    mail = of_parts(kind, parts)
    assert (mail.words, mail.doubt) == (words, "")


TEXT_PART, FOOTER = ("text/plain", "Come in."), ("text/plain", "This mail is confidential.")
# What servers add to a mail, and texts of programs, which nobody wants to publish.
FOREIGN = {
    "a footer below": ("multipart/mixed", [TEXT_PART, FOOTER]),
    "a footer below HTML": ("multipart/mixed", [("text/html", "<p>Come in.</p>"), FOOTER]),
    "a footer below S/MIME": ("multipart/mixed", [("application/pkcs7-mime", "MIAG"), FOOTER]),
    "a footer below OpenPGP": (
        "multipart/mixed",
        [("multipart/encrypted; boundary=c", "--c\r\nContent-Type: a/b\r\n\r\nx\r\n--c--"), FOOTER],
    ),
    "a footer below a file": ("multipart/mixed", [("application/pdf; name=a.pdf", "x"), FOOTER]),
    "a footer below nothing": ("multipart/mixed", [("text/plain", ""), FOOTER]),
    "a footer below a mail": (
        "multipart/mixed",
        [("message/rfc822", "Subject: x\r\n\r\ny"), FOOTER],
    ),
    "a receipt": (
        "multipart/mixed",
        [("text/plain", "Your mail was read."), ("message/disposition-notification", "x: y")],
    ),
    "a bounce": (
        "multipart/mixed",
        [("text/plain", "Your mail was not sent."), ("message/delivery-status", "x: y")],
    ),
    "an answer of a calendar": (
        "multipart/alternative",
        [("text/plain", "Mo has accepted it."), ("text/calendar; method=REPLY", "BEGIN:VCALENDAR")],
    ),
}


def of_parts(kind: str, parts: list[tuple[str, str]]) -> ReceivedMail:
    pieces = "".join(f"--b\r\nContent-Type: {each}\r\n\r\n{text}\r\n" for each, text in parts)
    return PARSER.read(with_body(f"{pieces}--b--\r\n".encode(), Content_Type=f"{kind}; boundary=b"))


@pytest.mark.parametrize("name", FOREIGN)
def test_a_text_that_a_program_may_have_added_is_held(name: str) -> None:
    mail = of_parts(*FOREIGN[name])
    assert mail.words
    assert mail.doubt == QUOTING


def test_a_command_above_a_footer_counts() -> None:
    mail = of_parts("multipart/mixed", [("text/plain", "ok"), FOOTER])
    assert (mail.words.split("\n")[0], mail.doubt) == ("ok", QUOTING)


@pytest.mark.parametrize("plain_text", [None, "", " \r\n"])
def test_a_picture_without_words_is_no_empty_answer(plain_text: str | None) -> None:
    """It may be a thumb down."""
    html = ("text/html", '<p><img src="https://x.example/1.gif" alt=""></p>')
    parts = [html] if plain_text is None else [("text/plain", plain_text), html]
    mail = of_parts("multipart/alternative", parts)
    assert (mail.words, mail.doubt) == ("", UNREADABLE)


@pytest.mark.parametrize("kind", ["text/plain,", "text/plain charset=utf-8", "text/plain;", "text"])
def test_a_malformed_type_is_read_as_it_was_meant(kind: str) -> None:
    assert PARSER.read(with_body("Größe".encode(), Content_Type=kind)).words == "Größe"


def test_a_link_that_a_mail_server_has_replaced_hides_no_control_character() -> None:
    link = (
        "https://a.safelinks.protection.outlook.com/?url=https%3A%2F%2Fx.example%2F%00&reserved=0"
    )
    assert "\x00" not in read(f"See {link}").words


def test_a_tree_of_parts_is_read() -> None:
    """Apple Mail: text is an alternative to a mixed part of HTML and pictures."""
    inner = (
        b"--c\r\nContent-Type: text/plain\r\n\r\nOne.\r\n--c\r\n"
        b"Content-Type: multipart/mixed; boundary=d\r\n\r\n--d\r\n"
        b"Content-Type: text/html\r\n\r\n<p>One.</p>\r\n--d--\r\n--c--\r\n"
    )
    body = (
        b"--b\r\nContent-Type: multipart/alternative; boundary=c\r\n\r\n" + inner + b"--b\r\n"
        b"Content-Type: text/plain\r\nContent-Disposition: inline\r\n\r\nTwo.\r\n--b--\r\n"
    )
    mail = PARSER.read(with_body(body, Content_Type="multipart/mixed; boundary=b"))
    assert mail.words == "One.\n\nTwo."


HOSTILE = {
    "nested": b"".join(
        b'Content-Type: multipart/mixed; boundary="%d"\r\n\r\n--%d\r\n' % (n, n)
        for n in range(2_000)
    ),
    "parts": b"--b\r\n\r\nx\r\n" * 100_000,
    "tags": b"<div>" * 50_000,
    "ends": b"<b>" * 40_000 + b"</i>" * 20_000,
    "half tags": b"<a " * 80_000,
    "quotes": b"> " * 120_000,
    "fields": b"a: b\r\n" * 40_000,
    "colons": b"On 2026 wrote:\n" * 16_000,
    "marks": b"##-" * 80_000,
    "dashes": b"-" * 250_000,
    "dashes and a letter": b"-" * 250_000 + b"x",
    "spaces and a letter": b" " * 250_000 + b"x",
    "fields with addresses": b"a: b@c.example\n" * 16_000,
    "ampersands": b"&" * 250_000,
    "flowed": b" \n" * 120_000,
    "names": b"A blog " * 30_000,
    "broken names": b"A\nblog\n" * 30_000,
    "our addresses": b"comments@\nblog.example\n" * 10_000,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("kind", ["text/plain", "text/html", 'multipart/mixed; boundary="b"'])
def test_no_body_takes_long_to_read(name: str, kind: str) -> None:
    raw = with_body(HOSTILE[name], Content_Type=kind)

    def read() -> None:
        with contextlib.suppress(Unwanted):
            PARSER.read(raw)

    assert_quick(read, 500)


# Tags, attributes and entities that make parsers and trees work, in one mail as often as it may.
ENDLESS_HTML = [
    *(
        f"<{tag}>"
        for tag in ("a", "b", "p", "i", "div", "li", "ul", "td", "tr", "pre", "svg", "math")
    ),
    *(
        f"<{tag}>x"
        for tag in ("blockquote", "table", "select", "form", "nobr", "dl", "font", "button")
    ),
    *("</p>", "</br>", "<a><p>", "<a><b></a>", "<b><p></b>", "<table><a>", "<p><table>", "<li><p>"),
    *(
        "<!--",
        "<!",
        "<?",
        "<![CDATA[",
        "<",
        "< ",
        "<a ",
        "<a a=",
        '<a a="',
        " a=b",
        "&amp;",
        "&lt;",
    ),
    *("&notin", "&#60;", "&nbsp;", "<br>x", "<br>&gt; ", "<p>From: a@b.c", "x\n", "\xa0", "\x9c"),
]


@pytest.mark.parametrize(
    "around",
    ["{}", "<pre>{}", "<svg>{}", '<p class="{}">x', "<p {}>x", f"{'<blockquote>' * 2_000}{{}}"],
)
def test_no_html_takes_long(around: str) -> None:
    for part in [*ENDLESS_HTML, "<pre>" + "x\n" * 20_000]:
        for count in {250_000 // len(part), (TAGS - around.count("<")) // max(part.count("<"), 1)}:
            body = around.replace("{}", (part * count)[:230_000]).encode()
            raw = with_body(body, Content_Type="text/html; charset=utf-8")
            assert_quick(partial(PARSER.read, raw), 2_000)


def test_no_html_takes_much_memory() -> None:
    """Regression: marks of 4,000 quotations before 30,000 lines of code took 1 GiB."""
    lines = ("<blockquote>" * 2_000 + "<pre>" + "x\n" * 9_000).encode()
    tracemalloc.start()
    assert PARSER.read(with_body(lines, Content_Type="text/html")).doubt == UNREADABLE
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000


@pytest.mark.parametrize("sign", ["&", "©", "\x9c", "»"])
def test_html_that_takes_long_to_escape_is_not_read(sign: str) -> None:
    text = "<p>" + sign * 19_000 + "a" * 200_000
    kind = "text/html; charset=utf-8"
    assert PARSER.read(with_body(text.encode(), Content_Type=kind)).doubt == UNREADABLE
    usual = "<p>" + f"Hello {sign} you&nbsp;\xa0 " * 900
    assert PARSER.read(with_body(usual.encode(), Content_Type=kind)).doubt == ""


NESTED = b"".join(
    b'--%d\r\nContent-Type: multipart/mixed; boundary="%d"\r\n\r\n' % (n, n + 1) for n in range(12)
)


@pytest.mark.parametrize(
    "body",
    [
        NESTED,
        NESTED.replace(b"Content-Type: m", b"CONTENT-TYPE :\r\n\tM"),
        NESTED.replace(b"\r\n", b"\r"),
        b"\n" * 300_000,
        b"--0\r\n\r\n" * 3_000,
        b'--0\r\nContent-Type: multipart/mixed; a="' + b";" * 9_000,
        b'--0\r\nContent-Type: multipart/mixed;\r\n a="' + b";\r\n " * 3_000,
    ],
    ids=["nested", "folded", "CR", "lines", "parts", "parameters", "folded parameters"],
)
def test_a_mail_that_takes_long_to_parse_is_not_parsed(body: bytes) -> None:
    """4 MiB took minutes, or a GiB of memory, whoever sent them."""
    raw = with_body(body, Content_Type='multipart/mixed; boundary="0"')
    assert assert_quick(partial(PARSER.read, raw), 500).doubt == UNREADABLE


def test_a_mail_takes_a_few_times_its_own_memory_to_read() -> None:
    """One of 4 MiB took 480, for the parts of its longest field, before it was refused."""
    raw = with_body(b"Content-Type: " + b"a" * (MAIL_SIZE - 10_000))
    tracemalloc.start()
    with contextlib.suppress(Unwanted):
        PARSER.read(raw)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10 * MAIL_SIZE


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/mixed; boundary*0*=a; boundary*=b",
        "text/plain; charset*0*=a; charset*=b",
        "text/plain; format*0*=a; format*=b",
        "text/plain; x*0*=a; x*=b; charset=utf-8",
    ],
)
def test_a_field_that_the_parser_fails_at_is_no_fault(content_type: str) -> None:
    """The mailbox was not read any more: the same mail came first, and failed, for ever."""
    head, _, body = plain(ORIGINAL, "Hello").partition(b"\r\n\r\n")
    fields = [each for each in head.split(b"\r\n") if not each.lower().startswith(b"content-")]
    raw = b"\r\n".join([*fields, f"Content-Type: {content_type}".encode(), b"", body])
    with contextlib.suppress(Unwanted):  # a parser that does not fail reads it
        assert PARSER.read(raw).words in ("Hello", "")


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=2_000), st.text(max_size=200))
def test_no_bytes_fail_in_another_way(body: bytes, subject: str) -> None:
    message = EmailMessage()
    message["To"] = ORIGINAL.reply_to
    for raw in (body, with_body(body), message.as_bytes() + subject.encode() + body):
        try:
            PARSER.read(raw)
        except Unwanted:
            continue


def test_the_same_mail_is_known_by_its_message_id() -> None:
    first, second = read("a", Message_ID="<1@x.example>"), read("b", Message_ID="<1@x.example>")
    assert first.digest == second.digest
    assert read("a", Message_ID="").digest != read("b", Message_ID="").digest


def test_answers_to_two_mails_differ_even_with_one_message_id() -> None:
    other = ADDRESSES.make(MODERATE, 8, 10, "mo@blog.example", 1_800_000_000_000)
    first, second = (
        read("a", Message_ID="<1@x.example>"),
        read("a", Message_ID="<1@x.example>", To=other),
    )
    assert first.digest != second.digest
