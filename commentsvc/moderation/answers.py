"""Answers: replies that moderators write to comments.

An answer is published at once, even if comments need approval or the thread is closed; a pending
comment is approved with its answer. One that came by mail and may have words of others waits like a
reader's comment, and decides nothing. An answer is a comment like any other, with the badge of its
author's role: readers are told of it, and moderators can edit and delete it.
"""

import msgspec

from commentsvc.comments import create, queries
from commentsvc.comments.create import NewComment
from commentsvc.comments.rendering import render
from commentsvc.comments.submission import avatar
from commentsvc.db.connection import Transaction
from commentsvc.errors import NotAnswerable
from commentsvc.model import APPROVED, PENDING, Comment
from commentsvc.moderation import changes
from commentsvc.moderation.profiles import Profile


class AnswerResult(msgspec.Struct, frozen=True, gc=False):
    """The answer, and the id of the decision that approved its parent; 0 if none did."""

    comment: Comment
    decision_id: int


def answer(
    tx: Transaction,
    comment_id: int,
    source: str,
    profile: Profile,
    now: int,
    *,
    status: str = APPROVED,
) -> AnswerResult:
    """Publish `source`, Markdown of an allowed length, as an answer by `profile`.

    With the status PENDING it waits. The same answer again within an hour is the same comment,
    unless that is spam or deleted. `now` is in Unix milliseconds. Raise UnknownComment, and
    NotAnswerable for spam and deleted comments.
    """
    entry = queries.get(tx, comment_id)
    if entry.comment.status not in (PENDING, APPROVED):
        raise NotAnswerable(f"comment {comment_id} is {entry.comment.status}")
    kind, decision_id = "held answer", 0
    if status == APPROVED:
        kind = "answer"
        decision_id = changes.change(tx, [comment_id], APPROVED, profile.name, now).decision_id
    new = NewComment(
        site=entry.site,
        url=entry.url,
        title="",
        author=profile.author,
        email=profile.email,
        avatar=avatar(profile.email),
        author_site=profile.site,
        source=source,
        html=render(tx, entry.comment.thread_id, source),
        parent=comment_id,
        status=status,
        key=msgspec.json.encode((kind, comment_id, profile.id, source)).decode(),
        derived=True,
        token_hash=b"",
        token_expires_at=0,
        role=profile.badge,
        moderator_id=profile.id,
    )
    return AnswerResult(create.add(tx, new, now).comment, decision_id)
