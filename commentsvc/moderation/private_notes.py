"""Private notes: what readers write to the author of a page alone, above all corrections.

A note is never a comment: it has a table of its own, and only the accounts that may decide on its
site see it. It can be answered by mail once, if its reader gave an address. A reader who agreed to
it can be thanked: a comment by the moderator with the reader's name, without the note's words.

A note that is dealt with is deleted after KEPT; of one whose reader was thanked only the link to
that comment stays, so that it goes too when the reader's data are erased.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from commentsvc import outbox
from commentsvc.comments import create
from commentsvc.comments.create import NewComment
from commentsvc.comments.submission import avatar
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Select
from commentsvc.db.schema.comments import CommentTable, SiteTable
from commentsvc.db.schema.notes import NoteTable, PrivateNote
from commentsvc.errors import KeyConflict, NotAnswerable, TooManyPending, UnknownNote, UnknownSite
from commentsvc.markup import markdown
from commentsvc.model import APPROVED, DELETED, DONE, NEW, SPAM
from commentsvc.moderation import changes, profiles
from commentsvc.moderation.permissions import Actor, site_ids
from commentsvc.outbox import MailAddress
from commentsvc.spam.pending_limit import SITE_FULL, SITE_RETRY
from commentsvc.util.digest import digest
from commentsvc.util.i18n import find_language, ngettext
from commentsvc.util.i18n import gettext as _
from commentsvc.util.origin import address_key
from commentsvc.util.timestamps import DAY_MS, HOUR_MS

MOST: Final = 1_000  # notes of a site that wait, and that are spam; further ones are not stored
FLOOD: Final = 20  # notes of a site within an hour; later ones are mailed together
COUNTED: Final = 100  # the number on every page of moderators
KEPT: Final = 90 * DAY_MS  # how long a note is kept after a moderator has dealt with it
ANSWER_PATIENCE: Final = 7 * DAY_MS  # as for all notices
KEY_BYTES: Final = 16
# The subjects of mails to moderators, about one note and about several.
SUBJECT: Final = _("%(author)s sent a private note about “%(title)s”")
SEVERAL: Final = ngettext("%(num)s private note", "%(num)s private notes", 0)

_PUNCTUATION: Final = re.compile(r"([!-/:-@\[-`{-~])")
_ROW: Final = [
    SiteTable.name if name == "site" else getattr(NoteTable, name)
    for name in PrivateNote.__struct_fields__
]


class NewNote(msgspec.Struct, frozen=True):
    """A note that is about to be stored: see NoteTable. `key` is the client's, or ""."""

    site: str
    url: str
    title: str
    author: str
    email: str
    quote: str
    message: str
    language: str
    may_thank: bool
    state: str
    key: str
    network: bytes | None


def add(tx: Transaction, new: NewNote, now: int) -> None:
    """Store a note at the time `now` (Unix milliseconds), once, and mail it to the moderators.

    Of spam, only MOST are kept. Raise UnknownSite, KeyConflict, TooManyPending.
    """
    site_id = next(iter(site_ids(tx, [new.site])), 0)
    if not site_id:
        raise UnknownSite(new.site)
    content = (new.url, new.author, new.email, new.quote, new.message)
    key = _key(new.site, new.key) if new.key else _key(new.site, (now // DAY_MS, content))
    stored = tx.first(
        NoteTable.select(
            NoteTable.url, NoteTable.author, NoteTable.email, NoteTable.quote, NoteTable.message
        ).where(NoteTable.key == key)
    )
    if stored == content:
        return
    if stored:
        raise KeyConflict
    newest = NoteTable.select(NoteTable.created_at).where(
        NoteTable.state == new.state, NoteTable.site == site_id
    )
    newest = newest.order_by(NoteTable.id.desc())
    if tx.first(newest.offset(MOST - 1).limit(1)):
        if new.state == SPAM:
            return
        raise TooManyPending(SITE_FULL, SITE_RETRY)
    recent = tx.first(newest.offset(FLOOD - 1).limit(1))
    row = msgspec.structs.asdict(new) | {
        "site": site_id,
        "email_key": address_key(new.email),
        "may_thank": int(new.may_thank),
        "key": key,
        "created_at": now,
    }
    [(note_id,)] = tx.query(NoteTable.insert(row).returning(NoteTable.id))
    if new.state == NEW:
        outbox.noted(tx, note_id, now, floods=bool(recent and recent[0] > now - HOUR_MS))


def _key(site: str, what: object) -> bytes:
    return digest(msgspec.json.encode((site, what)), b"private note", KEY_BYTES)


def _of_sites(query: Select, sites: Sequence[str] | None) -> Select:
    return query if sites is None else query.where(SiteTable.name.in_(list(sites)))


def listing(
    snapshot: Snapshot, state: str, sites: Sequence[str] | None, before: int, most: int
) -> list[PrivateNote]:
    """Return at most `most` notes in a state with ids below `before`, the newest first."""
    found = NoteTable.select(*_ROW).join(SiteTable)
    found = found.where(NoteTable.state == state, NoteTable.id < before)
    newest = _of_sites(found, sites).order_by(NoteTable.id.desc()).limit(most)
    return [_read(row) for row in snapshot.query(newest)]


def count_new(snapshot: Snapshot, sites: Sequence[str] | None) -> int:
    """Return how many notes wait on these sites, at most COUNTED + 1; None means all sites."""
    waiting = NoteTable.select(NoteTable.id).join(SiteTable).where(NoteTable.state == NEW)
    return len(snapshot.query(_of_sites(waiting, sites).limit(COUNTED + 1)))


def find(snapshot: Snapshot, note_id: int) -> PrivateNote | None:
    """Return the note with that id; None if there is none."""
    row = snapshot.first(NoteTable.select(*_ROW).join(SiteTable).where(NoteTable.id == note_id))
    return _read(row) if row else None


def get(snapshot: Snapshot, who: Actor, note_id: int) -> PrivateNote:
    """Return a note of the sites on which `who` may decide. Raise UnknownNote."""
    note = find(snapshot, note_id)
    if note is None or not who.may_decide(note.site):
        raise UnknownNote(_("no note has the id %(id)s", id=note_id))
    return note


def _read(row: Sequence[object]) -> PrivateNote:
    values = dict(zip(PrivateNote.__struct_fields__, row, strict=True))
    return msgspec.convert(values | {"may_thank": bool(values["may_thank"])}, PrivateNote)


def move(tx: Transaction, note: PrivateNote, state: str, actor: str, now: int) -> None:
    """Give a note another state; `actor` is the name of an account or an address."""
    changed = NoteTable.update(state=state, decided_at=now, actor=actor)
    tx.change(changed.where(NoteTable.id == note.id))


def remove(tx: Transaction, note: PrivateNote) -> None:
    """Delete a note, and mails about it that wait."""
    tx.change(NoteTable.delete().where(NoteTable.id == note.id))


def answer(tx: Transaction, note: PrivateNote, text: str, actor: str, now: int) -> None:
    """Mail an answer of an allowed length to the reader. Raise NotAnswerable."""
    if not note.email:
        raise NotAnswerable(_("the note has no email address"))
    if note.answer:
        raise NotAnswerable(_("the note was answered before"))
    tx.change(NoteTable.update(answer=text).where(NoteTable.id == note.id))
    to = MailAddress(note.email, note.language)
    outbox.mail(tx, outbox.NOTE_ANSWER, to, now, lasts=ANSWER_PATIENCE, about=note.id)
    move(tx, note, DONE, actor, now)


def thank(tx: Transaction, note: PrivateNote, who: Actor, language: str, now: int) -> int:
    """Publish thanks to the reader by name, as a comment of `who`; return its id.

    `language` is the tag of the page's language. Raise NotAnswerable.
    """
    if not note.may_thank or note.thanks:
        raise NotAnswerable(_("its reader did not agree to it, or was thanked before"))
    name = _PUNCTUATION.sub(r"\\\1", note.author)
    source = find_language(language).note["thanks"].replace("#", name)
    profile = profiles.find(tx, who.account_id)
    assert profile is not None, "who asks has an account"
    new = NewComment(
        site=note.site,
        url=note.url,
        title="",  # that of the note is a stranger's word
        author=profile.author,
        email=profile.email,
        avatar=avatar(profile.email),
        author_site=profile.site,
        source=source,
        html=markdown.render(source),
        parent=None,
        status=APPROVED,
        key=msgspec.json.encode(("thanks", note.id)).decode(),
        derived=True,
        token_hash=b"",
        token_expires_at=0,
        role=profile.badge,
        moderator_id=profile.id,
    )
    comment_id = create.add(tx, new, now).comment.id
    tx.change(NoteTable.update(thanks=comment_id).where(NoteTable.id == note.id))
    move(tx, note, DONE, who.name, now)
    return comment_id


def own(email: str) -> Select:
    """Return the query for the notes with that address, the oldest first."""
    key = address_key(email)
    found = NoteTable.select(*_ROW).join(SiteTable).where(NoteTable.email_key == key)
    return found.where(NoteTable.email_key != "").order_by(NoteTable.id)


def of_address(snapshot: Snapshot, email: str) -> list[PrivateNote]:
    """Return the notes with that address, the oldest first."""
    return [_read(row) for row in snapshot.query(own(email))]


def forget(tx: Transaction, email: str, actor: str, now: int) -> tuple[int, ...]:
    """Delete all notes with that address; return the ids of the comments with thanks for them."""
    key = address_key(email)
    mine = (NoteTable.email_key == key) & (NoteTable.email_key != "")
    thanks = tx.query(NoteTable.select(NoteTable.thanks).where(mine, NoteTable.thanks > 0))
    tx.change(NoteTable.delete().where(mine))
    ids = [number for (number,) in thanks]
    there = CommentTable.select(CommentTable.id).where(CommentTable.id.in_(ids))
    kept = tuple(number for (number,) in tx.query(there))
    changes.change(tx, kept, DELETED, actor, now)
    return kept


def _old(state: str, before: int, most: int) -> Select:
    moment = NoteTable.decided_at if state == DONE else NoteTable.created_at
    old = NoteTable.select(NoteTable.id, NoteTable.thanks)
    old = old.where(NoteTable.state == state, moment < before)
    return old.where((NoteTable.thanks == 0) | (NoteTable.author != "")).limit(most)


def is_due(snapshot: Snapshot, state: str, before: int) -> bool:
    """Return whether `delete_old` has something to delete."""
    return snapshot.first(_old(state, before, 1)) is not None


def delete_old(tx: Transaction, state: str, before: int, most: int) -> None:
    """Delete at most `most` notes: done before that time (Unix ms), or spam that came before it."""
    rows = tx.query(_old(state, before, most))
    gone = [note_id for note_id, thanks in rows if not thanks]
    tx.change(NoteTable.delete().where(NoteTable.id.in_(gone)))
    emptied = dict.fromkeys(("author", "email", "quote", "message", "answer", "title"), "")
    thanked = [note_id for note_id, thanks in rows if thanks]
    tx.change(NoteTable.update(**emptied, network=None).where(NoteTable.id.in_(thanked)))
