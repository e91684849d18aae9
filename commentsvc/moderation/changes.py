"""Changes of the status, text or language of comments, each with its row in the history.

Only this module and `undo` change a comment's status and text; `retention` and `imports.store`
empty comments that are erased, or whose import is taken back. `model.MOVES` lists the allowed
changes of status; a comment for which a change is not allowed, or changes nothing, is left alone
and reported. Every change is a row of the table `change` in the same transaction. All rows of one
decision have the same `decision_id`, so that a decision on a hundred comments is undone as one.
What a decision teaches the spam filter is stored with it.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from commentsvc import outbox
from commentsvc.comments import images, queries, titles
from commentsvc.comments.create import ThreadRef, add_to_counts, last_published
from commentsvc.comments.rendering import render
from commentsvc.db.connection import Transaction
from commentsvc.db.query import Among, Param, Select, ids_text, insertion, prepared
from commentsvc.db.schema.comments import CommentTable
from commentsvc.db.schema.moderation import ChangeTable
from commentsvc.errors import UnknownComment
from commentsvc.feedback import reports
from commentsvc.model import AKISMET, APPROVED, CLASSIFIER, LANGUAGE, MOVES, STATUS, TEXT
from commentsvc.moderation import decision_counts, notices
from commentsvc.readers import follows, subscriptions
from commentsvc.spam import training

_INSERT_CHANGE: Final = insertion(
    ChangeTable.decision_id,
    ChangeTable.comment,
    ChangeTable.field,
    ChangeTable.old,
    ChangeTable.new,
    ChangeTable.old_at,
    ChangeTable.created_at,
    ChangeTable.actor,
)


@prepared
def _text_of(comment_id: Param) -> Select:
    found = CommentTable.select(CommentTable.source, CommentTable.edited_at)
    return found.where(CommentTable.id == comment_id)


@prepared
def set_text(source: Param, html: Param, edited_at: Param, comment_id: Param) -> Select:
    """Return the query that sets the text of a comment, and when it was edited."""
    changed = CommentTable.update(source=source, html=html, edited_at=edited_at)
    return changed.where(CommentTable.id == comment_id)


@prepared
def set_status(status: Param, published_at: Param, comment_id: Param) -> Select:
    """Return the query that sets the status of a comment, and when it was published."""
    changed = CommentTable.update(status=status, published_at=published_at)
    return changed.where(CommentTable.id == comment_id)


@prepared
def set_language(lang: Param, comment_id: Param) -> Select:
    """Return the query that sets the language of a comment."""
    return CommentTable.update(lang=lang).where(CommentTable.id == comment_id)


class ChangeResult(msgspec.Struct, frozen=True, gc=False):
    """The result of a decision: its id (0 if it changed nothing), and the changed comments.

    `unchanged` are the ids of the comments that it left alone, with their status. Those of them
    that were reported, and stay what they are, are `kept`.
    """

    decision_id: int
    changed: tuple[int, ...]
    unchanged: dict[int, str]
    kept: tuple[int, ...] = ()


class Signature(NamedTuple):
    """The name and the web site of a comment's author."""

    author: str
    site: str


def change(
    tx: Transaction, ids: Iterable[int], to: str, who: str, now: int, seen: int | None = None
) -> ChangeResult:
    """Set the status of the comments `ids` to `to` at the time `now` (Unix milliseconds).

    `who` is a moderator's name or a constant such as AUTHOR, who knows of the changes up to the id
    `seen`, of all for None. Comments stay unchanged if another person, also their author, has
    changed them since, or if they may not become `to` (see MOVES). The reports on the others are
    deleted. Raise UnknownComment with all unknown ids; then nothing is changed.
    """
    decision_id = tx.last_id("change") + 1
    changed, unchanged, shown = [], {}, Counter[ThreadRef]()
    waited = []
    found = find(tx, ids)
    unseen = changed_since(tx, [row[0] for row in found], who, seen)
    decided = [row[0] for row in found if row[0] not in unseen]
    waiting = decision_counts.open_reports(tx, decided)
    reported = reports.take(tx, decided)
    for comment_id, ref, status, published in found:
        if comment_id in unseen or status not in MOVES[to]:
            unchanged[comment_id] = status
            continue
        row = (decision_id, comment_id, STATUS, status, to, published, now, who)
        tx.change(_INSERT_CHANGE, *row)
        if to == APPROVED and published is None:
            published = max(now, last_published(tx, ref.site_id))
            waited.append(comment_id)
        tx.change(set_status, to, published, comment_id)
        count_change(shown, ref, status, to)
        changed.append(comment_id)
    titles.refresh(tx, changed)
    add_to_counts(tx, shown)
    for comment_id in changed if to == APPROVED else ():
        subscriptions.published(tx, comment_id, comment_id, now)
        follows.published(tx, comment_id, comment_id, now)
    for comment_id in waited if who != CLASSIFIER else ():  # its answer takes a second
        subscriptions.approved(tx, comment_id, now)
    training.update(tx, changed)
    outbox.changed(tx, changed, now)
    were = {row[0]: row[2] for row in found}
    decision_counts.count(tx, waiting, {each: were[each] for each in changed}, to, who, now)
    notices.decided(tx, reported, changed, to, who, now)
    kept = tuple(comment_id for comment_id in reported if unchanged.get(comment_id) == to)
    return ChangeResult(decision_id if changed else 0, tuple(changed), unchanged, kept)


def changed_since(tx: Transaction, ids: list[int], who: str, seen: int | None) -> set[int]:
    """Return those of the comments `ids` that another person has changed after the change `seen`.

    The verdict of a program, and a language, are no decision that a moderator has to know of.
    """
    if seen is None:
        return set()
    later = ChangeTable.select(ChangeTable.comment).where(
        Among(ChangeTable.comment, ids_text(ids)),
        ChangeTable.id > seen,
        ChangeTable.field != LANGUAGE,
        ChangeTable.actor.not_in([who, AKISMET, CLASSIFIER]),
        ChangeTable.undone_at.is_null(),
    )
    return {comment_id for (comment_id,) in tx.query(later)}


def edit(tx: Transaction, comment_id: int, source: str, who: str, now: int) -> ChangeResult:
    """Replace the text of a comment, Markdown of an allowed length, at the time `now`.

    The old text stays in the history. Raise UnknownComment.
    """
    [(_, ref, status, _)] = find(tx, [comment_id])
    [(was, edited)] = tx.query(_text_of, comment_id)
    if was == source:
        return ChangeResult(0, (), {comment_id: status})
    decision_id = tx.last_id("change") + 1
    row = (decision_id, comment_id, TEXT, was, source, edited, now, who)
    tx.change(_INSERT_CHANGE, *row)
    html = render(tx, ref.thread_id, source, comment_id)
    tx.change(set_text, source, html, now, comment_id)
    images.link(tx, comment_id, source)
    if status == APPROVED:
        add_to_counts(tx, {ref: 0})
    outbox.changed(tx, [comment_id], now)
    return ChangeResult(decision_id, (comment_id,), {})


def correct_language(
    tx: Transaction, comment_id: int, lang: str, who: str, now: int
) -> ChangeResult:
    """Set the language of a comment to the tag `lang` at the time `now`. Raise UnknownComment."""
    [(_, ref, status, _)] = find(tx, [comment_id])
    [(was,)] = tx.query(CommentTable.select(CommentTable.lang).where(CommentTable.id == comment_id))
    if was == lang:
        return ChangeResult(0, (), {comment_id: status})
    decision_id = tx.last_id("change") + 1
    tx.change(_INSERT_CHANGE, decision_id, comment_id, LANGUAGE, was, lang, None, now, who)
    tx.change(set_language, lang, comment_id)
    if status == APPROVED:
        add_to_counts(tx, {ref: 0})
    outbox.changed(tx, [comment_id], now)
    return ChangeResult(decision_id, (comment_id,), {})


def sign(tx: Transaction, comment_id: int, signature: Signature, now: int) -> bool:
    """Change the name and web site of a comment at the time `now`; return whether they differed.

    The old ones are in no history. Raise UnknownComment.
    """
    [(_, ref, status, _)] = find(tx, [comment_id])
    author, site = signature
    differs = (CommentTable.author != author) | (CommentTable.author_site != site)
    changed = CommentTable.update(author=author, author_site=site, edited_at=now)
    if not tx.change(changed.where(CommentTable.id == comment_id, differs)):
        return False
    if status == APPROVED:
        add_to_counts(tx, {ref: 0})
    outbox.changed(tx, [comment_id], now)
    return True


def find(tx: Transaction, ids: Iterable[int]) -> list[tuple[int, ThreadRef, str, int | None]]:
    """Return id, thread, status and publication time of each comment, each once."""
    found, unknown = [], []
    for comment_id in dict.fromkeys(ids):
        row = tx.first(queries.find_ref, comment_id)
        if row is None:
            unknown.append(comment_id)
        else:
            found.append((comment_id, ThreadRef(*row[:4]), *row[4:]))
    if unknown:
        raise UnknownComment(unknown)
    return found


def count_change(shown: Counter[ThreadRef], ref: ThreadRef, was: str, becomes: str) -> None:
    """Add to `shown` how the number of visible comments changes from `was` to `becomes`."""
    if APPROVED in (was, becomes):
        shown[ref] += 1 if becomes == APPROVED else -1
