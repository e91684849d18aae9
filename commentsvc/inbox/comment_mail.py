"""Comments by mail: who sent a mail to the address of a page, and which page that is.

The address has a digest of the page; the subject, which the link to write gives, has the page
itself. So neither can be used with another one. A mail that the mail server knows as forged or as
spam gets no answer: it would reach somebody else.
"""

import re
from collections.abc import Iterator
from email.message import Message
from email.utils import getaddresses
from typing import Final

from commentsvc.auth.reply_addresses import ReplyWord, language_digest, page_numbers
from commentsvc.comments.page_urls import LENGTH, PageRef, Sites
from commentsvc.comments.submission import is_email
from commentsvc.db.connection import Transaction
from commentsvc.db.schema.inbox import MailedComment
from commentsvc.inbox.decoding import header_text
from commentsvc.readers import mailed_comments
from commentsvc.spam import bans
from commentsvc.util.i18n import languages
from commentsvc.util.text import one_line

FROM_LENGTH: Final = 1_000  # characters of a From field
CANDIDATES: Final = 5  # addresses in a subject that are looked at
_RESULTS: Final = "Authentication-Results"  # RFC 8601
# The domain of a signature that the mail server has checked: `header.d`, or that of `header.i`.
_SIGNED: Final = re.compile(
    r"\bdkim\s*=\s*pass\b[^;]*?\bheader\.(?:d|i)\s*=\s*\"?[^@;\s]*?@?([a-z0-9.-]+\.[a-z0-9-]+)"
).finditer
_SPAM: Final = ("X-Spam", "X-Spam-Flag", "X-Spam-Status")
# Ours are percent-encoded; in some languages, a word follows without a space.
_ADDRESSES: Final = re.compile(r"(?:https?:/)?/[!-~]*", re.IGNORECASE).finditer


def why_forged(fields: Message) -> str:
    """Return why the mail server does not trust a mail with these fields; "" if it may be right.

    Anybody can add fields that say "pass", and hurts only himself with those that say "fail".
    """
    results = " ".join(_values(fields, _RESULTS))
    domain = sender(fields)[1].lower().rpartition("@")[2]
    passes = re.search(r"\bdmarc\s*=\s*pass\b", results) or any(
        _is_of(found[1], domain) for found in _SIGNED(results)
    )
    spf = re.search(r"\bspf\s*=\s*fail\b", results) or any(
        value.startswith("fail") for value in _values(fields, "Received-SPF")
    )
    if re.search(r"\bdmarc\s*=\s*fail\b", results) or (spf and not passes):
        return "its sender is forged, says the mail server"
    if any(value.startswith("yes") for value in _values(fields, *_SPAM)):
        return "it is spam, says the mail server"
    return ""


def _is_of(signer: str, domain: str) -> bool:
    """Return whether a signature is of the sender's domain, as DMARC has it (RFC 7489, 3.1.1).

    Anybody can sign with another domain what says to come from the sender.
    """
    return bool(domain) and (f".{signer}".endswith(f".{domain}") or domain.endswith(f".{signer}"))


def _values(fields: Message, *names: str) -> list[str]:
    return [str(each).strip().lower() for name in names for each in fields.get_all(name, [])]


def sender(fields: Message) -> tuple[str, str]:
    """Return the name and the address of a mail's author; the address is "" if there are several.

    Many programs write the address in place of a name: then the name is "", too.
    """
    found = [value for name, value in fields.raw_items() if name.lower() == "from"]
    if len(found) != 1 or len(found[0]) > FROM_LENGTH:
        return "", ""
    addresses = getaddresses([" ".join(str(found[0]).split())])
    if len(addresses) != 1:
        return "", ""
    name, email = addresses[0]
    name = one_line(header_text(name)).strip("'\" ")
    email = header_text(email) if "=?" not in email else ""  # an address is in plain letters
    return "" if "@" in name else name, email if is_email(email) else ""


def page(subject: str, word: ReplyWord, sites: Sites) -> PageRef | None:
    """Return the page that a subject names, if the `word` of the mail's address is for it."""
    numbers = (word.comment_id, word.outbox_id)
    for address in _candidates(subject):
        for name in sites.options:
            found = sites.locate_or_none(address, name)
            if found and page_numbers(*found) == numbers:
                return found
    return None


def _candidates(subject: str) -> Iterator[str]:
    """Yield what may be an address in a subject; mail programs break long ones."""
    for text in (subject, "".join(subject.split())):
        for number, match in enumerate(_ADDRESSES(text)):
            if number == CANDIDATES:
                break
            yield match[0][:LENGTH]


def language(word: ReplyWord) -> str:
    """Return the tag of the language that a word names; "" if it is not known any more."""
    return next((tag for tag in languages() if language_digest(tag) == word.recipient), "")


def add(tx: Transaction, mail: MailedComment, now: int) -> str:
    """Store a comment that came by mail; return "", or the reason why it was refused."""
    if bans.is_author_banned(tx, mail.email, now):
        return "its sender is banned"
    return mailed_comments.add(tx, mail, now)
