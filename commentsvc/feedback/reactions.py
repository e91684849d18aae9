"""Reactions: emoji with which readers say what they think of a page; one of each per reader.

As in `votes`, a reader is identified by a digest of the random word that the browser keeps, and a
network may react to a page at most NETWORK_VOTES times with the same emoji. The form that works
without scripts sends no word, so there a network can react once. The number of reactions is stored
per page and emoji, so no answer has to count rows.

    CommentsError
      UnknownSite       no site of that name is configured
      TooManyReactions  the network has reached its limit on this page
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from peewee import Value, fn

from commentsvc.comments.create import ThreadRef, changed, find_aliased, find_thread, insert_thread
from commentsvc.comments.page_urls import PageRef
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, insertion, prepared
from commentsvc.db.schema.comments import ReactionCountTable, ReactionTable
from commentsvc.errors import TooManyReactions, UnknownSite
from commentsvc.feedback.votes import DIGEST, NETWORK_VOTES, network_word
from commentsvc.util.digest import digest


class Reaction(NamedTuple):
    """A reader's reaction; `word` identifies the reader, `given` is False to take it back."""

    emoji: str
    word: str | bytes
    given: bool = True


@prepared
def find_counts(thread_id: Param) -> Select:
    return ReactionCountTable.select(ReactionCountTable.emoji, ReactionCountTable.count).where(
        ReactionCountTable.thread == thread_id
    )


def _is(thread_id: Param, emoji: Param, reader: Param) -> Any:  # Any: peewee's expressions
    return (
        (ReactionTable.thread == thread_id)
        & (ReactionTable.emoji == emoji)
        & (ReactionTable.reader == reader)
    )


@prepared
def find_reaction(thread_id: Param, emoji: Param, reader: Param) -> Select:
    return ReactionTable.select(ReactionTable.created_at).where(_is(thread_id, emoji, reader))


@prepared
def count_of_network(thread_id: Param, emoji: Param, one: Param, other: Param) -> Select:
    return ReactionTable.select(fn.COUNT(ReactionTable.reader)).where(
        ReactionTable.thread == thread_id,
        ReactionTable.emoji == emoji,
        ReactionTable.network.in_([one, other]),
    )


_PUT: Final = insertion(
    ReactionTable.thread,
    ReactionTable.emoji,
    ReactionTable.reader,
    ReactionTable.network,
    ReactionTable.created_at,
)


@prepared
def _take_back(thread_id: Param, emoji: Param, reader: Param) -> Select:
    return ReactionTable.delete().where(_is(thread_id, emoji, reader))


@prepared
def _add(thread_id: Param, emoji: Param, more: Param) -> Select:
    row = {
        ReactionCountTable.thread: thread_id,
        ReactionCountTable.emoji: emoji,
        ReactionCountTable.count: more,
    }
    return ReactionCountTable.insert(row).on_conflict(
        conflict_target=[ReactionCountTable.thread, ReactionCountTable.emoji],
        update={ReactionCountTable.count: ReactionCountTable.count + more},
    )


def counts(snapshot: Snapshot, thread_id: int) -> dict[str, int]:
    """Return how many reactions a page has with each emoji; emoji without any may be missing."""
    return dict(snapshot.query(find_counts, thread_id)) if thread_id else {}


def react(
    tx: Transaction, page: PageRef, reaction: Reaction, networks: Sequence[bytes], now: int
) -> dict[str, int]:
    """Store a reader's reaction to a page, or take it back; return the page's counts.

    `networks` are the possible hashes of the reader's network, the current one first; `now` is in
    Unix milliseconds. Raise UnknownSite or TooManyReactions.
    """
    ref = _find_thread(tx, page, reaction.given)
    if ref is None:
        return {}
    emoji = reaction.emoji
    reader = digest(reaction.word, b"reaction", DIGEST)
    was_given = tx.first(find_reaction, ref.thread_id, emoji, reader) is not None
    if reaction.given != was_given:
        if was_given:
            tx.change(_take_back, ref.thread_id, emoji, reader)
        else:
            if networks and _number_of(tx, ref, emoji, networks) >= NETWORK_VOTES:
                raise TooManyReactions
            network = networks[0] if networks else None
            tx.change(_PUT, ref.thread_id, emoji, reader, network, now)
        tx.change(_add, ref.thread_id, emoji, 1 if reaction.given else -1)
        changed(tx, ref)
    return counts(tx, ref.thread_id)


def react_once(
    tx: Transaction, page: PageRef, emoji: str, networks: Sequence[bytes], now: int
) -> None:
    """Store a reaction from a reader without a word, unless the network has already reacted so.

    Otherwise as `react`.
    """
    ref = _find_thread(tx, page, make=True)
    if ref and networks and _number_of(tx, ref, emoji, networks):
        return
    word = network_word(networks, ref.thread_id if ref else 0)
    react(tx, page, Reaction(emoji, word), networks, now)


def withdraw_once(
    tx: Transaction, page: PageRef, emoji: str, networks: Sequence[bytes], now: int
) -> None:
    """Take back what `react_once` stored for the network, if it did."""
    if ref := _find_thread(tx, page, make=False):
        for network in networks:
            word = network_word((network,), ref.thread_id)
            react(tx, page, Reaction(emoji, word, given=False), networks, now)


def _find_thread(tx: Transaction, page: PageRef, make: bool) -> ThreadRef | None:
    """Return the thread of a page; if there is none, make it or (without `make`) return None."""
    row = tx.first(find_thread, page.url, page.site)
    if row is None:
        raise UnknownSite(f"no site is named {page.site}")
    if row[5] is not None:
        row = tx.first(find_aliased, row[5])
        assert row is not None, "an alias stands for a thread"
    site_id, url, thread_id = row[:3]
    if thread_id is None and make:
        thread_id = tx.insert(insert_thread, (site_id, page.url))
    return ThreadRef(page.site, url or page.url, site_id, thread_id) if thread_id else None


def _number_of(tx: Transaction, ref: ThreadRef, emoji: str, networks: Sequence[bytes]) -> int:
    [(number,)] = tx.query(count_of_network, ref.thread_id, emoji, networks[0], networks[-1])
    return int(number)


def move(tx: Transaction, source_id: int, target_id: int) -> None:
    """Move the reactions of one thread to another; a reader who reacted to both counts once."""
    here, there = ReactionTable.alias("here"), ReactionTable.alias("there")
    doubled = (
        here.select(here.emoji, fn.COUNT(here.reader))
        .join(there, on=(there.emoji == here.emoji) & (there.reader == here.reader))
        .where(here.thread == source_id, there.thread == target_id)
        .group_by(here.emoji)
    )
    twice: dict[str, int] = dict(tx.query(doubled))
    for emoji, count in counts(tx, source_id).items():
        tx.change(_add, target_id, emoji, count - twice.get(emoji, 0))
    columns = (
        ReactionTable.thread,
        ReactionTable.emoji,
        ReactionTable.reader,
        ReactionTable.network,
        ReactionTable.created_at,
    )
    rows = here.select(
        Value(target_id),
        here.emoji,
        here.reader,
        here.network,
        here.created_at,
    ).where(here.thread == source_id)
    moved = ReactionTable.insert_from(rows, columns)
    tx.change(
        moved.on_conflict(
            action="NOTHING",
            conflict_target=[ReactionTable.thread, ReactionTable.emoji, ReactionTable.reader],
        )
    )
    _clear(tx, source_id)


def remove(tx: Transaction, ref: ThreadRef) -> None:
    """Remove all reactions of a page."""
    _clear(tx, ref.thread_id)
    changed(tx, ref)


def add_counts(tx: Transaction, thread_id: int, numbers: Mapping[str, int]) -> None:
    """Add the counts of an import, which may exceed the number of known reactions."""
    tx.change_each(_add, [(thread_id, emoji, number) for emoji, number in numbers.items()])


def _clear(tx: Transaction, thread_id: int) -> None:
    for table in (ReactionTable, ReactionCountTable):
        tx.change(table.delete().where(table.thread == thread_id))
