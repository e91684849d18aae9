"""Stores the parts that only our own export has: history, votes, bans, aliases, training.

Comment ids, and the totals of the spam filter's training, are imported only into an empty service:
elsewhere the ids are in use, and some of the comments may have been counted before.
"""

import struct
from collections import Counter
from typing import Final

import msgspec
from msgspec.structs import replace
from peewee import Value

from commentsvc.comments import images, queries
from commentsvc.comments.create import ThreadRef, changed, find_thread, insert_thread
from commentsvc.db.connection import Transaction
from commentsvc.db.query import Param, Select, insertion, prepared
from commentsvc.db.schema.comments import (
    CommentTable,
    PageViewTable,
    ProposedTitleTable,
    ReactionTable,
    ReportTable,
    SiteTable,
    ThreadTable,
    VoteTable,
)
from commentsvc.db.schema.imports import ImportTable
from commentsvc.db.schema.moderation import (
    BanTable,
    ChangeTable,
    InternalNoteTable,
    SavedReplyTable,
    SettingChangeTable,
    StatementOfReasonsTable,
    TrainingCommentTable,
    TrainingTokenTable,
    TrainingTotalTable,
)
from commentsvc.db.schema.notes import NoteTable
from commentsvc.db.schema.outbox import (
    ASKED,
    FollowerTable,
    FollowWishTable,
    SubscriberTable,
    SubscriptionTable,
)
from commentsvc.exports import records as exported
from commentsvc.exports.columns import (
    BAN,
    HISTORY,
    INTERNAL_NOTE,
    NOTE_COLUMNS,
    REACTION,
    REPORT,
    SAVED_REPLY,
    STATEMENT,
    VOTE,
)
from commentsvc.exports.records import (
    BanRecord,
    CommentRecord,
    FollowerRecord,
    NoteRecord,
    ReaderRecord,
    SavedReplyRecord,
    SettingRecord,
    SubscriberRecord,
    ThreadRecord,
    TrainingTokenRecord,
    TrainingTotalRecord,
    ViewsRecord,
)
from commentsvc.feedback import reactions
from commentsvc.imports import dates
from commentsvc.imports.store import imported_records
from commentsvc.markup import image_names
from commentsvc.model import AGING, EVERY_TAG, SETTINGS_TAG, site_tag, thread_tag, views_tag
from commentsvc.moderation.private_notes import KEY_BYTES
from commentsvc.readers import accounts, follows
from commentsvc.readers.accounts import SignedReader
from commentsvc.settings.everyday import ORIGINS, SETTINGS, SIGN_IN, SettingRefused
from commentsvc.spam.protected_names import name_skeletons
from commentsvc.util import timestamps
from commentsvc.util.digest import digest
from commentsvc.util.origin import address_key

_decode = msgspec.json.Decoder(exported.Record).decode

_ADD_CHANGE: Final = insertion(ChangeTable.comment, *HISTORY.columns[1:])
_KEEP_CHANGE: Final = insertion(ChangeTable.comment, *HISTORY.columns)
_ADD_VOTE: Final = insertion(VoteTable.comment, *VOTE.columns)
_ADD_REPORT: Final = insertion(ReportTable.comment, ReportTable.email_key, *REPORT.columns)
_ADD_NOTE: Final = insertion(InternalNoteTable.comment, *INTERNAL_NOTE.columns)
_ADD_STATEMENT: Final = insertion(StatementOfReasonsTable.comment, *STATEMENT.columns)
_ADD_REACTION: Final = insertion(ReactionTable.thread, *REACTION.columns)
_ADD_TITLE: Final = insertion(ProposedTitleTable.comment, ProposedTitleTable.title)
_ADD_WISH: Final = insertion(FollowWishTable.comment, FollowWishTable.language)
_ADD_TRAINING: Final = insertion(
    TrainingCommentTable.comment, TrainingCommentTable.label, TrainingCommentTable.tokens
)


@prepared
def _judge(comment_id: Param, score: Param, network: Param, reader_id: Param) -> Select:
    judged = CommentTable.update(score=score, network=network, reader_id=reader_id)
    return judged.where(CommentTable.id == comment_id)


@prepared
def _add_subscriber(
    site_id: Param, email: Param, consent: Param, asked: Param, key: Param
) -> Select:
    row = {
        SubscriberTable.site: site_id,
        SubscriberTable.email: email,
        SubscriberTable.email_key: key,
        SubscriberTable.consent: consent,
        SubscriberTable.asked_at: asked,
    }
    return SubscriberTable.insert(row).on_conflict(
        conflict_target=[SubscriberTable.email_key, SubscriberTable.site],
        preserve=[SubscriberTable.consent, SubscriberTable.asked_at],
        where=SubscriberTable.asked_at == 0,
    )


@prepared
def _find_subscriber(site_id: Param, key: Param) -> Select:
    return SubscriberTable.select(SubscriberTable.id).where(
        SubscriberTable.site == site_id, SubscriberTable.email_key == key
    )


@prepared
def _subscribe(comment_id: Param, language: Param, site_id: Param, key: Param) -> Select:
    subscriber = SubscriberTable.select(comment_id, SubscriberTable.id, language).where(
        SubscriberTable.site == site_id, SubscriberTable.email_key == key
    )
    into = (SubscriptionTable.comment, SubscriptionTable.subscriber, SubscriptionTable.language)
    return SubscriptionTable.insert_from(subscriber, into)


@prepared
def _learn_token(token: Param, spam: Param, good: Param) -> Select:
    return TrainingTokenTable.insert(hash=token, spam=spam, good=good).on_conflict(
        action="NOTHING", conflict_target=[TrainingTokenTable.hash]
    )


@prepared
def _find_comment(comment_id: Param) -> Select:
    return CommentTable.select(CommentTable.id).where(CommentTable.id == comment_id)


@prepared
def _find_change(change_id: Param) -> Select:
    return ChangeTable.select(ChangeTable.id).where(ChangeTable.id == change_id)


def is_free(tx: Transaction, comment_id: int) -> bool:
    """Return whether no comment has that id."""
    return not tx.first(_find_comment, comment_id)


def add_details(
    tx: Transaction,
    line: bytes,
    comment_id: int,
    ref: ThreadRef,
    import_id: int,
    *,
    keeps_ids: bool,
) -> None:
    """Store the remaining parts of `line`, the record of a comment that is stored already."""
    record = _decode(line)
    assert isinstance(record, CommentRecord), "the parser has read it before"
    reader_id = None
    if who := record.reader:
        signed_in = ReaderRecord(ref.site, who.issuer, who.subject, record.author, record.email)
        reader_id = _put_reader(tx, signed_in, import_id)
    tx.change(_judge, comment_id, record.score, _from_hex(record.network), reader_id)
    if record.proposed_title:
        tx.change(_ADD_TITLE, comment_id, record.proposed_title)
    _add_history(tx, record, comment_id, keeps_ids=keeps_ids)
    tx.change_each(
        _ADD_VOTE,
        [
            (comment_id, *VOTE.row(each))
            for each in {vote.voter: vote for vote in record.voters}.values()
        ],
    )
    tx.change_each(
        _ADD_REPORT,
        [
            (comment_id, address_key(each.email), *REPORT.row(each))
            for each in {report.reporter: report for report in record.reports}.values()
        ],
    )
    tx.change_each(
        _ADD_NOTE, [(comment_id, *INTERNAL_NOTE.row(each)) for each in record.internal_notes]
    )
    tx.change_each(
        _ADD_STATEMENT,
        [
            (comment_id, *STATEMENT.row(each))
            for each in {said.decided: said for said in record.statements}.values()
        ],
    )
    created = dates.moment(record.created)
    for image in record.images:
        if image_names.is_named_so(image.name, image.content):
            tx.change(images.put_row, ref.site, image.name, image.content, created, None)
    images.link(tx, comment_id, record.message)
    if record.training and keeps_ids:
        tokens = record.training.tokens
        packed = struct.pack(f"<{len(tokens)}I", *tokens)
        tx.change(_ADD_TRAINING, comment_id, record.training.label, packed)
    if record.subscribed and record.email:
        _put_subscriber(tx, (ref.site_id, record.email, ASKED, 0), import_id)
        key = address_key(record.email)
        tx.change(_subscribe, comment_id, record.language, ref.site_id, key)
    if record.follows and record.email:
        tx.change(_ADD_WISH, comment_id, record.language)


def _from_hex(text: str | None) -> bytes | None:
    return bytes.fromhex(text) if text else None


def _moment(text: str | None) -> int | None:
    return dates.moment(text) if text else None


def _add_history(
    tx: Transaction, record: CommentRecord, comment_id: int, *, keeps_ids: bool
) -> None:
    if not record.history:
        return
    ids = {each.id for each in record.history}
    is_taken = len(ids) < len(record.history) or any(tx.first(_find_change, each) for each in ids)
    keeps_ids = keeps_ids and not is_taken  # else the file has changes with the same id
    decision_id = tx.last_id("change") + 1
    decisions: dict[int, int] = {}
    rows = []
    for each in record.history:
        if keeps_ids:
            rows.append((comment_id, *HISTORY.row(each)))
        else:
            decision = decisions.setdefault(each.decision, decision_id + len(decisions))
            rows.append((comment_id, *HISTORY.row(replace(each, decision=decision))[1:]))
    tx.change_each(_KEEP_CHANGE if keeps_ids else _ADD_CHANGE, rows)
    if keeps_ids:
        tx.advance_ids("change", max(each.id for each in record.history))


def add_other(tx: Transaction, line: bytes, site: str, import_id: int, *, keeps_ids: bool) -> None:
    """Store a record that is not a comment, unless it is there; `site` "" means its own site."""
    record = _decode(line)
    match record:
        case ThreadRecord():
            _add_thread(tx, record, site or record.site, import_id)
        case SubscriberRecord():
            _take_subscriber(tx, record, site or record.site, import_id)
        case FollowerRecord():
            _add_follower(tx, record, site or record.site, import_id)
        case ReaderRecord():
            _take_reader(tx, replace(record, site=site or record.site), import_id)
        case NoteRecord():
            _add_note(tx, record, site or record.site, import_id)
        case ViewsRecord():
            _add_views(tx, record, site or record.site, import_id)
        case SettingRecord():
            _add_setting(tx, record, record.site and (site or record.site), import_id)
        case BanRecord() | SavedReplyRecord():
            _add_of_service(tx, record, import_id)
        case TrainingTotalRecord() | TrainingTokenRecord() if keeps_ids:
            _learn(tx, record)


def _add_of_service(tx: Transaction, record: BanRecord | SavedReplyRecord, import_id: int) -> None:
    if isinstance(record, BanRecord):
        _add_ban(tx, record, import_id)
    else:
        _add_saved_reply(tx, record, import_id)


def _learn(tx: Transaction, record: TrainingTotalRecord | TrainingTokenRecord) -> None:
    """Store what a spam filter has learned."""
    if isinstance(record, TrainingTokenRecord):
        tx.change(_learn_token, record.hash, record.spam, record.good)
        return
    total = TrainingTotalTable.insert(id=1, spam=record.spam, good=record.good, version=1)
    tx.change(total.on_conflict(action="NOTHING", conflict_target=[TrainingTotalTable.id]))


def _add_note(tx: Transaction, record: NoteRecord, site: str, import_id: int) -> None:
    """Add a private note, unless it is there. Nobody is mailed about it."""
    row = {name: getattr(record, name) for name in NOTE_COLUMNS} | {
        "email_key": address_key(record.email),
        "may_thank": int(record.may_thank),
        "created_at": dates.moment(record.created),
        "decided_at": _moment(record.decided) or 0,
        "key": digest(msgspec.json.encode((site, record)), b"imported note", KEY_BYTES),
    }
    for (site_id,) in tx.query(SiteTable.select(SiteTable.id).where(SiteTable.name == site)):
        same = [getattr(NoteTable, name) == row[name] for name in ("created_at", "url", "message")]
        if not tx.first(NoteTable.select(NoteTable.id).where(NoteTable.site == site_id, *same)):
            added = NoteTable.insert(row | {"site": site_id}).returning(NoteTable.id)
            [(note_id,)] = tx.query(added)
            imported_records.note(tx, import_id, imported_records.NOTE, note_id)


def _add_ban(tx: Transaction, record: BanRecord, import_id: int) -> None:
    ban = BanTable.insert(dict(zip(BAN.columns, BAN.row(record), strict=True)))
    added = tx.query(
        ban.on_conflict(
            action="NOTHING", conflict_target=[BanTable.kind, BanTable.value]
        ).returning(BanTable.id)
    )
    for (ban_id,) in added:
        imported_records.note(
            tx, import_id, imported_records.BAN, ban_id, number=timestamps.read(record.created)
        )


def _add_saved_reply(tx: Transaction, record: SavedReplyRecord, import_id: int) -> None:
    """Add a saved reply, unless there is one with its title."""
    row = dict(zip(SAVED_REPLY.columns, SAVED_REPLY.row(record), strict=True))
    reply = SavedReplyTable.insert(row).on_conflict(
        action="NOTHING", conflict_target=[SavedReplyTable.title]
    )
    for (reply_id,) in tx.query(reply.returning(SavedReplyTable.id)):
        imported_records.note(tx, import_id, imported_records.SAVED_REPLY, reply_id)


def _add_setting(tx: Transaction, record: SettingRecord, site: str, import_id: int) -> None:
    """Add a setting that can be changed in the browser, unless it was changed there already.

    Who may write, and from which pages, is left to the settings here: see `everyday.apply`.
    """
    setting = SETTINGS.get(record.key)
    if setting is None or setting.is_of_site != bool(site) or record.key in (ORIGINS, SIGN_IN):
        return
    if site and not tx.first(SiteTable.select(SiteTable.id).where(SiteTable.name == site)):
        return
    try:
        value = setting.parse(record.value)
    except SettingRefused:
        return
    table = SettingChangeTable
    is_it = (table.key == record.key) & (table.site == site if site else table.site.is_null())
    newest = tx.first(table.select(table.new).where(is_it).order_by(table.id.desc()).limit(1))
    if newest and newest[0] is not None:
        return
    new = msgspec.json.encode(value).decode()
    row = {"site": site or None, "key": record.key, "new": new, "actor": record.actor}
    added = table.insert(row | {"created_at": dates.moment(record.changed)}).returning(table.id)
    [(change_id,)] = tx.query(added)
    imported_records.note(tx, import_id, imported_records.SETTING, change_id)
    tx.purge(SETTINGS_TAG, EVERY_TAG)


def _take_subscriber(tx: Transaction, record: SubscriberRecord, site: str, import_id: int) -> None:
    """Store an address if its site is known."""
    for (site_id,) in tx.query(SiteTable.select(SiteTable.id).where(SiteTable.name == site)):
        asked = _moment(record.asked) or 0
        _put_subscriber(tx, (site_id, record.email, record.consent, asked), import_id)


def _put_subscriber(tx: Transaction, row: tuple[int, str, str, int], import_id: int) -> None:
    """Store an address: its site, the address, the consent, and when it was asked for."""
    site_id, email, consent, _ = row
    key = address_key(email)
    is_new = tx.first(_find_subscriber, site_id, key) is None
    tx.change(_add_subscriber, *row, key)
    found = tx.first(_find_subscriber, site_id, key)
    if is_new and found is not None:
        imported_records.note(tx, import_id, imported_records.SUBSCRIBER, found[0], consent)


def _add_follower(tx: Transaction, record: FollowerRecord, site: str, import_id: int) -> None:
    """Add a follower, unless the address was asked here about the page before.

    The follower is mailed what is published after the beginning of the import.
    """
    row = tx.first(find_thread, record.url, site)
    if row is None:
        return  # no such site
    followed = row[0], row[2] if row[5] is None else row[5]
    if (record.url and followed[1] is None) or follows.known(tx, followed, record.email):
        return
    run = ImportTable.select(ImportTable.started_at).where(ImportTable.id == import_id)
    [(started,)] = tx.query(run)
    follower = FollowerTable.insert(
        site=followed[0],
        thread=followed[1],
        email=record.email,
        email_key=address_key(record.email),
        consent=record.consent,
        asked_at=dates.moment(record.asked),
        language=record.language,
        since_at=started,
        until_at=started,
    )
    [(follower_id,)] = tx.query(follower.returning(FollowerTable.id))
    imported_records.note(tx, import_id, imported_records.FOLLOWER, follower_id, record.consent)


def _take_reader(tx: Transaction, record: ReaderRecord, import_id: int) -> None:
    """Store a reader whose site is known."""
    if tx.first(SiteTable.select(SiteTable.id).where(SiteTable.name == record.site)):
        _put_reader(tx, record, import_id)


def _put_reader(tx: Transaction, record: ReaderRecord, import_id: int) -> int | None:
    """Store a reader; return the id, None if another reader of the site has the name."""
    identity, alike = (record.issuer, record.subject), name_skeletons(record.name)
    who = accounts.known(tx, record.site, identity)
    if who is None or not who.name:
        new = SignedReader(who.id if who else 0, record.site, record.name, record.email)
        if not record.name or accounts.holds(tx, record.site, alike, new):
            return None
        who = accounts.identified(tx, record.site, identity, record.email, 0)
        accounts.choose_name(tx, who, record.name, alike)
        imported_records.note(tx, import_id, imported_records.READER, who.id)
    if not tx.first(imported_records.is_noted, import_id, imported_records.READER, who.id):
        return who.id
    if who.email != record.email:
        accounts.change_address(tx, who, record.email)
    if record.trusted_by:
        accounts.set_trust(tx, who.id, record.trusted_by, _moment(record.trusted) or 0)
    return who.id


def _add_reactions(tx: Transaction, record: ThreadRecord, thread_id: int, import_id: int) -> None:
    """Add the reactions of a thread, unless it has some, which may come from an earlier import."""
    if reactions.counts(tx, thread_id):
        return
    known = {(each.emoji, each.reader): each for each in record.reacted}
    given = Counter(emoji for emoji, _ in known)
    numbers = {
        emoji: max(record.reactions.get(emoji, 0), given[emoji])
        for emoji in {**record.reactions, **given}
    }
    reactions.add_counts(tx, thread_id, numbers)
    for emoji, number in numbers.items():
        imported_records.note(tx, import_id, imported_records.REACTION, thread_id, emoji, number)
    tx.change_each(_ADD_REACTION, [(thread_id, *REACTION.row(each)) for each in known.values()])


def _add_views(tx: Transaction, record: ViewsRecord, site: str, import_id: int) -> None:
    """Set the views of a page, unless it has some, which may come from an earlier import."""
    url = queries.thread(tx, site, record.url).url
    row = SiteTable.select(SiteTable.id, Value(url), Value(record.views))
    viewed = PageViewTable.insert_from(
        row.where(SiteTable.name == site),
        (PageViewTable.site, PageViewTable.url, PageViewTable.views),
    )
    added = tx.query(
        viewed.on_conflict(
            action="NOTHING", conflict_target=[PageViewTable.site, PageViewTable.url]
        ).returning(PageViewTable.id)
    )
    for (row_id,) in added:
        imported_records.note(tx, import_id, imported_records.VIEWS, row_id, number=record.views)
        tx.purge(views_tag(site))


def _add_thread(tx: Transaction, record: ThreadRecord, site: str, import_id: int) -> None:
    """Set the state and aliases of a thread, also if it has no comments."""
    row = tx.first(find_thread, record.url, site)
    if row is None or row[5] is not None:
        return  # no such site, or the page has another url here
    site_id, _, thread_id, title, state, *_ = row
    is_new = thread_id is None
    if is_new:
        thread_id = tx.insert(insert_thread, (site_id, record.url))
        title, state = "", AGING
    tx.change(imported_records.note_thread, import_id, thread_id, int(is_new))
    if record.title and not title:
        title = record.title
        imported_records.note(tx, import_id, imported_records.TITLE, thread_id, title)
    if state == AGING and record.state != AGING:
        state = record.state
        imported_records.note(tx, import_id, imported_records.STATE, thread_id, state)
    described = ThreadTable.update(title=title, state=state)
    tx.change(described.where(ThreadTable.id == thread_id))
    _add_reactions(tx, record, thread_id, import_id)
    for url in record.aliases:
        alias = ThreadTable.insert(site=site_id, url=url, title="", aliased=thread_id)
        added = tx.query(
            alias.on_conflict(
                action="NOTHING", conflict_target=[ThreadTable.site, ThreadTable.url]
            ).returning(ThreadTable.id)
        )
        for (alias_id,) in added:
            imported_records.note(tx, import_id, imported_records.ALIAS, alias_id, number=thread_id)
    changed(tx, ThreadRef(site, record.url, site_id, thread_id))
    tx.purge(site_tag(site), *(thread_tag(site, alias) for alias in record.aliases))
