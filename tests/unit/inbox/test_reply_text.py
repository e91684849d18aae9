"""The new text is found in replies of all common mail programs, and nothing else."""

import os
from collections import Counter
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path
from typing import Final

import msgspec
import pytest

from commentsvc.auth.reply_addresses import MODERATE, ReplyAddresses
from commentsvc.db.schema.inbox import UNREADABLE
from commentsvc.inbox import html_text, reply_text
from commentsvc.inbox.message import MailParser
from commentsvc.inbox.reply_text import OwnWords
from commentsvc.settings.schema import MailSettings, ServerSettings, Settings, Site
from tests.unit.inbox import public_mails
from tests.unit.inbox.mail_programs import LANGUAGES, PROGRAMS, Original, answers
from tests.unit.processor_time import assert_quick

# Set MAILS=10000 to measure it thoroughly; docs/mail.md has the command.
COUNT: Final = int(os.environ.get("MAILS", "156"))

SETTINGS: Final = Settings(
    server=ServerSettings(public_url="https://c.example/comments/"),
    mail=MailSettings(sender="comments@blog.example"),
    sites=(Site(title="A blog"),),
)
ADDRESSES: Final = ReplyAddresses([b"key" * 16], "comments@blog.example")
ORIGINAL: Final = Original(
    name="A blog",
    sender="comments@blog.example",
    reply_to=ADDRESSES.make(MODERATE, 7, 9, "mo@blog.example", 1_800_000_000_000),
    message_id="<submitted.9.1@blog.example>",
    subject="Ann commented on “A walk”",
    text=(
        "##- Write your answer above this line -##\n\nAnn commented on “A walk”\n\n> Hello *you*\n"
        "> --\n> spam no ok\n\nIt is waiting for approval.\n\nApprove:\nhttps://c.example/mail/x\n"
        "\n-- \nEach link opens a page.\n"
    ),
    html=(
        "<p>##- Write your answer above this line -##</p><h1>Ann commented on “A walk”</h1>"
        '<div class="quote"><p>Hello <em>you</em></p><blockquote>no</blockquote></div>'
        '<p>It is waiting.</p><p><a href="https://c.example/mail/x">Approve</a></p>'
    ),
)


WITHOUT_MARK: Final = replace(
    ORIGINAL, text=ORIGINAL.text.split("\n", 2)[2], html=ORIGINAL.html.split("</p>", 1)[1]
)


@pytest.mark.parametrize("original", [ORIGINAL, WITHOUT_MARK])
def test_answers_of_all_programs_are_read_as_they_were_typed(original: Original) -> None:
    parser = MailParser(ADDRESSES, SETTINGS)
    wrong, seen = [], Counter[str]()
    for answer in answers(original, COUNT):
        found = parser.read(answer.raw)
        seen[f"{answer.program} {answer.language}"] += 1
        if tidy(found.words) != tidy(answer.words) or found.comment_id != 7:
            wrong.append((answer.program, answer.language, answer.words, found.words))
    print(f"{COUNT - len(wrong)} of {COUNT} mails are read right")
    assert not wrong, wrong[:3]
    assert len(seen) == min(COUNT, len(PROGRAMS) * len(LANGUAGES))


def tidy(words: str) -> list[str]:
    """Return the lines that are not empty: HTML does not say how many empty ones there were."""
    return [line.strip() for line in words.split("\n") if line.strip()]


SENDER: Final = "comments@blog.example"
TEXT: Final = ORIGINAL.text
QUOTED: Final = "\n".join(f"> {line}".rstrip() for line in TEXT.split("\n"))
# What programs write above a mail that they quote, as public bug reports and fixtures show it.
HEADS: Final = {
    name: text.replace("{SENDER}", SENDER)
    .replace("{REPLY_TO}", ORIGINAL.reply_to)
    .replace("{TEXT}", TEXT)
    .replace("{QUOTED}", QUOTED)
    for name, _, text in (
        part.partition("\n")
        for part in Path(__file__).with_name("quotation_heads.txt").read_text().split("\n==== ")[1:]
    )
}


def own(text: str) -> OwnWords:
    return reply_text.read(text, ["A blog"], [SENDER, "comments+"])


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize(
    "words", ["ok", "Danke für die Frage. Größe: 3 cm.", "Two lines.\n\nOr 2."]
)
def test_all_is_cut_from_the_line_that_names_us_on(head: str, words: str) -> None:
    assert own(f"{words}\n\n{head}\n") == OwnWords(words, quotes=True)
    html = "".join(
        f"<div>{escape(line) or '<br>'}</div>" for line in f"{words}\n\n{head}".split("\n")
    )
    assert tidy(own(html_text.read(html).text).words) == tidy(words)


# The default signature of devices and programs.
SIGNATURES: Final = (
    "Sent from my iPhone", "Von meinem iPhone gesendet", "Envoyé de mon iPhone",
    "Enviado desde mi iPhone", "Inviato da iPhone", "Verstuurd vanaf mijn iPhone",
    "Wysłane z iPhone’a", "Enviado do meu iPhone", "Отправлено с iPhone", "iPhoneから送信",
    "发自我的iPhone", "從我的 iPhone 傳送", "나의 iPhone에서 보냄", "Skickat från min iPhone",
    "Sendt fra min iPhone", "Lähetetty iPhonesta", "Odesláno z iPhonu", "Odoslané z iPhonu",
    "iPhone’umdan gönderildi", "Στάλθηκε από το iPhone μου", "Az iPhone-omról küldve",
    "Trimis de pe iPhone-ul meu", "Надіслано з iPhone", "נשלח מה-iPhone שלי", "أُرسلت من الـ iPhone",
    "ส่งจาก iPhone ของฉัน", "Được gửi từ iPhone của tôi", "Dikirim dari iPhone saya",
    "Enviat des del meu iPhone", "Poslano s mog iPhonea", "मेरे iPhone से भेजा गया",
    "Invyat dal miu iPhone", "--Sent from my iPhone", "*Sent from my Galaxy*",
    "Gesendet mit der GMX Mail App",
    "Diese Nachricht wurde von meinem Android-Gerät mit K-9 Mail gesendet.", "Get Outlook for iOS",
    "Outlook für Android beziehen", "Télécharger Outlook pour iOS", "Sent from Proton Mail for iOS",
    "Sent from Yahoo Mail on Android", "Отправлено из мобильной Почты Mail.ru", "发自我的华为手机",
    "Sent with Spark", "Sent via Superhuman", "\u200eSent from my Huawei Mobile", "来自我的小米",
)  # fmt: skip


@pytest.mark.parametrize("line", SIGNATURES)
@pytest.mark.parametrize("words", ["ok", "Come in.\n\nWe are open."])
def test_a_line_in_which_a_device_advertises_itself_is_no_answer(line: str, words: str) -> None:
    assert own(f"{words}\n\n{line}\n").words == words
    assert own(f"{words}\n\n{line}\n\n{HEADS['gmail de wrapped']}\n").words == words


@pytest.mark.parametrize(
    "words",
    ["I use an iPhone", "It works.\n\nI tried it with an iPhone and a Galaxy.",
     "1. \u0645\u200c\u0646 👩‍💻",
     "Three things:\n\nFirst: glue\nThen: wait\nLast: sand", "I read A blog often.", "- a\n- b",
     "We meet at 15:00.\n\nBring:\n\n  bread", "See A blog:\n\nit has all.", "a > b\n\nb < c"],
)  # fmt: skip
def test_the_words_of_a_person_stay_as_they_are(words: str) -> None:
    assert own(f"{words}\n") == OwnWords(words, quotes=False)
    assert own(f"{words}\n\n{HEADS['gmail de wrapped']}\n").words == words


SAFE_LINK: Final = (
    "https://eur05.safelinks.protection.outlook.com/?url=https%3A%2F%2Faka.ms%2Fo0ukef&data=05%7C01"
    f"%7Cmo%40blog.example%7C{'0' * 99}&sdata=abc%3D&reserved=0"
)


@pytest.mark.parametrize(
    "line",
    [
        f"Get Outlook for iOS<{SAFE_LINK}>",
        f"Sent from Mail<{SAFE_LINK}> for Windows",
        f"Gesendet von Outlook für Android<{SAFE_LINK}>",
        "<https://www.avast.com/sig-email>\nVirus-free.www.avast.com\n<https://www.avast.com/sig-e>"
        "\n<#DAB4FAD8-2DD7-40BB-A1B8-4E2AA1F9FDF2>",
        "---\nGesendet mit der Telekom Mail App",
        "Sent from my phone. Please excuse my brevity and all the typos that it makes.",
    ],
)
def test_a_programs_line_with_links_is_no_answer(line: str) -> None:
    assert own(f"Come in.\n\n{line}\n").words == "Come in."


def test_a_link_that_a_mail_server_has_replaced_is_read_as_it_was() -> None:
    assert own(f"See {SAFE_LINK}, it helps.").words == "See https://aka.ms/o0ukef, it helps."


@pytest.mark.parametrize(
    "words",
    [
        "We have a rule.\n\nSent by post on Friday, it should be there on Monday.",
        "Von meinem Bruder gesendet, lag es drei Wochen lang beim Zoll in Basel herum.",
    ],
)
def test_a_sentence_that_begins_as_a_programs_line_is_the_persons(words: str) -> None:
    assert own(words) == OwnWords(words, quotes=False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (">From my side it is fine.", "From my side it is fine."),
        ("Hello.\n\n>From my side it is fine.\n", "Hello.\n\nFrom my side it is fine."),
        ("Hello.\n>From my side it is\nfine.\n\n> Hi", "Hello.\nFrom my side it is\nfine."),
        ("Hello.\n\n>From here\n>to there\n", "Hello."),
        ("Hello.\n\n>Hi\n>From me\n", "Hello."),
    ],
)
def test_a_line_that_a_mailbox_has_marked_is_no_quotation(text: str, words: str) -> None:
    assert own(text).words == words


@pytest.mark.parametrize("mark", ["--", "—"])
def test_sentences_below_a_line_of_two_dashes_are_not_lost(mark: str) -> None:
    below = "The second part is as long as the first one, if not longer. " * 4
    text = f"This is the first part.\n\n{mark}\n\n{below.strip()}"
    assert own(text) == OwnWords(text, quotes=False, has_more=True)
    assert own(text.replace(mark, "-- ")).words == "This is the first part."
    assert own(f"ok\n\n{mark}\n\n{below}").words == "ok"
    assert own(f"This is my own answer.\n\n{mark}\nMo\n{below}").words == "This is my own answer."


@pytest.mark.parametrize(
    "line",
    [
        "A blog <{}> schrieb am So., 22. Nov. 2026,\n15:00:",
        "A blog <{}> ezt írta (időpont: 2026. nov. 22., Vas\n15:00):",
    ],
)
def test_a_broken_line_that_names_us_is_cut_above_a_marked_quotation(line: str) -> None:
    text = f"Come in.\n\n{line.format(SENDER)}\n\n{QUOTED}"
    assert own(text) == OwnWords("Come in.", quotes=True)


def test_an_answer_below_and_between_what_it_quotes_is_read() -> None:
    between = QUOTED.replace("> Ann commented", "\nFirst.\n\n> Ann commented")
    found = own(f"Am 22.11.26 um 15:00 schrieb A blog:\n{between}\n\nSecond.\n")
    assert tidy(found.words) == ["First.", "Second."]
    assert not found.has_more


@pytest.mark.parametrize(
    "text",
    [
        "ok\n\nOn 22/11/2026 at 15:00 Bob <bob@mail.example> wrote:\n\nI am not you.",
        "ok\n\nVon: Bob\nGesendet: 22. November 2026 15:00\nAn: me\n\nI am not you.",
        "ok\n\n-----Original Message-----\nBob, 22/11/2026\n\nI am not you.",
        "ok\n\n> a long line that the program of its sender has broken somewhere in\nit\n> and on",
        "See ##- what you wrote",
        "[EXTERNAL EMAIL] Do not click on links.\n\nok",
        "CAUTION: This email originated from outside of the organization.\n\nok",
        "ACHTUNG: Diese Nachricht kommt von einem externen\nAbsender.\n\nDanke",
    ],
)
def test_a_text_that_may_quote_somebody_else_is_not_certain(text: str) -> None:
    assert own(text).has_more


def test_the_mails_of_talon_are_read_as_their_authors_say() -> None:
    """Mails of Android, AOL, Apple, Comcast, Gmail, Hotmail, Outlook, Sparrow and others."""
    folder = public_mails.fetched() / "tests" / "fixtures"
    names = ["bob", "Megan One", "Adam Renberg", "xxx", "Alexander L"]
    addresses = ["bob@xxx.mailgun.org", "bob@example.com", "xxx@gmail.com", "tgwizard@gmail.com"]
    addresses += ["abc@example.com", "alex.l@example.com", "foo@bar.com"]
    settings = replace_sender(names)
    seen = 0
    for path in sorted((folder / "standard_replies").glob("*.eml")):
        parser = MailParser(ADDRESSES, settings)
        parser._own_addresses += addresses
        mail = parser.read(public_mails.as_answer(path.read_bytes(), ORIGINAL))
        assert (mail.words, mail.doubt) == ("Hello", ""), path.name
        seen += 1
    for path in sorted((folder / "html_replies").glob("*.html")):
        text = html_text.read(path.read_text("utf-8", errors="replace")).text
        found = reply_text.read(text, names, addresses)
        assert tidy(found.words) == ["Hi. I am fine.", "Thanks,", "Alex"], path.name
        seen += 1
    assert seen >= 20


def replace_sender(names: list[str]) -> Settings:
    return msgspec.structs.replace(SETTINGS, sites=tuple(Site(title=name) for name in names))


def test_no_mail_of_mail_parser_is_lost_or_takes_long() -> None:
    """Real and malformed mails in many encodings: read, held, or told of."""
    folder = public_mails.fetched() / "tests" / "mails"
    parser = MailParser(ADDRESSES, SETTINGS)
    found = {}
    for path in sorted(folder.iterdir()):
        if path.name in ("mail_outlook_1", "mail_malformed_2"):  # no mail; a report
            continue
        raw = public_mails.as_answer(path.read_bytes(), ORIGINAL)
        mail = assert_quick(partial(parser.read, raw), 500)
        assert mail.words or mail.doubt == UNREADABLE, path.name
        found[path.name] = mail
    assert found["mail_malformed_1"].words == ""  # "--Sent from my iPhone" and pictures
    assert found["mail_test_12"].words.startswith("你好！我公司可代开各类增值税发票")
    assert found["mail_test_14"].words == "HTML here\n\nPlaintext here."
    assert found["mail_test_10"].words.startswith("Gentili Business Partner, vi segnalo che oggi è")
    assert len(found) >= 20


# What patterns begin with, in one line that never ends as they do.
ENDLESS = [
    *("<http://", "[http://", "(http://", "<#", "www.", "##-", "<a@b.c> ", "a@b.c ", "From: a "),
    *("> ", "-", "- ", "_", "=", "*", "a ", "a:", "1 ", "1/", "<", "[", "sent from ", "external "),
    *("https://a.safelinks.protection.outlook.com/?url=x", "\u200b", "é", "—", "|", "on a wrote:"),
]


@pytest.mark.locked_only("it is about our own patterns")
@pytest.mark.parametrize(
    "around",
    [
        "Hi\n\n{}",
        "{}\n\nHi",
        "Hi\n\nSent from my {}",
        "Hi\n\nSent from my iPhone\n{}",
        "Hi\n\n> a\n{}\n> b",
        "On 1.1.2026, 10:00 {} wrote:\n> Hi",
    ],
)
def test_no_line_takes_longer_than_its_length_explains(around: str) -> None:
    """Regression: 32,000 characters of "<http://" took a second, and 256 KiB a minute."""
    for part in ENDLESS:
        text = around.format(part * (100_000 // len(part)))
        assert_quick(partial(own, text), 100)
