"""Receiver: reads a mail, stores it, and acts on it.

A moderator's answer decides on the comment of the mail, or is published as an answer: see
`commands`. Words that may not be the moderator's own are held: they wait on the moderation pages
like a comment, and a mail says so. An answer to a private note is mailed to its reader and never
published; nothing is mailed if it may have words of others. A reader's answer becomes a reply to
the comment that the mail was about, and passes the same checks as every comment. Each mail of ours
can be answered once; the result is mailed to the address that our mail went to, wherever the answer
came from. A mail to the address of a page waits until its sender has confirmed it: see
`readers.mailed_comments`.
"""

import hashlib
import logging
from typing import Final

from commentsvc import outbox
from commentsvc.auth import signed_links
from commentsvc.auth.reply_addresses import ANSWER_NOTE, MODERATE, REPLY, ReplyAddresses, digest_of
from commentsvc.auth.signed_links import LinkExpired
from commentsvc.comments import queries
from commentsvc.comments.submission import Submission, SubmissionError, avatar, message_from_text
from commentsvc.context import ServiceContext
from commentsvc.db import background
from commentsvc.db.connection import Transaction
from commentsvc.db.errors import DatabaseError
from commentsvc.db.schema.inbox import QUOTING, UNCERTAIN, UNREADABLE, ReceivedMail
from commentsvc.db.schema.outbox import CONFIRMED
from commentsvc.errors import CommentsError, NotPermitted
from commentsvc.inbox import inbox
from commentsvc.inbox.commands import Meaning, Wish, meaning, wants_removal
from commentsvc.inbox.message import MailParser, Unwanted
from commentsvc.model import APPROVED, DONE, PENDING, SPAM
from commentsvc.moderation import authorized, changes, private_notes, profiles
from commentsvc.outbox import MailAddress
from commentsvc.readers import subscriptions
from commentsvc.settings.types import HIDDEN
from commentsvc.submissions.service import SubmissionService
from commentsvc.util.threads import MAILS, run_in
from commentsvc.util.timestamps import DAY_MS

_log = logging.getLogger(__name__)

PAUSE: Final = 1.0  # seconds between two searches for waiting mails


class NotActedOn(Exception):
    """A mail cannot be acted on; the text says why, for the log."""


class MailReceiver:
    """Receives mails for all sites."""

    def __init__(self, service: ServiceContext, submissions: SubmissionService) -> None:
        settings = service.settings
        addresses = ReplyAddresses(service.keys, settings.inbox.address)
        self._parser = MailParser(addresses, settings)
        self._secret = hashlib.blake2b(service.keys[0], person=b"reply by mail").digest()
        self._moderators = settings.mail.moderators
        self._sites = service.sites.options
        self._language = settings.mail.language
        self._bounds = settings.comments
        self._database = service.database
        self._clock = service.clock
        self._submissions = submissions

    async def take(self, raw: bytes) -> bool:
        """Store a mail; return whether it answers one of ours, or comments on a page.

        Raise DatabaseError; then it must be delivered again.
        """
        now = self._clock.now_ms()
        try:
            if comment := await run_in(MAILS, self._parser.read_comment, raw, now):
                refusal = await self._database.write(inbox.add_comment, comment, now)
            else:
                mail = await run_in(MAILS, self._parser.read, raw)
                refusal = await self._database.write(inbox.add, mail, now)
        except Unwanted as reason:
            _log.info("nothing is done with a mail: %s", reason)
            return False
        if refusal:
            _log.info("nothing is done with a mail: %s", refusal)
        return True

    async def run(self, pause: float = PAUSE) -> None:
        """Act on stored mails, one after the other, until cancelled."""
        await background.repeat(self._act_on_waiting, "the inbox", pause)

    async def _act_on_waiting(self) -> None:
        while waiting := self._database.read_now(inbox.next_waiting):
            await self._act(*waiting)

    async def _act(self, mail_id: int, mail: ReceivedMail) -> None:
        """Act on a mail. Raise DatabaseError; then it waits."""
        now = self._clock.now_ms()
        try:
            if mail.expires_day * DAY_MS <= now:
                raise CommentsError("the mail that it answers is too old")
            if mail.purpose == MODERATE:
                await self._database.write(self._moderate, mail_id, mail, now)
            elif mail.purpose == ANSWER_NOTE:
                await self._database.write(self._answer_note, mail_id, mail, now)
            else:
                await self._reply(mail_id, mail, now)
        except (NotActedOn, NotPermitted) as reason:
            _log.info("nothing is done with a mail: %s", reason)
            await self._database.write(inbox.finish, mail_id, now)
        except DatabaseError:
            raise
        except (LinkExpired, CommentsError, SubmissionError) as reason:
            _log.info("nothing is done with a mail: %s", reason)
            await self._database.write(self._refuse, mail_id, mail, now)
        except Exception:  # a bug in one mail must not delay the others
            _log.exception("a mail cannot be acted on")
            await self._database.write(inbox.finish, mail_id, now)

    def _moderate(self, tx: Transaction, mail_id: int, mail: ReceivedMail, now: int) -> None:
        """Decide on a comment, or answer it. Raise NotActedOn, LinkExpired, CommentsError."""
        address = self._moderator(mail)
        entry = queries.get(tx, mail.comment_id)
        if entry.site not in self._sites:
            raise NotActedOn(f"no [[site]] is called {entry.site} any more")
        profile = profiles.of_address(tx, address)
        if profile and not profile.is_verified:
            raise CommentsError(f"{profile.name} has not confirmed the address {address}")
        if profile and not profile.decides_by_mail(entry.site):
            raise NotPermitted(f"{profile.name} may not decide on comments of {entry.site}")
        if mail.doubt == UNREADABLE:
            raise CommentsError("the mail cannot be read")
        self._use(tx, mail, now)
        wants = _meaning(mail)
        about, kind = mail.comment_id, "decided"
        if wants.status:
            changes.change(tx, [mail.comment_id], wants.status, address, now)
        if wants.text != Wish.NOTHING:
            if profile is None:
                raise CommentsError(f"no account has the address {address}")
            is_held = wants.text == Wish.HOLD
            text = self._parser.without_addresses(mail.words) if is_held else mail.words
            message = message_from_text(text, self._bounds)
            status = PENDING if is_held else APPROVED
            answer = authorized.answer(
                tx, profile.actor, mail.comment_id, message, now, status=status
            )
            about, kind = answer.comment.id, "held" if is_held else "answered"
        outbox.mail(tx, kind, MailAddress(address, self._language), now, about=about)
        inbox.finish(tx, mail_id, now)

    def _answer_note(self, tx: Transaction, mail_id: int, mail: ReceivedMail, now: int) -> None:
        """Mail a moderator's answer to the reader of a private note, or only note that it is done.

        Raise NotActedOn, LinkExpired, CommentsError, SubmissionError.
        """
        address = self._moderator(mail)
        note = private_notes.find(tx, mail.comment_id)
        if note is None or note.site not in self._sites:
            raise NotActedOn("the private note was deleted")
        profile = profiles.of_address(tx, address)
        if profile and not profile.decides_by_mail(note.site):
            raise NotPermitted(f"{profile.name} may not answer notes of {note.site} by mail")
        if mail.doubt:
            raise CommentsError("the words of the mail are not certain")
        self._use(tx, mail, now)
        wants = meaning(mail.words)
        if wants.status:
            state = SPAM if wants.status == SPAM else DONE
            private_notes.move(tx, note, state, address, now)
        elif wants.text == Wish.HOLD:
            raise CommentsError("it is not certain what the mail wants")
        else:
            text = message_from_text(self._parser.without_addresses(mail.words), self._bounds)
            private_notes.answer(tx, note, text, address, now)
        inbox.finish(tx, mail_id, now)

    async def _reply(self, mail_id: int, mail: ReceivedMail, now: int) -> None:
        """Submit a reader's reply. Raise NotActedOn, CommentsError, SubmissionError."""
        entry = await self._database.read(queries.find, mail.comment_id)
        own_id = entry.comment.parent_id if entry else None
        own = await self._database.read(queries.find, own_id or 0)
        row = await self._database.read(subscriptions.subscriber, own_id or 0)
        if entry is None or own is None or row is None or row[2] != CONFIRMED:
            raise NotActedOn("who wrote it is told of replies no more")
        email, options = row[1], self._sites.get(entry.site)
        if options is None:
            raise NotActedOn(f"no [[site]] is called {entry.site} any more")
        if options.members_only and own.comment.reader_id is None:
            raise CommentsError("only readers who have signed in may write there")
        if mail.doubt:
            raise CommentsError("the words of the mail are not certain")
        if wants_removal(mail.words):
            raise CommentsError("it may ask for no more mails")
        if mail.recipient != digest_of(email):
            raise NotActedOn("the mail that it answers went to somebody else")
        language = await self._database.read(subscriptions.language_of, own.comment.id, "confirm")
        key = f"{mail.comment_id} {mail.outbox_id}".encode()
        submission = Submission(
            page=(entry.site, entry.url),
            author=own.comment.author,
            message=message_from_text(mail.words, self._bounds),
            email=email,
            avatar=avatar(email),
            site="" if options.asks.site == HIDDEN else own.comment.site,
            parent=entry.comment.id,
            title="",
            # Each mail is answered once; nobody else can know the key.
            key=hashlib.blake2b(key, key=self._secret, digest_size=16).hexdigest(),
            honeypot="",
            notify=True,
            form_token=None,
            language=language,
            reader_id=own.comment.reader_id,
        )
        # Each address counts as a network of its own.
        stored = await self._submissions.submit(submission, b"@" + mail.recipient)

        def conclude(tx: Transaction) -> None:
            self._use(tx, mail, now)
            outbox.mail(tx, "replied", MailAddress(email, language), now, about=stored.comment.id)
            inbox.finish(tx, mail_id, now)

        await self._database.write(conclude)

    def _refuse(self, tx: Transaction, mail_id: int, mail: ReceivedMail, now: int) -> None:
        """Mail the sender of an answer that it could not be acted on."""
        recipient, language = "", self._language
        entry = None if mail.purpose == ANSWER_NOTE else queries.find(tx, mail.comment_id)
        if mail.purpose != REPLY:
            recipient = next(
                (each for each in self._moderators if mail.recipient == digest_of(each)), ""
            )
        elif entry and (row := subscriptions.subscriber(tx, entry.comment.parent_id or 0)):
            recipient = (
                row[1] if row[2] == CONFIRMED and mail.recipient == digest_of(row[1]) else ""
            )
            language = subscriptions.language_of(tx, entry.comment.id, "reply")
        if entry and recipient:
            outbox.mail(
                tx, "refused", MailAddress(recipient, language), now, about=entry.comment.id
            )
        if mail.purpose == ANSWER_NOTE and recipient and private_notes.find(tx, mail.comment_id):
            to = MailAddress(recipient, language)
            outbox.mail(tx, outbox.NOTE_REFUSED, to, now, about=mail.comment_id)
        inbox.finish(tx, mail_id, now)

    def _moderator(self, mail: ReceivedMail) -> str:
        """Return the moderator who got the mail that is answered. Raise NotActedOn."""
        for address in self._moderators:
            if mail.recipient == digest_of(address):
                return address
        raise NotActedOn("who wrote it is no moderator any more")

    def _use(self, tx: Transaction, mail: ReceivedMail, now: int) -> None:
        """Note that a mail of ours was answered. Raise LinkExpired if it was answered before."""
        kept = max(mail.expires_day * DAY_MS - now, DAY_MS)
        what = f"answer by mail {mail.purpose} {mail.comment_id} {mail.outbox_id}"
        signed_links.mark_used(tx, what, now, kept)


def _meaning(mail: ReceivedMail) -> Meaning:
    """Return what a moderator's mail means, if its words are what they seem."""
    wants = meaning(mail.words)
    if mail.doubt == UNCERTAIN:
        return Meaning("", Wish.HOLD)
    if mail.doubt == QUOTING and wants.text == Wish.PUBLISH:
        return Meaning("", Wish.HOLD)
    return wants
