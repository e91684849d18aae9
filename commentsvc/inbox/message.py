"""Received mails: parses the bytes of a mail that answers one of ours, or rejects it.

Mails that no person wrote are ignored: automatic replies (RFC 3834), bounces, mailing lists. So two
programs never answer each other for ever. The size is limited before parsing. Header fields are
read as plain texts, not by their grammars, which take long for malicious values.
"""

import base64
import hashlib
import quopri
import re
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from typing import Final

from commentsvc.auth.reply_addresses import ReplyAddresses
from commentsvc.db.schema.inbox import ReceivedMail
from commentsvc.inbox import html_text, reply_text
from commentsvc.inbox.reply_text import OwnWords
from commentsvc.settings.schema import Settings
from commentsvc.util.text import decoded

# Bytes of a whole mail, with pictures.
MAIL_SIZE: Final = 4 * 1024 * 1024
# Bytes of the text or HTML of a mail.
TEXT_SIZE: Final = 256 * 1024
# Characters of an answer. The control socket takes no more.
WORDS_LENGTH: Final = 20_000
HEADERS_SIZE: Final = 128 * 1024  # bytes
PARTS: Final = 50
# HTML tags: deep nesting takes quadratic time.
TAGS: Final = 5_000
# The parser looks at each line once for each multipart around it, and makes an object of each part.
LINES: Final = 200_000
MULTIPARTS: Final = 10
BOUNDARIES: Final = 2_000
# Bytes of a Content-Type field: its parameters take quadratic time.
TYPE_SIZE: Final = 4_096
_ID_LENGTH: Final = 1_000

# Header fields with the address to which a mail was sent.
_RECIPIENTS: Final = ("Delivered-To", "X-Original-To", "Envelope-To", "X-Envelope-To", "To", "Cc")
_ROBOTS: Final = re.compile(
    r"(?:^|<|\s)(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?)[@+]", re.IGNORECASE
).search
_LIST_FIELDS: Final = (
    "List-Id",
    "List-Unsubscribe",
    "X-Autoreply",
    "X-Autorespond",
    "X-Autoresponder",
    "X-Failed-Recipients",
    "Feedback-ID",
)
# Without alternatives for each byte, which would take a hundred times the memory of the field.
_TYPES: Final = re.compile(rb"^content-type[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*", re.I | re.M).findall
_CHARSET: Final = re.compile(r"[A-Za-z0-9._:-]{1,40}").fullmatch


class Unwanted(Exception):
    """A mail is ignored; the text says why, for the log."""


class MailReader:
    """Reads mails that answer ours."""

    def __init__(self, addresses: ReplyAddresses, settings: Settings) -> None:
        """Take the reply addresses, and the settings for our own mails."""
        self._addresses = addresses
        self._sender = settings.mail.sender.lower()
        names = (site.title or site.name for site in settings.sites)
        self._ours = (settings.mail.sender, *names)
        # Links in our mails are secret: whoever has one may use it.
        self._secret = (settings.server.public_url.rstrip("/") + "/mail/", addresses.prefix)

    def read(self, raw: bytes) -> ReceivedMail:
        """Read a mail. Raise Unwanted, whatever Python's parser raises for the mail."""
        try:
            return self._read(raw)
        except Unwanted:
            raise
        except Exception as error:
            raise Unwanted(f"it cannot be read: {error}") from error

    def _read(self, raw: bytes) -> ReceivedMail:
        if len(raw) > MAIL_SIZE:
            raise Unwanted(f"it is larger than {MAIL_SIZE >> 20} MiB")
        head = re.split(rb"\r?\n\r?\n", raw[: HEADERS_SIZE + 4], maxsplit=1)[0]
        if len(head) > HEADERS_SIZE:
            raise Unwanted("its header is too long")
        _check_shape(raw)
        message = message_from_bytes(raw)
        word = self._addresses.find("\n".join(_values(message, *_RECIPIENTS)))
        if word is None:
            raise Unwanted("it answers no mail of ours")
        if reason := self._automatic(message):
            raise Unwanted(reason)
        answer = self._answer(message)
        if len(answer.words) > WORDS_LENGTH:
            raise Unwanted("its text is too long")
        is_reply = bool(_value(message, "In-Reply-To").strip())
        is_empty = not answer.words and not answer.quotes
        if not answer.words and not (is_empty and is_reply):
            raise Unwanted("it says nothing" if is_empty else "it says nothing but what it quotes")
        if any(secret in answer.words for secret in self._secret):
            raise Unwanted("its own words cannot be told from what it quotes")
        return ReceivedMail(_digest(message, raw), *word, answer.words)

    def _automatic(self, message: Message) -> str:
        """Return why a mail is automatic; "" if a person may have sent it."""
        if _value(message, "Auto-Submitted").split(";")[0].strip().lower() not in ("", "no"):
            return "it is automatic (Auto-Submitted)"
        if _value(message, "Precedence").strip().lower() in ("bulk", "list", "junk", "auto_reply"):
            return "it is automatic (Precedence)"
        if any(path.strip() in ("<>", "") for path in _values(message, "Return-Path")):
            return "it is a report (Return-Path <>)"
        if message.get_content_type() in ("multipart/report", "message/delivery-status"):
            return "it is a report"
        for name in _LIST_FIELDS:
            if _value(message, name).strip():
                return f"it is automatic ({name})"
        sender = _value(message, "From")
        if not sender.strip() or _ROBOTS(sender):
            return "no person sent it"
        if self._sender and self._sender in sender.lower():
            return "we sent it"
        return ""

    def _answer(self, message: Message) -> OwnWords:
        """Return the words of a mail, from its plain text, or else from its HTML."""
        found: dict[str, str] = {}
        for number, part in enumerate(_parts(message)):
            if number > PARTS:
                raise Unwanted("it has too many parts")
            kind = part.get_content_type()
            attached = _value(part, "Content-Disposition").strip().lower().startswith("attachment")
            if kind in ("text/plain", "text/html") and not attached and not found.get(kind):
                found[kind] = _text(part)
        plain, html = found.get("text/plain", ""), found.get("text/html", "")
        if not plain.strip() and html.strip():
            if html.count("<") > TAGS:
                raise Unwanted("its HTML has too many tags")
            plain = html_text.text_of(html)
        return reply_text.read(plain, self._ours)


def _check_shape(raw: bytes) -> None:
    """Raise Unwanted for a mail that would take seconds to parse, or much memory."""
    plain = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    types = _TYPES(plain)
    if (
        plain.count(b"\n") > LINES
        or plain.count(b"\n--") > BOUNDARIES
        or sum(b"multipart" in each.lower() for each in types) > MULTIPARTS
        or any(len(each) > TYPE_SIZE for each in types)
    ):
        raise Unwanted("it has too many lines or parts")


def _parts(message: Message) -> Iterator[Message]:
    """Yield each part that has no parts of its own; not those of an attached mail."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        if part.get_content_maintype() == "message" and part is not message:
            continue
        payload = part.get_payload()
        if isinstance(payload, list):
            waiting += [each for each in reversed(payload) if isinstance(each, Message)]
        else:
            yield part


def _text(part: Message) -> str:
    """Return the text of a part. Raise Unwanted for invalid encodings."""
    payload = part.get_payload()
    if not isinstance(payload, str):
        return ""
    try:
        text = _decoded(part, payload.encode("ascii", "surrogateescape"))
    except (LookupError, ValueError) as error:  # binascii.Error is one
        raise Unwanted("its text is badly encoded") from error
    if str(part.get_param("format", "")).lower() == "flowed":
        return _unfolded(text, str(part.get_param("delsp", "")).lower() == "yes")
    return text


def _decoded(part: Message, data: bytes) -> str:
    """Decode the text of a part. Raise Unwanted, LookupError, ValueError."""
    if len(data) > 2 * TEXT_SIZE:
        raise Unwanted("its text is too long")
    match _value(part, "Content-Transfer-Encoding").strip().lower():
        case "base64":
            data = base64.b64decode(b"".join(data.split()), validate=True)
        case "quoted-printable":
            data = quopri.decodestring(data)
    if len(data) > TEXT_SIZE:
        raise Unwanted("its text is too long")
    charset = str(part.get_param("charset", "") or "utf-8").strip("'\" ").lower()
    if not _CHARSET(charset):
        raise LookupError(charset)
    text = decoded(data, "utf-8" if charset in ("us-ascii", "ascii") else charset)
    if "\x00" in text:
        raise ValueError("a text has no NUL")
    return text


def _unfolded(text: str, without_space: bool) -> str:
    """Join lines that a mail program has broken (format=flowed, RFC 3676)."""
    lines: list[str] = []
    joins = False
    for line in text.replace("\r\n", "\n").split("\n"):
        line = line[1:] if line.startswith(" ") else line
        if joins and not line.startswith(">") and line != "-- ":
            lines[-1] = (lines[-1][:-1] if without_space else lines[-1]) + line
        else:
            lines.append(line)
        joins = line.endswith(" ") and line != "-- " and not line.startswith(">")
    return "\n".join(lines)


def _values(message: Message, *names: str) -> list[str]:
    return [str(value) for name in names for value in message.get_all(name, [])]


def _value(message: Message, name: str) -> str:
    return next(iter(_values(message, name)), "")


def _digest(message: Message, raw: bytes) -> bytes:
    """Return the digest of a mail's Message-ID, or of the whole mail if it has none."""
    name = _value(message, "Message-ID").strip()
    identity = name.encode(errors="replace") if 0 < len(name) <= _ID_LENGTH else raw
    return hashlib.blake2b(identity, digest_size=16).digest()
