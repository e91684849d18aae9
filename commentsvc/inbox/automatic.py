"""Automatic mails: known by their header fields, or by the first words of their subject.

The fields are those of RFC 3834 and others that mail servers and answering machines have set for
long. Programs that set none say in the subject what they are, in the language of their user. The
table has the words of Exchange and Outlook (their own translations) and of common answering
machines, for the languages of our mails and some more.
"""

import re
from email.message import Message
from typing import Final

from commentsvc.inbox.decoding import header_text
from commentsvc.inbox.phrases import AUTOMATIC, MACHINES, REPLIES
from commentsvc.util.text import one_line

_ROBOTS: Final = re.compile(
    r"(?:^|<|\s)(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?)[@+]", re.IGNORECASE
).search
# Fields that only programs and mailing lists set. Feedback-ID is none: mail providers count
# complaints with it, also about the mails of people.
_FIELDS: Final = (
    "List-Id",
    "List-Post",
    "List-Unsubscribe",
    "X-Auto-Reply",
    "X-Autoreply",
    "X-Autorespond",
    "X-Autoresponder",
    "X-Failed-Recipients",
    "X-Loop",
    "X-Vacation",
)
# What mail servers put before a subject: "[External]", "{Spam?}", "*** EXT ***".
_TAGS: Final = re.compile(
    r"^(?:\s|\[[^\]]{0,40}\]|\{[^}]{0,40}\}|\*+[^*]{0,40}\*+|EXT:|SPAM:)*", re.I
)
_BEGINS_AUTOMATIC: Final = re.compile(
    rf"(?:{'|'.join(re.escape(word) for word in AUTOMATIC)})"
    r"(?![^\W\d_])|(?:自动|自動)(?:回|答|応|返)|자동\s?(?:회신|응답)",
    re.IGNORECASE,
).match
_BEGINS_REPLY: Final = re.compile(
    rf"(?:{'|'.join(map(re.escape, REPLIES))})\.?\s?"
    r"(?:[\[(]\d{1,3}[\])]|[\^-]\d{1,3})?\s?[:：]",
    re.IGNORECASE,
).match
_BEGINNING: Final = 600  # characters: a greeting, thanks, and the sentence that says it
# In scripts that put spaces between words, a phrase begins with a word.
_MACHINES: Final = re.compile(
    "|".join(
        ("" if "\u0e00" <= phrase[0] <= "\u0e7f" or phrase[0] >= "\u3040" else r"(?<![^\W\d_])")
        + re.escape(phrase)
        for phrase in MACHINES
    ),
    re.IGNORECASE,
).search
_PREFIX: Final = re.compile(r"[^:：]{1,40}[:：]").match


def reason(fields: Message) -> str:
    """Return why a mail with these header fields is automatic; "" if a person may have sent it."""
    if _value(fields, "Auto-Submitted").split(";")[0].strip().lower() not in ("", "no"):
        return "it is automatic (Auto-Submitted)"
    if _value(fields, "Precedence").lower() in ("bulk", "list", "junk", "auto_reply"):
        return "it is automatic (Precedence)"
    if _value(fields, "X-Auto-Response-Suppress").lower() not in ("", "none"):
        return "it is automatic (X-Auto-Response-Suppress)"
    if any(str(path).strip() in ("<>", "") for path in fields.get_all("Return-Path", [])):
        return "it is a report (Return-Path <>)"
    if fields.get_content_type() in REPORTS:
        return "it is a report"
    for name in _FIELDS:
        if _value(fields, name):
            return f"it is automatic ({name})"
    sender = _value(fields, "From")
    if not sender or _ROBOTS(sender):
        return "no person sent it"
    whole = _whole_subject(fields)
    if _BEGINS_AUTOMATIC(whole.lstrip("[({* ")) or _BEGINS_AUTOMATIC(subject(fields)):
        return "its subject says that it is automatic"
    return ""


REPORTS: Final = (
    "multipart/report",
    "message/delivery-status",
    "message/disposition-notification",
    "message/global-delivery-status",
)


def is_reply(fields: Message) -> bool:
    """Return whether a mail looks like one that a person wrote with the button to reply.

    An answering machine whose language the table lacks puts its own words before our subject.
    """
    text = subject(fields)
    return bool(_BEGINS_REPLY(text)) or (not _PREFIX(text) and bool(_value(fields, "In-Reply-To")))


def has_prefix(fields: Message) -> bool:
    """Return whether a subject begins as mail programs begin that of a reply, or there is none.

    If an answering machine's words follow, they may be its own, or those of our subject.
    """
    text = subject(fields)
    found = _BEGINS_REPLY(text)
    return not text or bool(found and not _BEGINS_AUTOMATIC(text[found.end() :].lstrip()))


def may_be_of_machine(words: str) -> bool:
    """Return whether a text begins as those of answering machines do."""
    return bool(_MACHINES(" ".join(words[:_BEGINNING].split())))


def subject(fields: Message) -> str:
    """Return the subject of a mail without what mail servers put before it."""
    return _TAGS.sub("", _whole_subject(fields), count=1)


def _whole_subject(fields: Message) -> str:
    found = (value for name, value in fields.raw_items() if name.lower() == "subject")
    return one_line(header_text(str(next(found, ""))))


def _value(fields: Message, name: str) -> str:
    return str(fields.get(name, "")).strip()
