"""Makes comments of what other sites say about our pages, and keeps them up to date.

They pass the same checks as submissions, and edits are judged like those of an author. Decisions of
moderators are kept.
"""

import contextlib
import hashlib
import re
from typing import Final
from urllib.parse import urlsplit

from commentsvc.comments import queries
from commentsvc.comments.submission import Submission
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Transaction
from commentsvc.errors import UnknownComment
from commentsvc.mentions.html_page import FoundMention
from commentsvc.mentions.store import Mention
from commentsvc.model import ANCHOR, DELETED
from commentsvc.moderation import author_edits
from commentsvc.submissions.service import SubmissionService

_PARENT: Final = re.compile(rf"{ANCHOR}([0-9]{{1,18}})")


def delete_comment(tx: Transaction, mention: Mention, now: int) -> None:
    """Delete the comment that was made of a mention, if there is one."""
    if queries.find(tx, mention.comment_id or 0):
        author_edits.delete(tx, mention.comment_id or 0, now)


class MentionComments:
    """Stores and edits the comments of mentions, on all sites."""

    def __init__(self, service: ServiceContext, submissions: SubmissionService) -> None:
        self._length = service.settings.comments.message_length
        self._secret = hashlib.blake2b(service.keys[0], person=b"mention key").digest()
        self._database = service.database
        self._submissions = submissions

    async def show(self, mention: Mention, found: FoundMention, now: int) -> int:
        """Store or edit the comment of a mention; return its id."""
        submission = self._submission(mention, found)
        sender = f"={submission.site or urlsplit(mention.source).hostname}".encode()
        if mention.comment_id is None:
            accepted = await self._submissions.submit(submission, sender)
            return accepted.comment.id
        known = await self._database.read(queries.find, mention.comment_id)
        if known and known.comment.status != DELETED and known.comment.source != submission.message:
            verdict = await self._submissions.check_edit(submission, sender)
            with contextlib.suppress(UnknownComment):  # a moderator has deleted it meanwhile
                await self._database.write(
                    author_edits.edit, mention.comment_id, submission.message, verdict, now
                )
        return mention.comment_id

    def _submission(self, mention: Mention, found: FoundMention) -> Submission:
        text, length = found.text, self._length
        text = text if len(text) <= length else f"{text[: length - 1]}…"
        parent = _PARENT.fullmatch(urlsplit(mention.target).fragment)
        # The key prevents a second comment after a crash, and nobody else can know it.
        key = f"{mention.id} {mention.received_at} {text}".encode()
        return Submission(
            page=(mention.site, mention.url),
            author=found.author,
            message=text,
            email="",
            avatar="",
            site=found.author_site,
            parent=int(parent[1]) if parent else None,
            title="",
            key=hashlib.blake2b(key, key=self._secret, digest_size=16).hexdigest(),
            honeypot="",
            form_token=None,
            permalink=mention.source,
            any_parent=True,
        )
