"""The text of a mail is read as mail programs show it, whatever its encodings."""

import base64
import binascii
from email import message_from_bytes
from encodings import _cache  # the names that Python was asked for
from functools import partial

import pytest
import webencodings  # type: ignore[import-untyped]  # it has no types
from webencodings.labels import LABELS  # type: ignore[import-untyped]  # as above

from commentsvc.inbox.decoding import _OF_PYTHON, DecodedText, charset_decoded, header_text, text_of
from tests.unit.processor_time import assert_quick

# A text for each encoding of the WHATWG Encoding Standard that it can write.
TEXTS = {
    "big5": "謝謝，已經修好了。㗎",
    "euc-jp": "ありがとう①㈱髙",
    "euc-kr": "감사합니다 똠방각하",
    "gb18030": "谢谢，𠮷",
    "gbk": "谢谢，囍镕€",
    "ibm866": "Спасибо ║",
    "iso-2022-jp": "ありがとう ok",
    "iso-8859-2": "dziękuję",
    "iso-8859-3": "ĝojo ŭ",
    "iso-8859-4": "ačiū",
    "iso-8859-5": "Спасибо",
    "iso-8859-6": "شكرا",
    "iso-8859-7": "ευχαριστώ",
    "iso-8859-8": "תודה",
    "iso-8859-8-i": "תודה",
    "iso-8859-10": "sjálfvirkt ŋ",
    "iso-8859-13": "paldies ā",
    "iso-8859-14": "ŵ ẁ",
    "iso-8859-15": "5 € œ",
    "iso-8859-16": "mulțumesc",
    "koi8-r": "Спасибо",
    "koi8-u": "Дякую, їжак",
    "macintosh": "Größe — “gut”",
    "shift_jis": "ありがとう①㈱髙",
    "windows-1250": "dziękuję — “ok”",
    "windows-1251": "Спасибо — “да”",
    "windows-1252": "It’s “good” – €5",
    "windows-1253": "ευχαριστώ",
    "windows-1254": "teşekkürler",
    "windows-1255": "תודה",
    "windows-1256": "شكرا",
    "windows-1257": "ačiū",
    "windows-1258": "Đây",
    "windows-874": "ขอบคุณ",
    "x-mac-cyrillic": "Спасибо",
    "utf-8": "Größe 谢谢 👍",
    "utf-16be": "Größe 谢谢",
    "utf-16le": "Größe 谢谢",
}
PYTHON = {"euc-jp": "euc_jis_2004", "gbk": "gb18030", "iso-2022-jp": "iso2022_jp"}


def encoded(name: str, text: str) -> bytes:
    lookup = webencodings.lookup(name)
    if name == "euc-jp":  # Python's own has no ① and 髙: as Windows writes it
        return "ありがとう".encode("euc-jp") + b"\xad\xa1\xad\xea\xfc\xe2"
    if name == "gbk":
        return text.replace("€", "").encode("gb18030") + b"\x80"
    codec = PYTHON.get(name, lookup.codec_info.name)
    return text.encode(codec)


def test_the_texts_below_are_of_all_encodings_of_the_standard() -> None:
    assert {*LABELS.values()} == {*TEXTS, "replacement", "x-user-defined"}


@pytest.mark.parametrize("name", TEXTS)
def test_each_label_of_the_encoding_standard_is_read_as_browsers_read_it(name: str) -> None:
    labels = [label for label, of in LABELS.items() if of == name]
    assert labels
    for label in labels:
        read = charset_decoded(encoded(name, TEXTS[name]), label.upper())
        assert read == (TEXTS[name], True), label


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        ("", b"plain", "plain"),
        ("", "Größe".encode(), "Größe"),
        ("", "Größe".encode("latin-1"), "Größe"),
        ("us-ascii", "Größe".encode(), "Größe"),
        ("us-ascii", b"It\x92s", "It’s"),
        ("unknown-8bit", "谢谢".encode(), "谢谢"),
        ("no-such-charset", "谢谢".encode(), "谢谢"),
        ("iso-8859-1", b"It\x92s \x93good\x94 \x80 5", "It’s “good” € 5"),
        ("gb2312", "谢谢，镕".encode("gbk"), "谢谢，镕"),
        ("iso-2022-jp", b"\x1b$B-!-j\x1b(B ok", "①㈱ ok"),
        ("cp932", "①".encode("cp932"), "①"),
        ("utf-7", b"Gr+APYA3w-e", "Größe"),
        ("hz-gb-2312", b"~{P;P;~}", "谢谢"),
        ("iso-2022-kr", "감사".encode("iso2022_kr"), "감사"),
        ("cp850", "Größe".encode("cp850"), "Größe"),
        ("utf8", "Größe".encode(), "Größe"),
        ('"utf-8"', b"\xef\xbb\xbfok", "ok"),
        ("utf-16", "ok 谢".encode("utf-16"), "ok 谢"),
    ],
)
def test_what_a_mail_names_wrongly_or_not_at_all_is_read(
    charset: str, data: bytes, text: str
) -> None:
    assert charset_decoded(data, charset) == (text, True)


@pytest.mark.parametrize(
    "charset", ["utf-8", "no-such", "hex", "punycode", "rot13", "x" * 99, "\ud800"]
)
def test_what_cannot_be_read_is_not_certain(charset: str) -> None:
    read = charset_decoded(b"ok \xff\xfe\x81", charset)
    assert read.text.startswith("ok ")
    assert not read.is_certain


def test_single_bytes_in_place_of_utf_8_are_read_and_not_certain() -> None:
    assert charset_decoded("Grüße, schön".encode("cp1252"), "utf-8") == ("Grüße, schön", False)
    mixed = "Grüße ".encode() + b"\xfc"
    assert charset_decoded(mixed, "utf-8") == ("Grüße \ufffd", False)


@pytest.mark.parametrize(
    "meta",
    [
        '<meta charset="windows-1251">',
        "<META http-equiv='Content-Type' content='text/html; charset=windows-1251'>",
    ],
)
def test_html_names_its_encoding_itself_if_the_mail_does_not(meta: str) -> None:
    html = f"<html><head>{meta}</head><p>Спасибо</p>"
    mail = b"Content-Type: text/html\n\n" + html.encode("cp1251")
    assert text_of(message_from_bytes(mail)) == (html, True)
    named = mail.replace(b"text/html\n", b"text/html; charset=koi8-r\n", 1)
    assert "Спасибо" not in text_of(message_from_bytes(named)).text


@pytest.mark.parametrize("charset", ["undefined", "no-such-3", "idna", "utf-7", "hex"])
def test_no_name_of_an_encoding_in_a_parameter_fails_or_is_kept(charset: str) -> None:
    kind = f"text/plain; format*={charset}''flowed; charset*={charset}''utf-8"
    part = message_from_bytes(f"Content-Type: {kind}\n\nGrüße \nan alle".encode())
    _cache.pop(charset, None)
    assert text_of(part) == ("Grüße an alle", True)
    assert charset_decoded("Grüße".encode(), charset).text.encode()
    assert charset == "utf-7" or charset not in _cache


@pytest.mark.parametrize("codec", sorted({*_OF_PYTHON.values()}))
def test_each_codec_of_pythons_decodes_texts(codec: str) -> None:
    text = "abc".encode(codec)
    assert charset_decoded(text, codec).text == "abc"


def part_text(encoding: str, body: bytes, kind: str = "text/plain; charset=utf-8") -> DecodedText:
    head = f"Content-Type: {kind}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n"
    return text_of(message_from_bytes(head.encode() + body))


GREETING = "Schön, danke für die Grüße!"
BASE64 = base64.b64encode(GREETING.encode())


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("8bit", GREETING.encode()),
        ("7bit", GREETING.encode()),
        ("binary", GREETING.encode()),
        ("", GREETING.encode()),
        ("8-bit", GREETING.encode()),
        ("x-unheard-of", GREETING.encode()),
        ("quoted-printable", b"Sch=C3=B6n, danke f=C3=BCr die =\r\nGr=C3=BC=C3=9Fe!"),
        ("quoted-printable", b"Sch=c3=b6n, danke f=C3=BCr die =  \r\nGr=C3=BC=C3=9Fe!   \r\n"),
        ("Quoted_Printable", b"Sch=C3=B6n, danke f\xc3\xbcr die Gr=C3=BC=C3=9Fe!="),
        ("base64", BASE64),
        ("BASE64 (8bit)", b"\r\n".join(BASE64[at : at + 7] for at in range(0, len(BASE64), 7))),
        ("base64", BASE64.rstrip(b"=")),
        ("base64", BASE64[:8] + b"!*\xff" + BASE64[8:]),
        ("base64", b" ".join(BASE64[at : at + 1] for at in range(len(BASE64)))),
        ("base64", BASE64 + b"\r\n\r\n-- \r\nThis list is run by nobody.\r\n"),
        (
            "base64",
            base64.b64encode(GREETING.encode()[:7]) + base64.b64encode(GREETING.encode()[7:]),
        ),
        ("x-uuencode", b"begin 644 x\n" + binascii.b2a_uu(GREETING.encode()) + b"`\nend\n"),
    ],
)
def test_every_transfer_encoding_is_read_also_where_it_is_broken(
    encoding: str, body: bytes
) -> None:
    read = part_text(encoding, body)
    assert (read.text.strip(), read.is_certain) == (GREETING, True)


def test_a_text_that_is_no_base64_is_not_certain() -> None:
    assert not part_text("base64", b"Hello Ann, how are you?").is_certain


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        (
            "text/plain; format=flowed",
            "One \r\nline.\r\n\r\n Two\r\n>q \r\n>r\r\n-- \r\nx",
            "One line.\n\nTwo\n>q \n>r\n-- \nx",
        ),
        ("text/plain; format=flowed; delsp=yes", "谢 \r\n谢", "谢谢"),
        ("text/plain; FORMAT=Flowed; charset*=utf-8''utf-8", "Grö \r\nße", "Grö ße"),
        ("text/plain; charset*0=ut; charset*1=f-8", "Größe", "Größe"),
    ],
)
def test_broken_lines_are_joined_and_parameters_read(kind: str, body: str, text: str) -> None:
    assert part_text("8bit", body.encode(), kind).text == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Re: =?utf-8?b?5Zue5aSN?=: hi", "Re: 回复: hi"),
        ("=?gb2312?B?6Ea7+Q==?=", "鐵基"),
        ("=?x-no-such?q?a=FF?=", "a�"),
        ("Größe".encode().decode("ascii", "surrogateescape"), "Größe"),
        ("=?utf-8?b?!!!?=x", "x"),
    ],
)
def test_subjects_are_read_as_people_see_them(value: str, text: str) -> None:
    assert header_text(value).replace("  ", " ") == text


@pytest.mark.parametrize("line", [b" \n", b"a \n", b">\n", b"=\n", b"A=", b"\x1b$B"])
def test_no_text_takes_long_to_decode(line: bytes) -> None:
    for encoding in ("8bit", "base64", "quoted-printable"):
        for kind in ("text/plain; format=flowed", "text/plain; charset=iso-2022-jp"):
            text = line * (250_000 // len(line))
            assert_quick(partial(part_text, encoding, text, kind), 500)


@pytest.mark.parametrize("charset", ["", "us-ascii", "utf-8", "ISO-8859-1", "unknown-8bit"])
def test_iso_2022_jp_is_known_without_its_name(charset: str) -> None:
    """Old programs of Japan name no encoding, and servers add a wrong one."""
    text = "こんにちは、元気ですか。"
    found = charset_decoded(text.encode("iso-2022-jp"), charset)
    assert found == DecodedText(text, is_certain=True)


@pytest.mark.parametrize(
    ("charset", "data"),
    [
        ("utf-7", b"Hi +2AA- you"),
        ("unicode_escape", rb"Hi \ud800 you"),
        ("raw_unicode_escape", rb"Hi \ud800 you"),
        ("utf-8", b"Hi \x00 you"),
        ("utf-16le", b"H\0i\0\0\xd8y\0"),
    ],
)
def test_a_text_has_nothing_that_a_database_cannot_store(charset: str, data: bytes) -> None:
    """Regression: half a character was an error for ever, and stopped all mails behind it."""
    part = message_from_bytes(f"Content-Type: text/plain; charset={charset}\n\n".encode() + data)
    found = text_of(part)
    assert found.text.encode()
    assert "\x00" not in found.text
    assert not found.is_certain
