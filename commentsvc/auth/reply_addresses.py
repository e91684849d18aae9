"""Reply addresses: signed addresses for answers to our mails, and for comments by mail.

The signed word is in the part of the address that the mail server leaves to the mailbox's owner
(RFC 5233): `comments+WORD@blog.example`. It is bound to a purpose, a comment, a row of the outbox,
the recipient of the mail, and the day on which it expires. Servers may change the case of an
address, and its local part has at most 64 characters (RFC 5321, 4.5.3.1.1). So the word is in
base32 and has 40 characters: 15 bytes of content and 10 of HMAC with SHA-256.

An address for comments on a page has digests of the site and the page, and of the language of our
mails, in place of the numbers and the recipient.
"""

import base64
import binascii
import hashlib
import hmac
import re
import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from commentsvc.util.digest import digest
from commentsvc.util.origin import address_key
from commentsvc.util.timestamps import DAY_MS

MODERATE: Final = 1  # a moderator decides on the comment
REPLY: Final = 2  # a reader replies to the comment
ANSWER_NOTE: Final = 3  # a moderator answers the private note whose id is in place of a comment's
COMMENT: Final = 4  # anybody comments on the page

WORD_LENGTH: Final = 40  # characters
_CONTENT: Final = struct.Struct(">BIIH4s")
_MAC_BYTES: Final = 10


class ReplyWord(NamedTuple):
    """The content of a word; `recipient` is the `digest_of` an address."""

    purpose: int
    comment_id: int
    outbox_id: int
    expires_day: int
    recipient: bytes


class ReplyAddresses:
    """Makes and reads signed words for `address`, "" for none; the first of the `keys` signs."""

    def __init__(self, keys: Sequence[bytes], address: str) -> None:
        self._keys = [hashlib.blake2b(key, person=b"reply address").digest() for key in keys]
        self._local, _, self._domain = address.partition("@")
        self.prefix = f"{self._local}+"
        words = rf"(?<![\w.+-]){re.escape(self._local)}\+([a-z2-7]{{{WORD_LENGTH}}})@"
        self._find = re.compile(words + re.escape(self._domain), re.IGNORECASE).findall

    def make(
        self, purpose: int, comment_id: int, outbox_id: int, recipient: str, expires: int
    ) -> str:
        """Return the address for an answer, which works until `expires` (Unix milliseconds)."""
        word = ReplyWord(purpose, comment_id, outbox_id, expires // DAY_MS, digest_of(recipient))
        return self._signed(word)

    def make_for_page(self, site: str, url: str, language: str, expires: int) -> str:
        """Return the address for comments on a page, until `expires` (Unix milliseconds).

        `url` is the page's canonical one, `language` the tag of that of our mails.
        """
        word = ReplyWord(
            COMMENT, *page_numbers(site, url), expires // DAY_MS, language_digest(language)
        )
        return self._signed(word)

    def _signed(self, word: ReplyWord) -> str:
        content = _CONTENT.pack(*word)
        text = base64.b32encode(content + _mac(self._keys[0], content)).decode().lower()
        return f"{self._local}+{text}@{self._domain}"

    def find(self, headers: str) -> ReplyWord | None:
        """Return the content of the first valid reply address in header fields, or else None.

        This does not check whether it has expired.
        """
        for word in self._find(headers):
            try:
                signed = base64.b32decode(word.upper())
            except binascii.Error:
                continue
            content, mac = signed[: _CONTENT.size], signed[_CONTENT.size :]
            if any(hmac.compare_digest(mac, _mac(key, content)) for key in self._keys):
                return ReplyWord._make(_CONTENT.unpack(content))
        return None


def _mac(key: bytes, content: bytes) -> bytes:
    return hmac.digest(key, content, "sha256")[:_MAC_BYTES]


def digest_of(address: str) -> bytes:
    """Return the digest of an address in a word."""
    return digest(address_key(address), size=4)


def page_numbers(site: str, url: str) -> tuple[int, int]:
    """Return what stands for a page in a word: a digest, as `comment_id` and `outbox_id`."""
    first, second = struct.unpack(">II", digest(f"{site}\0{url}", b"commented page", 8))
    return first, second


def language_digest(tag: str) -> bytes:
    """Return what stands for a language in a word."""
    return digest(tag, b"mail language", 4)
