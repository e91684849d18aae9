"""Readers who signed in: their names, which nobody else can use, and their sessions.

A reader belongs to one site and is identified there by an issuer and a subject: by "mail" and the
`address_key` of an address, by an OpenID Connect provider and its `sub`, or by "blog" and the
user's id in the blog's own login. A reader without a name has signed in but not chosen one yet;
such rows are deleted after a day. A name is taken if it looks like the name of another reader,
which has one of its skeletons (see `spam.protected_names`), unless both have the same address.

A session is a random token, which the widget keeps; the database has its digest. Times are Unix
milliseconds.
"""

import base64
import os
from collections.abc import Sequence
from typing import Final

import msgspec

from commentsvc import outbox
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable
from commentsvc.db.schema.readers import (
    ReaderSessionTable,
    ReaderSkeletonTable,
    ReaderTable,
    SignInLinkTable,
)
from commentsvc.outbox import MailAddress
from commentsvc.util.digest import digest
from commentsvc.util.origin import address_key
from commentsvc.util.timestamps import DAY_MS, HOUR_MS

BY_MAIL: Final = "mail"
BY_BLOG: Final = "blog"
SESSION: Final = 90 * DAY_MS  # for which a browser stays signed in
LINK: Final = HOUR_MS  # for which a mailed link works
UNNAMED: Final = DAY_MS  # after which a reader without a name is deleted
SESSIONS: Final = 50  # the most sessions of a reader
OWN: Final = 100  # the most comments of a reader that are listed for a page
TOKEN_SIZE: Final = 32  # random bytes
TOKEN_LENGTH: Final = 64  # characters; ours have 43


class ReaderNameTaken(Exception):
    """Another reader of the site has that name, or one that looks like it."""


class SignedReader(msgspec.Struct, frozen=True):
    """A reader who signed in on the site of that name."""

    id: int
    site: str
    name: str
    email: str


class SignInLink(msgspec.Struct, frozen=True):
    """A mailed link: whom it signs in, and where the browser goes then."""

    id: int
    site: str
    email: str
    page: str
    word: str


def _readers() -> Select:
    return ReaderTable.select(
        ReaderTable.id, SiteTable.name, ReaderTable.name, ReaderTable.email
    ).join(SiteTable)


@prepared
def _of_session(digest: Param, now: Param) -> Select:
    return (
        _readers()
        .switch(ReaderTable)
        .join(ReaderSessionTable)
        .where(ReaderSessionTable.digest == digest, ReaderSessionTable.expires_at > now)
    )


def of_token(snapshot: Snapshot, token: str, now: int) -> SignedReader | None:
    """Return the reader whose session has this token; None if it is over or was never ours."""
    if not token or len(token) > TOKEN_LENGTH:
        return None
    row = snapshot.first(_of_session, _digest_of_token(token), now)
    return SignedReader(*row) if row else None


def identified(
    tx: Transaction, site: str, identity: tuple[str, str], email: str, now: int
) -> SignedReader:
    """Return the reader with that issuer and subject; store a new one without a name.

    `email` is an address that was verified, "" for none.
    """
    issuer, subject = _identity(identity)
    who = known(tx, site, identity)
    if who is None:
        old = (ReaderTable.name == "") & (ReaderTable.created_at < now - UNNAMED)
        tx.change(ReaderTable.delete().where(old))
        new = {
            "site": SiteTable.select(SiteTable.id).where(SiteTable.name == site),
            "issuer": issuer,
            "subject": subject,
            "name": "",
            "email": email,
            "email_key": address_key(email),
            "created_at": now,
        }
        tx.change(ReaderTable.insert(new))
        who = known(tx, site, identity)
        assert who is not None, "the reader was just stored"
    elif email and email != who.email:
        who = change_address(tx, who, email)
    return who


def known(snapshot: Snapshot, site: str, identity: tuple[str, str]) -> SignedReader | None:
    """Return the reader with that issuer and subject; None if there is none."""
    issuer, subject = _identity(identity)
    found = _readers().where(SiteTable.name == site, ReaderTable.issuer == issuer)
    row = snapshot.first(found.where(ReaderTable.subject == subject))
    if row is None and issuer == BY_MAIL:  # older versions stored the subject in another form
        same = found.where(ReaderTable.email_key == subject)
        row = snapshot.first(same.order_by(ReaderTable.id).limit(1))
    return SignedReader(*row) if row else None


def _identity(identity: tuple[str, str]) -> tuple[str, str]:
    """Return an issuer and a subject as they are stored."""
    issuer, subject = identity
    return issuer, address_key(subject) if issuer == BY_MAIL else subject


def change_address(tx: Transaction, who: SignedReader, email: str) -> SignedReader:
    """Store another verified address of a reader."""
    changed = ReaderTable.update(email=email, email_key=address_key(email))
    tx.change(changed.where(ReaderTable.id == who.id))
    return SignedReader(who.id, who.site, who.name, email)


class TrustedReader(msgspec.Struct, frozen=True):
    """A reader whom the moderator `by` trusts since `at` (Unix milliseconds)."""

    id: int
    site: str
    name: str
    by: str
    at: int


def set_trust(tx: Transaction, reader_id: int, who: str, now: int) -> bool:
    """Let the moderator `who` trust a reader, "" nobody; return whether there is that reader."""
    changed = ReaderTable.update(trusted_by=who, trusted_at=now if who else 0)
    return bool(tx.change(changed.where(ReaderTable.id == reader_id)))


@prepared
def _trust(reader_id: Param) -> Select:
    found = ReaderTable.select(ReaderTable.trusted_by, ReaderTable.trusted_at)
    return found.where(ReaderTable.id == reader_id)


def trust(snapshot: Snapshot, reader_id: int) -> tuple[str, int] | None:
    """Return which moderator trusts a reader, "" for none, and since when; None without reader."""
    return snapshot.first(_trust, reader_id)


def trusted(snapshot: Snapshot, sites: Sequence[str] | None) -> list[TrustedReader]:
    """Return the last OWN readers who were trusted on `sites`, None for all; the newest first."""
    found = ReaderTable.select(
        ReaderTable.id,
        SiteTable.name,
        ReaderTable.name,
        ReaderTable.trusted_by,
        ReaderTable.trusted_at,
    ).join(SiteTable)
    found = found.where(ReaderTable.trusted_by != "")
    if sites is not None:
        found = found.where(SiteTable.name.in_([*sites]))
    newest = found.order_by(ReaderTable.trusted_at.desc(), ReaderTable.id.desc()).limit(OWN)
    return [TrustedReader(*row) for row in snapshot.query(newest)]


def skeletons_taken(snapshot: Snapshot) -> dict[str, frozenset[tuple[str, str]]]:
    """Return the identities of all readers whose names have a skeleton, by the skeleton."""
    taken: dict[str, set[tuple[str, str]]] = {}
    skeletons = ReaderSkeletonTable.select(
        ReaderSkeletonTable.skeleton, ReaderTable.issuer, ReaderTable.subject
    ).join(ReaderTable, on=ReaderTable.id == ReaderSkeletonTable.reader)
    for skeleton, *identity in snapshot.query(skeletons):
        taken.setdefault(skeleton, set()).add(tuple(identity))
    return {skeleton: frozenset(identities) for skeleton, identities in taken.items()}


def find(snapshot: Snapshot, reader_id: int) -> SignedReader | None:
    """Return the reader with that id; None if there is none any more."""
    row = snapshot.first(_readers().where(ReaderTable.id == reader_id))
    return SignedReader(*row) if row else None


def holds(
    snapshot: Snapshot, site: str, skeletons: Sequence[str], but_not: SignedReader | None
) -> bool:
    """Return whether a reader other than `but_not` has a name with one of `skeletons`."""
    others = (
        ReaderSkeletonTable.select(ReaderSkeletonTable.skeleton)
        .join(SiteTable, on=SiteTable.id == ReaderSkeletonTable.site)
        .join(ReaderTable, on=ReaderTable.id == ReaderSkeletonTable.reader)
        .where(SiteTable.name == site, ReaderSkeletonTable.skeleton.in_(list(skeletons)))
    )
    if but_not is not None:
        others = others.where(ReaderTable.id != but_not.id)
        if but_not.email:
            others = others.where(ReaderTable.email_key != address_key(but_not.email))
    return snapshot.first(others.limit(1)) is not None


def choose_name(
    tx: Transaction, who: SignedReader, name: str, skeletons: Sequence[str]
) -> SignedReader:
    """Give a reader without a name one, which has these `skeletons`. Raise ReaderNameTaken."""
    if holds(tx, who.site, skeletons, who):
        raise ReaderNameTaken(name)
    unnamed = (ReaderTable.id == who.id) & (ReaderTable.name == "")
    if not tx.change(ReaderTable.update(name=name).where(unnamed)):
        raise ReaderNameTaken(name)  # another window was faster
    site = SiteTable.select(SiteTable.id).where(SiteTable.name == who.site)
    for skeleton in set(skeletons):
        tx.change(ReaderSkeletonTable.insert(reader=who.id, site=site, skeleton=skeleton))
    return SignedReader(who.id, who.site, name, who.email)


def begin_session(tx: Transaction, reader_id: int, now: int) -> str:
    """Begin a session of a reader at the time `now`; return its token.

    Sessions that have expired are deleted, and the oldest ones of a reader with SESSIONS.
    """
    token = base64.urlsafe_b64encode(os.urandom(TOKEN_SIZE)).rstrip(b"=").decode()
    tx.change(ReaderSessionTable.delete().where(ReaderSessionTable.expires_at <= now))
    own = ReaderSessionTable.select(ReaderSessionTable.id).where(
        ReaderSessionTable.reader == reader_id
    )
    for (oldest,) in tx.query(own.order_by(ReaderSessionTable.id))[: 1 - SESSIONS]:
        tx.change(ReaderSessionTable.delete().where(ReaderSessionTable.id == oldest))
    row = {
        "reader": reader_id,
        "digest": _digest_of_token(token),
        "expires_at": now + SESSION,
    }
    tx.change(ReaderSessionTable.insert(row))
    return token


def end_session(tx: Transaction, token: str) -> None:
    """End the session with that token."""
    tx.change(
        ReaderSessionTable.delete().where(ReaderSessionTable.digest == _digest_of_token(token))
    )


def end_sessions(tx: Transaction, reader_id: int) -> None:
    """End all sessions of a reader."""
    tx.change(ReaderSessionTable.delete().where(ReaderSessionTable.reader == reader_id))


def own_comments(snapshot: Snapshot, who: SignedReader, url: str) -> list[int]:
    """Return the ids of the newest comments by a reader on a page, at most OWN, oldest first."""
    found = (
        CommentTable.select(CommentTable.id)
        .join(ThreadTable)
        .where(CommentTable.reader_id == who.id, ThreadTable.url == url)
    )
    newest = snapshot.query(found.order_by(CommentTable.id.desc()).limit(OWN))
    return [comment_id for (comment_id,) in reversed(newest)]


def ask_by_mail(
    tx: Transaction, return_to: tuple[str, str, str], email: str, language: str, now: int
) -> None:
    """Mail a sign-in link to an address; `return_to` is the site's name, the page and the word."""
    site, page, word = return_to
    tx.change(SignInLinkTable.delete().where(SignInLinkTable.asked_at < now - LINK))
    row = {
        "site": SiteTable.select(SiteTable.id).where(SiteTable.name == site),
        "email": email,
        "email_key": address_key(email),
        "page": page,
        "word": word,
        "asked_at": now,
    }
    tx.change(SignInLinkTable.insert(row))
    outbox.mail(tx, "sign-in", MailAddress(email, language), now, lasts=LINK)


def _links() -> Select:
    return SignInLinkTable.select(
        SignInLinkTable.id,
        SiteTable.name,
        SignInLinkTable.email,
        SignInLinkTable.page,
        SignInLinkTable.word,
    ).join(SiteTable)


def link_mailed(snapshot: Snapshot, email: str, moment: int) -> SignInLink | None:
    """Return the link that an address asked for at a time; None if it was used."""
    asked = _links().where(SignInLinkTable.email == email, SignInLinkTable.asked_at == moment)
    row = snapshot.first(asked.order_by(SignInLinkTable.id.desc()))
    return SignInLink(*row) if row else None


def find_link(snapshot: Snapshot, link_id: int, asked_at: int) -> SignInLink | None:
    """Return a mailed link; None if it was used."""
    is_it = (SignInLinkTable.id == link_id) & (SignInLinkTable.asked_at == asked_at)
    row = snapshot.first(_links().where(is_it))
    return SignInLink(*row) if row else None


def use_link(tx: Transaction, link_id: int, asked_at: int) -> SignInLink | None:
    """Return a mailed link, which no longer works then; None if it was used before."""
    link = find_link(tx, link_id, asked_at)
    if link is not None:
        tx.change(SignInLinkTable.delete().where(SignInLinkTable.id == link_id))
    return link


def forget(tx: Transaction, email: str) -> None:
    """Delete the readers with an address, their names and their sessions."""
    for table in (ReaderTable, SignInLinkTable):
        tx.change(table.delete().where(table.email_key == address_key(email)))


def _digest_of_token(token: str) -> bytes:
    return digest(token, b"reader session")
