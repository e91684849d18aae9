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
from commentsvc.inbox.decoding import header_text
from commentsvc.util.i18n import languages
from commentsvc.util.text import one_line

FROM_LENGTH: Final = 1_000  # characters of a From field
CANDIDATES: Final = 5  # addresses in a subject that are looked at
_RESULTS: Final = "Authentication-Results"  # RFC 8601
RESULTS_LENGTH: Final = 10_000  # characters of one such field that are read
RESULTS: Final = 50  # of one such field
_PIECES: Final = re.compile(r'\\.|[()"]|[^\\()"]+', re.DOTALL).findall
_NO_WORD: Final = re.compile(r"[^\w.@-]").sub  # what may have a meaning outside of quotation marks
_SIGNER: Final = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+").fullmatch
# What spam filters write: SpamAssassin, Rspamd, Bogofilter, Exchange.
_SPAM: Final = {
    "X-Spam": re.compile("yes"),
    "X-Spam-Flag": re.compile("yes"),
    "X-Spam-Status": re.compile("yes"),
    "X-Spam-Action": re.compile("reject|add header|rewrite subject"),
    "X-Rspamd-Action": re.compile("reject|add header|rewrite subject"),
    "X-Bogosity": re.compile("spam|yes"),
    "X-Forefront-Antispam-Report": re.compile(r".*;sfv:(?:spm|skb)\b"),
    "X-MS-Exchange-Organization-SCL": re.compile("[5-9]"),
}
# Ours are percent-encoded; in some languages, a word follows without a space.
_ADDRESSES: Final = re.compile(r"(?:https?:/)?/[!-~]*", re.IGNORECASE).finditer


def why_forged(fields: Message) -> str:
    """Return why the mail server does not trust a mail with these fields; "" if it may be right.

    Anybody can add fields that say "pass", and hurts only himself with those that say "fail".
    """
    results = [each for value in _values(fields, _RESULTS) for each in _results(value)]
    spf = any("spf=fail" in result for result in results) or any(
        value.startswith("fail") for value in _values(fields, "Received-SPF")
    )
    passes = _pass(results, sender(fields)[1])
    fails = any({"dmarc=fail", "compauth=fail"} & {*result} for result in results)
    if fails or (spf and not passes):
        return "its sender is forged, says the mail server"
    if any(found.match(value) for name, found in _SPAM.items() for value in _values(fields, name)):
        return "it is spam, says the mail server"
    return ""


def is_authenticated(fields: Message, email: str) -> bool:
    """Return whether the mail server knows that a mail is of the domain of its sender `email`.

    Only its first field counts: servers put theirs above those of others.
    """
    return _pass(
        [each for value in _values(fields, _RESULTS)[:1] for each in _results(value)], email
    )


def _results(field: str) -> list[list[str]]:
    """Return the words of each result in a field, such as "dkim=pass" and "header.d=a.example".

    They are without comments, which may be nested, and what is quoted has no meaning.
    """
    plain: list[str] = []
    depth, is_quoted = 0, False
    for piece in _PIECES(field[:RESULTS_LENGTH]):
        if piece == '"' and not depth:
            is_quoted = not is_quoted
        elif is_quoted:
            plain.append(_NO_WORD("_", piece))
        elif piece == "(":
            depth += 1
        elif piece == ")":
            depth -= bool(depth)
            plain.append(" ")
        elif not depth:
            plain.append(piece)
    text = " ".join("".join(plain).split()).replace(" =", "=").replace("= ", "=")
    return [result.split() for result in text.split(";")[:RESULTS]]


def _pass(results: list[list[str]], email: str) -> bool:
    """Return whether DMARC passes, or a signature of the domain of the sender `email`."""
    domain = email.lower().rpartition("@")[2]
    return any(
        result[:1] == ["dmarc=pass"]
        or (result[:1] == ["dkim=pass"] and _is_of(_signer(result), domain))
        for result in results
    )


def _signer(result: list[str]) -> str:
    """Return the domain of a signature: `header.d`, or that of `header.i`; "" if it is not sure."""
    for name in ("header.d=", "header.i="):
        found = {
            word.rpartition("@")[2].removeprefix(name) for word in result if word.startswith(name)
        }
        if found:
            signer = found.pop()
            return signer if not found and _SIGNER(signer) else ""
    return ""


def _is_of(signer: str, domain: str) -> bool:
    """Return whether a signature is of the sender's domain, as DMARC has it (RFC 7489, 3.1.1).

    Anybody can sign with another domain what says to come from the sender.
    """
    return bool(domain and signer) and (
        f".{signer}".endswith(f".{domain}") or domain.endswith(f".{signer}")
    )


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
