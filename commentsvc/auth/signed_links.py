"""Signed links in mails: a link contains what it allows, signed.

Whoever has a link may do the one thing that it names, without a session. The purpose is part of the
signature (itsdangerous: HMAC with SHA-256), so a link for one purpose cannot be used for another.
It expires; what may happen only once is noted when it happens (`mark_used`). The first secret key
signs, former keys are still accepted. A link that opens something names its row by id and time: a
restored backup gives ids again that were given since it was made.

A GET request for a link shows a page and changes nothing, since mail scanners follow links.

    LinkError       the link is not ours; the text is for the person who followed it
      LinkExpired   it was ours, but has expired or was used, or another version made it
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from itsdangerous import BadData, URLSafeSerializer

from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.schema.outbox import UsedLinkTable
from commentsvc.util.digest import digest
from commentsvc.util.i18n import Message
from commentsvc.util.i18n import gettext as _

# Characters of a token: ours are shorter.
LENGTH: Final = 512
# The content of a token, by its purpose.
CONTENT: Final[dict[str, tuple[type, ...]]] = {
    "comment": (str, int, int, str),  # the new status, the ids of comment and mail, the recipient
    "answer": (int, str, int),  # the ids of comment and mail, around the recipient
    "confirm": (int,),  # a subscriber
    "stop": (int,),
    "follow": (int,),  # a follower
    "unfollow": (int,),
    "submit": (int, int),  # a comment that came by mail, and when
    "object": (str, int, str, int),  # a status, the comment, the recipient, and the mail
    "export": (str,),  # an author's address
    "erase": (str, int),  # the same, and the id of the mail
    "sign-in": (int, int),  # what a reader asked for, and when
    "reader state": (str, str, str, str, str),  # the way, a random word, site, page, and word
    "reader name": (int, str, str),  # the reader, page, and word
    "owner": (str,),  # a random word: see first_owner
    "invitation": (int, int, str),  # its id, its time, and the address it was mailed to, or ""
    "confirm-address": (int, int),  # an account, and the time
    "second step": (str, str, str),  # an account's name, the browser, the session's mark
    "provider": (str, str, str),  # the browser, a random word, the page to go to
    "passkey": (str, str),  # the browser, a random word
    "new passkey": (str, str),
    # A session and when it began, the site, the origin of its page, and the browser's challenge.
    "blog session": (int, int, str, str, str),
}
# Days for which a link to a person's own data works: few, since it allows much and is used at once.
OWN_DAYS: Final = 2

USED: Final = _("This link has already been used. Each link in a mail works only once.")


class LinkError(Exception):
    """The link is not ours; `message` is for the person who followed it."""

    def __init__(self, message: Message) -> None:
        super().__init__(message)
        self.message = message


class LinkExpired(LinkError):
    """The link has expired, was used, or has other content than CONTENT says."""


class SignedLinks:
    """Makes and reads the tokens of links. A token contains a few numbers or texts."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self.keys = keys
        self._keys = [*reversed(keys)]  # itsdangerous signs with the last one

    def make(self, purpose: str, *content: int | str, expires: int) -> str:
        """Return a token for `purpose` (see CONTENT) until `expires` (Unix milliseconds)."""
        return str(self._serializer(purpose).dumps([expires // 1_000, *content]))

    def read(self, purpose: str, token: str, now: int) -> list[Any]:  # Any: int or str
        """Return the content of a token for `purpose` at the time `now`. Raise LinkError."""
        try:
            if len(token) > LENGTH:
                raise BadData("too long")
            content: list[Any] = self._serializer(purpose).loads(token)
        except (BadData, ValueError) as error:
            raise LinkError(
                _(
                    "This link is incomplete, or not one of ours. Please copy the whole link from "
                    "the mail."
                )
            ) from error
        if now // 1_000 >= content.pop(0) or (*map(type, content),) != CONTENT[purpose]:
            raise LinkExpired(
                _("This link has expired. Links in mails work for a limited time only.")
            )
        return content

    def _serializer(self, purpose: str) -> URLSafeSerializer:
        return URLSafeSerializer(
            self._keys,
            salt=f"commentsvc {purpose}",
            signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256},
        )


def mark_used(tx: Transaction, what: str, now: int, kept: int) -> None:
    """Note that the link for `what` was used; the note is deleted after `kept` milliseconds.

    `what` is the content of the token, not its text, since one signature can be written in several
    ways. Raise LinkExpired if it was used before: then the caller's transaction must change
    nothing.
    """
    tx.change(UsedLinkTable.delete().where(UsedLinkTable.expires_at < now))
    used = UsedLinkTable.insert(digest=_digest(what), expires_at=now + kept).on_conflict(
        action="NOTHING", conflict_target=[UsedLinkTable.digest]
    )
    if not tx.change(used):
        raise LinkExpired(USED)


def is_used(snapshot: Snapshot, what: str) -> bool:
    """Return whether the link for `what` was used, and the note of it is kept."""
    used = UsedLinkTable.select(UsedLinkTable.digest).where(UsedLinkTable.digest == _digest(what))
    return snapshot.first(used) is not None


def _digest(what: str) -> bytes:
    return digest(what, size=16)
