"""Received mails: parses the bytes of a mail that answers one of ours, or comments on a page.

Mails that no person wrote are ignored (see `automatic`), so two programs never answer each other
for ever. The size is limited before parsing. Header fields are read as plain texts, not by their
grammars, which take long for malicious values. A person's mail is never dropped: if its text
cannot be read, or may have words that the person did not write, the result says so.
"""

import logging
import re
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from email.parser import BytesHeaderParser
from itertools import pairwise
from typing import Final, NamedTuple

from commentsvc.auth.reply_addresses import COMMENT, ReplyAddresses, ReplyWord
from commentsvc.comments.page_urls import Sites
from commentsvc.db.schema.inbox import (
    QUOTING,
    UNCERTAIN,
    UNREADABLE,
    MailedComment,
    ReceivedMail,
)
from commentsvc.inbox import automatic, comment_mail, decoding, html_text, openpgp, reply_text
from commentsvc.inbox.reply_text import OwnWords
from commentsvc.settings.schema import Settings, Site
from commentsvc.util.digest import digest
from commentsvc.util.text import escaping_work
from commentsvc.util.timestamps import DAY_MS

_log = logging.getLogger(__name__)

# Bytes of a whole mail, with pictures.
MAIL_SIZE: Final = 4 * 1024 * 1024
# Characters of an answer. The control socket takes no more.
WORDS_LENGTH: Final = 20_000
HEADERS_SIZE: Final = 128 * 1024  # bytes
PARTS: Final = 50
TEXT_LINES: Final = 10_000
# HTML tags: deep nesting takes quadratic time. So do "&", in the library that corrects HTML.
TAGS: Final = 5_000
ENTITIES: Final = 20_000
ESCAPING: Final = 3_000_000_000  # as in `escaping_work`
# The parser looks at each line once for each multipart around it, and makes an object of each part.
# A picture of 4 MiB has 57,000 lines.
LINES: Final = 60_000
MULTIPARTS: Final = 10
BOUNDARIES: Final = 2_000
# Bytes of a field with parameters, which take quadratic time.
TYPE_SIZE: Final = 4_096
_ID_LENGTH: Final = 1_000

# Header fields with the address to which a mail was sent.
_RECIPIENTS: Final = ("Delivered-To", "X-Original-To", "Envelope-To", "X-Envelope-To", "To", "Cc")
# Without alternatives for each byte, which would take a hundred times the memory of the field.
_TYPES: Final = re.compile(
    rb"^content-(?:type|disposition)[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*", re.I | re.M
).findall
# No program encodes a boundary; Python would look up any name as that of its encoding.
_ENCODED_BOUNDARY: Final = re.compile(rb"\bboundary\*(?:\d+\*)?\s*=", re.I).search
# "This message is in HTML format. Please use a program that can display it."
_PLACEHOLDER: Final = re.compile(
    r"\bhtml\b.*\b(?:view|display|show|support|anzeig|darstell|affich|mostr|visuali)"
    r"|\b(?:view|display|support|anzeig|darstell|affich)\w*\b.*\bhtml\b",
    re.IGNORECASE | re.DOTALL,
).search
_PLACEHOLDER_LENGTH: Final = 300  # characters
# The rest of a link of ours that a program has broken, and what may be the rest of its token.
_REST_OF_LINK: Final = (
    r"(?<![^\s/])mail/[a-z-]{2,12}\?t="
    r"|(?<![\w./=-])(?=[A-Z\d_.-]*[a-z])(?=[a-z\d_.-]*[A-Z])(?=[A-Za-z_.-]*[0-9])[A-Za-z0-9_.-]{32}"
)
_REACTION: Final = "text/vnd.google.email-reaction+json"
# Beside these, programs write a text: "Your message was read on Monday."
_OF_PROGRAMS: Final = frozenset((_REACTION, "text/calendar", *automatic.REPORTS))
_PLAIN: Final = frozenset(("text/plain", "text/markdown", "text/x-markdown"))


class Unwanted(Exception):
    """A mail is ignored; the text says why, for the log."""


class Unreadable(Exception):
    """The text of an answer cannot be read; the text says why, for the log."""


class PartText(NamedTuple):
    """The text of parts, whether no byte was guessed, and whether something was left out.

    `has_footer` says that a mail server may have added a part of the text.
    """

    text: str
    is_certain: bool
    leaves_out: bool = False
    has_footer: bool = False


class MailParser:
    """Reads mails that answer ours, or that comment on a page."""

    def __init__(self, addresses: ReplyAddresses, settings: Settings) -> None:
        """Take the reply addresses, and the settings for our own mails."""
        self._addresses = addresses
        names = (site.title or site.name for site in settings.sites)
        own = (settings.mail.sender.lower(), settings.inbox.address.lower(), addresses.prefix)
        self._own_addresses = [address for address in own if len(address) > 1]
        self._names = [*names]
        self._sites = Sites([site for site in settings.sites if site.comments_by_mail] or [Site()])
        self._takes_comments = any(site.comments_by_mail for site in settings.sites)
        self._author_length = settings.comments.author_length
        links = settings.server.public_url.rstrip("/") + "/mail/"
        found = "|".join(map(re.escape, [links, *self._own_addresses]))
        found = f"(?i:{found})|{_REST_OF_LINK}"
        own_words = re.compile(rf"(?:{found})[^\s<>()\[\]]*")
        self._own, self._own_words = own_words.search, own_words.sub

    def read(self, raw: bytes) -> ReceivedMail:
        """Read a mail that answers ours.

        Raise Unwanted for those that no person wrote, or not to us.
        """
        raw = raw.lstrip(b"\r\n")
        head, fields, word = self._head(raw)
        if word is None or word.purpose == COMMENT:
            raise Unwanted("it answers no mail of ours")
        if reason := automatic.reason(fields):
            raise Unwanted(reason)
        words, doubt, why = self._words(raw, head, fields)
        if why:
            _log.info("an answer by mail is held: %s", why)
        return ReceivedMail(_identity(fields, raw, word.outbox_id), *word, words, doubt)

    def read_comment(self, raw: bytes, now: int) -> MailedComment | None:
        """Read a mail to the address of a page, at the time `now` (Unix ms); None for others.

        Its sender will see the words, and may correct them. Raise Unwanted for those that no person
        wrote, and for senders to whom no mail may go.
        """
        raw = raw.lstrip(b"\r\n")
        head, fields, word = self._head(raw)
        if word is None or word.purpose != COMMENT:
            return None
        if not self._takes_comments or word.expires_day * DAY_MS <= now:
            raise Unwanted("the address of its page has expired, or comments are not taken by mail")
        if reason := automatic.reason(fields) or comment_mail.why_forged(fields):
            raise Unwanted(reason)
        author, email = comment_mail.sender(fields)
        if not email or self._own(email):
            raise Unwanted("it has no sender who can be asked")
        page = comment_mail.page(automatic.subject(fields), word, self._sites)
        words = self._words(raw, head, fields)[0] if page else ""
        site = page.site if page else self._sites.named("")
        return MailedComment(
            digest=_identity(fields, raw, word.outbox_id),
            site=site,
            url=page.url if page else "",
            email=email,
            author=author[: self._author_length],
            words=self.without_addresses(words),
            language=comment_mail.language(word) or self._sites.options[site].language,
            is_authenticated=comment_mail.is_authenticated(fields, email),
        )

    def _head(self, raw: bytes) -> tuple[bytes, Message, ReplyWord | None]:
        """Return the header of a mail, its fields, and what its address says. Raise Unwanted."""
        head = re.split(rb"\r?\n\r?\n|\r\r", raw[: HEADERS_SIZE + 4], maxsplit=1)[0]
        try:
            fields = BytesHeaderParser().parsebytes(head)
            word = self._addresses.find("\n".join(_values(fields, *_RECIPIENTS)))
        except Exception as error:  # whatever Python's parser raises
            raise Unwanted(f"it cannot be read: {error}") from error
        return head, fields, word

    def _words(self, raw: bytes, head: bytes, fields: Message) -> tuple[str, str, str]:
        """Return the words of a mail, the doubt about them, and its reason for the log."""
        try:
            if len(head) > HEADERS_SIZE:
                raise Unreadable("its header is too long")
            return self._answer(raw, fields)
        except Exception as error:  # as above, and Unreadable
            return "", UNREADABLE, str(error)

    def _answer(self, raw: bytes, fields: Message) -> tuple[str, str, str]:
        """Return the words of an answer, the doubt about them, and its reason for the log.

        Raise Unreadable.
        """
        if len(raw) > MAIL_SIZE:
            raise Unreadable(f"it is larger than {MAIL_SIZE >> 20} MiB")
        _check_shape(raw)
        message = message_from_bytes(raw)
        found = _read(message, is_root=True)
        if found is None:
            raise Unreadable("it has no text")
        if found.text.count("\n") > TEXT_LINES:
            raise Unreadable("its text has too many lines")
        text = openpgp.signed_text(found.text)
        if text is None:
            raise Unreadable("it is encrypted")
        answer = reply_text.read(text, self._names, self._own_addresses)
        answer = _beside_other_parts(answer, message, found.has_footer)
        if len(answer.words) > WORDS_LENGTH:
            raise Unreadable("its text is too long")
        if not answer.words:
            _check_empty(message, answer.quotes or found.leaves_out)
        if not found.is_certain:
            return answer.words, UNCERTAIN, "its text is badly encoded"
        if not automatic.is_reply(fields):
            return answer.words, UNCERTAIN, "its subject is not that of a reply"
        return answer.words, *self._doubt(fields, answer)

    def _doubt(self, fields: Message, answer: OwnWords) -> tuple[str, str]:
        """Return the doubt about the words of a reply, and its reason for the log."""
        if self._own(answer.words):
            return QUOTING, "its text has an address of ours, or what may be a part of one"
        if answer.has_more:
            return QUOTING, "its own words cannot be told from what it quotes"
        if not automatic.has_prefix(fields):
            return QUOTING, "nothing in its subject says that it is a reply"
        if automatic.may_be_of_machine(answer.words):
            return QUOTING, "it may be the text of an answering machine"
        return "", ""

    def without_addresses(self, words: str) -> str:
        """Return words without the addresses and links of ours: who has one may use it."""
        return self._own_words("…", words)


def _beside_other_parts(answer: OwnWords, message: Message, has_footer: bool) -> OwnWords:
    """Return an answer with what the other parts of its mail say about it."""
    kinds = {part.get_content_type() for part in message.walk()}
    if _REACTION in kinds:
        # Gmail writes an emoji, and a line about itself that nobody wants on a page.
        answer = answer._replace(words=answer.words.partition("\n")[0])
    has_more = answer.has_more or has_footer or not _OF_PROGRAMS.isdisjoint(kinds)
    return answer._replace(has_more=has_more)


def _check_empty(message: Message, quotes: bool) -> None:
    """Raise Unreadable unless an answer without words is one that a person meant so."""
    if quotes:
        raise Unreadable("it says nothing but what it quotes")
    is_reply = bool(" ".join(_values(message, "In-Reply-To")).strip())
    if not is_reply or any(_has_file(part) for part in message.walk()):
        raise Unreadable("it says nothing")


def _check_shape(raw: bytes) -> None:
    """Raise Unreadable for a mail that would take seconds to parse, or much memory."""
    plain = _with_newlines(raw)
    types = _TYPES(plain)
    if (
        plain.count(b"\n") > LINES
        or plain.count(b"\n--") > BOUNDARIES
        or sum(b"multipart" in each.lower() for each in types) > MULTIPARTS
        or any(len(each) > TYPE_SIZE or _ENCODED_BOUNDARY(each) for each in types)
    ):
        raise Unreadable("it has too many lines or parts, or an encoded boundary")


def _with_newlines(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _read(
    part: Message, is_root: bool = False, left: Iterator[int] | None = None
) -> PartText | None:
    """Return the text of a part with all its inline parts, in order; None if there is none.

    An attached mail is none, nor is a part with a name. Raise Unreadable.
    """
    left = left or iter(range(PARTS))
    if next(left, None) is None:
        raise Unreadable("it has too many parts")
    kind = re.split(r"[\s,]", part.get_content_type())[0]  # "text/plain charset=utf-8" too
    payload = part.get_payload() if part.is_multipart() else None
    if isinstance(payload, list) and kind.startswith("multipart/"):
        inner = [each for each in payload if isinstance(each, Message)]
        if kind == "multipart/alternative":
            return _read_alternative(inner, left)
        texts = (_read(each, left=left) for each in inner)
        if kind == "multipart/encrypted":
            return None
        if kind in ("multipart/related", "multipart/signed"):
            return next((each for each in texts if each is not None), None)
        return _joined([*texts])
    if not is_root and _has_file(part):
        return None
    if kind in _PLAIN or kind == "text/html":
        return _text(part, kind == "text/html")
    return None


def _read_alternative(inner: list[Message], left: Iterator[int]) -> PartText | None:
    """Return the first text that is not empty: that of the simplest form.

    One that only tells of the HTML beside it is not what a person wrote.
    """
    blank = None
    for number, each in enumerate(inner, 1):
        found = _read(each, left=left)
        if found and found.text.strip():
            text = found.text.strip()
            if number < len(inner) and len(text) <= _PLACEHOLDER_LENGTH and _PLACEHOLDER(text):
                continue
            return found
        blank = found if found and (found.leaves_out or blank is None) else blank
    return blank


def _joined(parts: list[PartText | None]) -> PartText | None:
    """Return the texts of parts side by side, of which some have none.

    People write the first part; programs begin another one only below a picture or file. A text
    that stands alone below something else, or right below another text, may be a server's.
    """
    texts = [each for each in parts if each is not None]
    if not texts:
        return None
    joined = "\n\n".join(each.text.strip("\r\n") for each in texts)
    if len(joined) > decoding.TEXT_SIZE:
        raise Unreadable("its text is too long")
    has_words = [bool(each and each.text.strip()) for each in parts]
    return PartText(
        joined,
        all(each.is_certain for each in texts),
        any(each.leaves_out for each in texts),
        any(each.has_footer for each in texts)
        or (any(has_words) and not has_words[0])
        or (True, True) in pairwise(has_words),
    )


def _text(part: Message, is_html: bool) -> PartText:
    """Return the text of a part. Raise Unreadable."""
    try:
        found = decoding.text_of(part)
    except decoding.TooLong:
        raise Unreadable("its text is too long") from None
    if not (is_html and found.text.strip()):
        return PartText(*found)
    if found.text.count("<") > TAGS or found.text.count("&") > ENTITIES:
        raise Unreadable("its HTML has too many tags")
    if escaping_work(found.text) > ESCAPING:
        raise Unreadable("its HTML would take long to read")
    seen = html_text.read(found.text)
    return PartText(seen.text, found.is_certain, seen.leaves_out)


def _has_file(part: Message) -> bool:
    """Return whether a part is a file or a mail, inline or not, rather than text to be read."""
    if part.get_content_maintype() == "message":
        return True
    if part.is_multipart():
        return False
    disposition = " ".join(_values(part, "Content-Disposition")).strip().lower()
    if disposition.startswith("attachment") or not part.get_content_type().startswith("text/"):
        return True
    fields = (part.get_params([], "Content-Disposition"), part.get_params([]))
    keys = (str(key).lower() for params in fields for key, _ in params or [])
    return any(key.split("*")[0] in ("filename", "name") for key in keys)


def _values(message: Message, *names: str) -> list[str]:
    return [str(value) for name in names for value in message.get_all(name, [])]


def _identity(message: Message, raw: bytes, answers: int) -> bytes:
    """Return the digest of a mail's Message-ID, or of the whole mail if it has none.

    Some programs give the same to many mails, so the number of the mail that it answers counts too.
    """
    name = next(iter(_values(message, "Message-ID")), "").strip()
    identity = name.encode(errors="replace") if 0 < len(name) <= _ID_LENGTH else raw
    return digest(b"%d %s" % (answers, identity), size=16)
