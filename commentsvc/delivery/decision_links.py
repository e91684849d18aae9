"""Decision links: addresses of pages with one button that decides on a comment.

They are part of mails to moderators and of messages in messengers. Whoever has such a link may
press its button, once, until it expires, while the settings name its recipient: an address, or the
channel of a messenger.
"""

from typing import Final, NamedTuple

from commentsvc.auth.signed_links import SignedLinks
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.model import APPROVED, DELETED, MOVES, SPAM, Comment
from commentsvc.settings.schema import Settings
from commentsvc.util.i18n import ENGLISH, translate
from commentsvc.util.i18n import gettext as _
from commentsvc.util.timestamps import DAY_MS

# Days for which the links in mails to moderators work: longer than most holidays, and short enough
# that an old mailbox opens nothing.
LINK_DAYS: Final = 14
# The decisions that a link can make, with their names, in this order.
ACTIONS: Final = {APPROVED: _("Approve"), SPAM: _("Spam"), DELETED: _("Delete")}


class DecisionLink(NamedTuple):
    """The name of a link's decision, and its address."""

    name: str
    url: str


class DecisionLinks:
    """Makes the links of one service; none if the service does not know its own address."""

    def __init__(self, settings: Settings, links: SignedLinks) -> None:
        self._base = settings.server.public_url.rstrip("/")
        self._links = links

    def page(self, purpose: str, *content: int | str, expires: int, language: str) -> str:
        """Return the address of the page for `purpose`, in a language; `expires` is Unix ms."""
        token = self._links.make(purpose, *content, expires=expires)
        tag = "" if language == ENGLISH else f"&lang={language}"
        return f"{self._base}/mail/{purpose}?t={token}{tag}"

    def expires(self, row: OutboxRow) -> int:
        """Return when the links in a message expire, in Unix milliseconds."""
        return row.created_at + LINK_DAYS * DAY_MS

    def of(self, comment: Comment, row: OutboxRow, language: str) -> list[DecisionLink]:
        """Return a link for each decision that is possible on a comment."""
        if not self._base:
            return []
        expires, who = self.expires(row), row.recipient or row.channel
        return [
            DecisionLink(
                translate(name, language),
                self.page(
                    "comment", to, comment.id, row.id, who, expires=expires, language=language
                ),
            )
            for to, name in ACTIONS.items()
            if comment.status in MOVES[to]
        ]
