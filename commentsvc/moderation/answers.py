"""Answers: what moderators write themselves, as replies to comments.

An answer is shown at once, also where comments wait for approval and where a page takes no more of
them; a comment that waits is approved with it. It is a comment like any other, with the badge of
its author's role: readers are told of it, and moderators edit and delete it like others.
"""

import msgspec

from commentsvc.comments import create, queries
from commentsvc.comments.create import NewComment
from commentsvc.comments.errors import NotAnswerable
from commentsvc.comments.markdown import render
from commentsvc.comments.submission import avatar
from commentsvc.db.sqlite import Transaction
from commentsvc.model import APPROVED, PENDING, Comment
from commentsvc.moderation import actions
from commentsvc.moderation.profiles import Profile


class AnswerResult(msgspec.Struct, frozen=True, gc=False):
    """The answer, and the number of the act that approved what it answers; 0 for none."""

    comment: Comment
    decision_id: int


def answer(
    tx: Transaction, comment_id: int, source: str, profile: Profile, now: int
) -> AnswerResult:
    """Publish `source`, Markdown within the bounds of a message, as an answer of `profile`.

    The same answer again within an hour is the same comment. `now` is in Unix milliseconds.
    Raise UnknownComment, and NotAnswerable for spam and what is deleted.
    """
    entry = queries.get(tx, comment_id)
    if entry.comment.status not in (PENDING, APPROVED):
        raise NotAnswerable(f"comment {comment_id} is {entry.comment.status}")
    approval = actions.change(tx, [comment_id], APPROVED, profile.name, now)
    new = NewComment(
        site=entry.site,
        url=entry.url,
        title="",
        author=profile.author,
        email=profile.email,
        avatar=avatar(profile.email),
        author_site=profile.site,
        source=source,
        html=render(source),
        parent=comment_id,
        status=APPROVED,
        key=msgspec.json.encode(("answer", comment_id, profile.id, source)).decode(),
        derived=True,
        token_hash=b"",
        token_expires_at=0,
        role=profile.badge,
        moderator_id=profile.id,
    )
    return AnswerResult(create.add(tx, new, now).comment, approval.decision_id)
