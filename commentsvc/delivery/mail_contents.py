"""The contents of mails: what the template of each kind shows, looked up when the mail is sent.

All words of readers are quoted: in the text with ">", in the HTML inside a frame, after
`markup.markdown` has sanitized them. What strangers may choose outside of a quotation is one line
of a bounded length.
"""

from datetime import UTC, datetime
from html import escape
from typing import Any, Final, NamedTuple

import msgspec

from commentsvc.auth import account_mails, invitations
from commentsvc.auth.reply_addresses import ANSWER_NOTE, MODERATE, REPLY
from commentsvc.auth.signed_links import OWN_DAYS, SignedLinks
from commentsvc.comments import queries
from commentsvc.comments.submission import TITLE_LENGTH
from commentsvc.db.connection import Snapshot
from commentsvc.db.schema.comments import CommentTable
from commentsvc.db.schema.notes import PrivateNote
from commentsvc.db.schema.outbox import ASKED, CONFIRMED, OutboxRow
from commentsvc.delivery.decision_links import DecisionLink, DecisionLinks
from commentsvc.feedback import reports
from commentsvc.markup import markdown
from commentsvc.model import APPROVED, DELETED, NEW, PENDING, SPAM, Entry, fragment
from commentsvc.moderation import (
    lists,
    notices,
    personal_data,
    private_notes,
    profiles,
)
from commentsvc.moderation.permissions import Permission, site_ids
from commentsvc.moderation.profiles import Profile
from commentsvc.outbox import REMOVED, REPORT_DECIDED
from commentsvc.readers import accounts, follows, mailed_comments, subscriptions
from commentsvc.readers.follows import Follower
from commentsvc.settings.schema import Settings, Site
from commentsvc.util.i18n import gettext as _
from commentsvc.util.i18n import spoken
from commentsvc.util.text import one_line, readable_address
from commentsvc.util.timestamps import DAY_MS, rfc3339

# An unanswered question is asked again with the next comment after so many days.
CONFIRM_DAYS: Final = 30
# The days for which a link to unsubscribe works: as long as a mail may be in a mailbox.
STOP_DAYS: Final = 3_650
# Days for which an author may answer the mail about a reply.
REPLY_DAYS: Final = 90
# Characters of what strangers may choose and a mail shows outside of a quotation.
AUTHOR_LENGTH: Final = 200
ADDRESS_LENGTH: Final = 200
MOST_QUOTED: Final = 50  # comments quoted in one digest; further ones are only counted
COUNTED: Final = 10_000  # comments that are counted at most
QUOTED: Final = 4_000  # characters of a comment; some mail servers refuse very long mails

# What was decided about a comment.
OUTCOMES: Final = {
    PENDING: _("The comment is waiting for approval."),
    APPROVED: _("The comment is published."),
    SPAM: _("The comment is marked as spam."),
    DELETED: _("The comment is deleted."),
}

Values = dict[str, Any]  # Any: what templates show


class Answerable(NamedTuple):
    """That a mail may be answered until a time (Unix ms), and the purpose of the reply address."""

    purpose: int
    expires: int


class MailContent(NamedTuple):
    """What a mail shows.

    `values` are those of its template; `stop` among them is a link to unsubscribe. `subject` is for
    the placeholders of the subject, `number` for its plural. `about` is a comment of the thread
    that the mail belongs to, `site` that of a private note. `recipient` is "" for the one of the
    row.
    """

    values: Values
    about: Entry | None = None
    subject: dict[str, str] | None = None
    number: int = 0
    recipient: str = ""
    answerable: Answerable | None = None
    site: str = ""


class MailContents:
    """Looks up the contents of mails. Each method gives None if there is nothing to tell any more.

    The language of the recipient is spoken while they run.
    """

    def __init__(self, settings: Settings, links: SignedLinks) -> None:
        self._takes_answers = bool(settings.inbox.address)
        self._moderators = settings.mail.moderators
        self._base = settings.server.public_url.rstrip("/")
        self._sites = {site.name: site for site in settings.sites}
        self._links = links
        self._decisions = DecisionLinks(settings, links)

    def test(self, _snapshot: Snapshot | None = None, _row: OutboxRow | None = None) -> MailContent:
        """Return the content of the mail that shows that mail works."""
        return MailContent({"base": self._base})

    def submitted(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return the content about a new comment, for a moderator."""
        entry = queries.find(snapshot, row.comment_id or 0)
        who = profiles.of_address(snapshot, row.recipient)
        if entry is None or not (who is None or who.actor.sees(entry.site)):
            return None
        may_decide = who is None or who.decides_by_mail(entry.site)
        may_answer = may_decide and entry.comment.status in (PENDING, APPROVED)
        return MailContent(
            {
                "comments": [self._for_moderator(who, entry, row)],
                "number": 1,
                "may_answer": self._takes_answers and may_answer,
                "account": self._to_confirm(who),
            },
            entry,
            self._named(entry),
            answerable=Answerable(MODERATE, self._decisions.expires(row)) if may_decide else None,
        )

    def reported(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return the content about a comment that readers reported, for a moderator."""
        number = row.comment_id or 0
        found = reports.of_comments(snapshot, [number]).get(number)
        content = self.submitted(snapshot, row) if found else None
        return content and content._replace(values=content.values | {"reports": found})

    def decided(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return what was decided, for a reporter, for who objected, or for the author.

        Nobody has confirmed the address, so there are no words of readers. Both may object: the
        author to the removal, and a reporter if the comment stays.
        """
        entry = queries.find(snapshot, row.comment_id or 0)
        if entry is None:
            return None
        status, was_removed = entry.comment.status, row.kind.startswith(REMOVED)
        if was_removed and (status != DELETED or entry.comment.email != row.recipient):
            return None
        may_object = was_removed or (row.kind == REPORT_DECIDED and status == APPROVED)
        expires = row.created_at + notices.OBJECTION_MS
        about = (status, entry.comment.id, row.recipient, row.id)
        page = self._page(entry) or one_line(entry.url)
        said = notices.statement(snapshot, row.id)
        values = {
            "page": _bounded(page, entry.site),
            "ground": said.ground if said and status == DELETED else "",
            "statement": _quoted(said.message) if said and said.message else None,
            "checked": bool(lists.verdicts_of(snapshot, [entry.comment.id])),
            "day": rfc3339(entry.comment.created_at)[:10],
            "outcome": "" if was_removed else OUTCOMES[status],
            "reason": reports.NAMES.get(row.kind.partition("-")[2], "") if was_removed else "",
            "link": self._link("object", *about, expires=expires) if may_object else "",
            "link_days": notices.OBJECTION_DAYS,
        }
        return MailContent(values, entry)

    def digest(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return the content about all comments of a period, for a moderator."""
        who = profiles.of_address(snapshot, row.recipient)
        new = CommentTable.select(CommentTable.id).where(
            CommentTable.id.between(row.comment_id, row.last_comment_id),
            CommentTable.status.in_([PENDING, APPROVED]),
        )
        if who is not None and who.actor.sites is not None:
            new = new.where(CommentTable.site.in_(site_ids(snapshot, who.actor.sites)))
        rows = snapshot.query(new.order_by(CommentTable.id).limit(COUNTED))
        found = [queries.find(snapshot, number) for (number,) in rows[:MOST_QUOTED]]
        entries = [entry for entry in found if entry]
        if not entries:
            return None
        values = {
            "comments": [self._for_moderator(who, entry, row) for entry in entries],
            "number": len(rows),
            "may_answer": False,
            "account": self._to_confirm(who),
        }
        return MailContent(values, entries[0], number=len(rows))

    def note(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return the content about a private note that waits, for a moderator of its site."""
        note = private_notes.find(snapshot, row.note_id or 0)
        who = profiles.of_address(snapshot, row.recipient)
        if note is None or note.state != NEW or not _decides(who, note.site):
            return None
        by_mail = bool(note.email) and (who is None or who.is_verified)
        expires = self._decisions.expires(row)
        content = self._about_note(note)
        may = {"may_answer": self._takes_answers and by_mail, "account": self._to_confirm(who)}
        return content._replace(
            values=content.values | may,
            answerable=Answerable(ANSWER_NOTE, expires) if by_mail else None,
        )

    def notes(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return how many private notes wait for a moderator."""
        who = profiles.of_address(snapshot, row.recipient)
        if who is not None and not who.actor.may(Permission.DECIDE):
            return None
        sites = None if who is None else who.actor.sites
        number = private_notes.count_new(snapshot, sites)
        values = {"look": f"{self._base}/moderation/notes"}
        return MailContent(values, number=number) if number else None

    def note_answer(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return a moderator's answer to a private note, for its reader.

        Nobody has confirmed the address, so the words of the note are not repeated.
        """
        note = private_notes.find(snapshot, row.note_id or 0)
        if note is None or not note.answer:
            return None
        page = self._address_of(note.site, note.url)
        values = {"answer": _quoted(note.answer), "page": _bounded(page, note.site)}
        return MailContent(values, site=note.site)

    def note_refused(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return that an answer by mail to a private note had no effect, for its sender."""
        note = private_notes.find(snapshot, row.note_id or 0)
        if note is None:
            return None
        content = self._about_note(note)
        return content._replace(values=content.values | {"refused": True}, subject=None)

    def _about_note(self, note: PrivateNote) -> MailContent:
        """Return what moderators are told of a private note."""
        title = one_line(note.title)[:TITLE_LENGTH] or readable_address(note.url, ADDRESS_LENGTH)
        author = one_line(note.author)[:AUTHOR_LENGTH]
        values = {
            "author": author,
            "email": note.email,
            "quote_of": _quoted(note.quote),
            "message": _quoted(note.message),
            "page": self._address_of(note.site, note.url),
            "look": f"{self._base}/moderation/notes#note{note.id}",
            "refused": False,
            "may_answer": False,
            "account": "",
        }
        return MailContent(values, subject={"author": author, "title": title}, site=note.site)

    def confirm(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return the question whether an address is subscribed; it has no text by readers."""
        found = self._watched(snapshot, row.comment_id or 0, ASKED)
        if found is None:
            return None
        entry, number, email = found
        expires = row.created_at + CONFIRM_DAYS * DAY_MS
        values = {
            "page": _bounded(self._page(entry) or one_line(entry.url), entry.site),
            "link": self._link("confirm", number, expires=expires),
            "link_days": CONFIRM_DAYS,
        }
        return MailContent(values, entry, recipient=email)

    def published(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return the content for an author whose comment waited and is published now."""
        found = self._watched(snapshot, row.comment_id or 0, CONFIRMED)
        if found is None:
            return None
        entry, number, email = found
        values = self._linked(entry) | {"stop": self._stop("stop", number, row)}
        return MailContent(values, entry, self._named(entry), recipient=email)

    def reply(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return the content about a reply, for the author of its parent."""
        entry = queries.find(snapshot, row.comment_id or 0)
        if entry is None or entry.comment.status != APPROVED:
            return None
        found = self._watched(snapshot, entry.comment.parent_id or 0, CONFIRMED)
        if found is None:
            return None
        parent, number, email = found
        values = {
            **self._linked(entry),
            "answered": self._quote(parent),
            "stop": self._stop("stop", number, row),
            "may_answer": self._takes_answers,
        }
        answerable = Answerable(REPLY, row.created_at + REPLY_DAYS * DAY_MS)
        return MailContent(
            values, entry, self._named(entry), recipient=email, answerable=answerable
        )

    def own(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return the links to all that was written with an address, for that address."""
        if not personal_data.is_known(snapshot, row.recipient):
            return None
        expires = row.created_at + OWN_DAYS * DAY_MS
        return MailContent(
            {
                "export": self._link("export", row.recipient, expires=expires),
                "erase": self._link("erase", row.recipient, row.id, expires=expires),
                "link_days": OWN_DAYS,
            }
        )

    def invitation(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return the link of an invitation."""
        invitation = invitations.mailed_to(snapshot, row.recipient, row.created_at)
        if invitation is None:  # it was revoked
            return None
        token = invitation.token(self._links, invitation.email)
        until = datetime.fromtimestamp(invitation.expires_at // 1_000, UTC)
        return MailContent(
            {
                "actor": invitation.actor,
                "link": f"{self._base}/moderation/invitation?t={token}",
                "until": f"{until:%Y-%m-%d %H:%M} UTC",
            }
        )

    def confirm_address(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return the link that makes an address that of an account."""
        asked = account_mails.asked_by_mail(snapshot, row.recipient, row.created_at)
        if asked is None:  # it was confirmed, or another one asked for
            return None
        token = self._links.make(
            account_mails.CONFIRM_ADDRESS,
            asked.moderator_id,
            asked.at,
            expires=asked.at + account_mails.LINK_MS,
        )
        return MailContent({"link": f"{self._base}/moderation/confirm-address?t={token}"})

    def account_changed(self, _snapshot: Snapshot, _row: OutboxRow) -> MailContent:
        """Return the content about a change of an account."""
        return MailContent({"link": ""})

    def follow(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return the question whether an address follows a page or site."""
        follower = follows.asked(snapshot, row.recipient, row.created_at)
        if follower is None:
            return None
        expires = row.created_at + CONFIRM_DAYS * DAY_MS
        return MailContent(
            {
                "page": self._followed_page(follower),
                "link": self._link("follow", follower.id, expires=expires),
                "link_days": CONFIRM_DAYS,
            }
        )

    def followed(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return the content about new comments, for a follower."""
        follower = follows.mailed(snapshot, row.recipient, row.created_at)
        if follower is None:
            return None
        ids = follows.news(snapshot, follower, COUNTED)
        found = [queries.find(snapshot, number) for number in ids[:MOST_QUOTED]]
        entries = [entry for entry in found if entry]
        if not entries:
            return None
        values = {
            "comments": [
                self._quote(entry) | {"link": self._page(entry) + fragment(entry.comment.id)}
                for entry in entries
            ],
            "page": self._followed_page(follower),
            "stop": self._stop("unfollow", follower.id, row),
        }
        return MailContent(values, entries[0], number=len(ids))

    def sign_in(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return the link that signs a reader in."""
        link = accounts.link_mailed(snapshot, row.recipient, row.created_at)
        if link is None:
            return None
        expires = row.created_at + accounts.LINK
        token = self._links.make("sign-in", link.id, row.created_at, expires=expires)
        return MailContent(
            {"page": link.page, "link": f"{self._base}/reader/link?t={token}&lang={spoken().tag}"}
        )

    def mailed(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return the link that sends a comment which came by mail; it has no text of that mail."""
        waiting = mailed_comments.mailed(snapshot, row.recipient, row.created_at)
        if waiting is None:
            return None
        expires = row.created_at + mailed_comments.TIME
        link = self._link("submit", waiting.id, row.created_at, expires=expires)
        origin = self._sites.get(waiting.site, Site()).origin
        values = {
            "page": _bounded(origin + waiting.url, origin) or waiting.site,
            "link": link if waiting.words else "",
        }
        return MailContent(values)

    def received(self, snapshot: Snapshot, row: OutboxRow) -> MailContent | None:
        """Return what became of an answer by mail, for its sender."""
        entry = queries.find(snapshot, row.comment_id or 0)
        if entry is None:
            return None
        comment = entry.comment
        decides = row.recipient in self._moderators
        is_held = row.kind == "held" and comment.status == PENDING
        approves = row.kind == "decided" and comment.status == APPROVED
        who = profiles.of_address(snapshot, row.recipient) if approves else None
        own = self._watched(snapshot, comment.parent_id or 0, CONFIRMED)
        is_theirs = row.kind == "refused" and own is not None and own[2] == row.recipient
        values = {
            **self._linked(entry),
            "refused": row.kind == "refused",
            "actions": self._decisions.of(comment, row, spoken().tag) if is_held else [],
            "answer": self._answer_link(who, comment.id, row) if who else "",
            "look": f"{self._base}/moderation/comment?id={comment.id}" if decides else "",
            "stop": self._stop("stop", own[1], row) if own and is_theirs else "",
        }
        return MailContent(values, entry)

    def _watched(
        self, snapshot: Snapshot, comment_id: int, consent: str
    ) -> tuple[Entry, int, str] | None:
        """Return a visible comment, and the id and address of the author who waits for answers."""
        entry, row = (
            queries.find(snapshot, comment_id),
            subscriptions.subscriber(snapshot, comment_id),
        )
        if entry is None or entry.comment.status != APPROVED or row is None or row[2] != consent:
            return None
        return entry, row[0], row[1]

    def _named(self, entry: Entry) -> dict[str, str]:
        """Return what subjects say of a comment."""
        return {"author": _author(entry), "title": self._title(entry)}

    def _quote(self, entry: Entry) -> Values:
        """Return the values that templates show of a comment."""
        comment = entry.comment
        html = comment.html
        if "<img" in html:  # a mail must load nothing; descriptions of pictures stay
            html = markdown.render(comment.source)
        return {
            "comment": msgspec.structs.replace(comment, author=_author(entry)),
            "html": markdown.absolute(html, self._page(entry)),
            "source": comment.source[:QUOTED],
            "cut": len(comment.source) > QUOTED,
            "title": self._title(entry),
            "page": self._page(entry),
        }

    def _linked(self, entry: Entry) -> Values:
        """Return the quotation of a comment, and its address."""
        page = self._page(entry)
        return {
            "quotation": self._quote(entry),
            "page": page and page + fragment(entry.comment.id),
        }

    def _for_moderator(self, who: Profile | None, entry: Entry, row: OutboxRow) -> Values:
        """Return the values that templates show a moderator of a comment.

        There are decision links unless the account `who` may not decide; None is no account.
        """
        comment = entry.comment
        if who is not None and not who.decides_by_mail(entry.site):
            return self._quote(entry) | {"actions": []}
        actions = self._decisions.of(comment, row, spoken().tag)
        if comment.status in (PENDING, APPROVED):
            link = self._answer_link(who, comment.id, row)
            # What a moderator most likely wants comes first.
            first = 0 if comment.status == APPROVED else len(actions)
            actions.insert(first, DecisionLink(str(_("Answer")), link))
        return self._quote(entry) | {"actions": actions}

    def _to_confirm(self, who: Profile | None) -> str:
        """Return the address of the account page, where `who` confirms an address; "" if not."""
        return f"{self._base}/moderation/account" if who and not who.is_verified else ""

    def _answer_link(self, who: Profile | None, comment_id: int, row: OutboxRow) -> str:
        """Return the link for an answer of the account `who`; without one it needs a sign-in."""
        if who is None:
            return f"{self._base}/moderation/comment?id={comment_id}#answer"
        expires = self._decisions.expires(row)
        return self._link("answer", comment_id, who.email, row.id, expires=expires)

    def _stop(self, purpose: str, number: int, row: OutboxRow) -> str:
        """Return the link to unsubscribe."""
        return self._link(purpose, number, expires=row.created_at + STOP_DAYS * DAY_MS)

    def _link(self, purpose: str, *content: int | str, expires: int) -> str:
        return self._decisions.page(purpose, *content, expires=expires, language=spoken().tag)

    def _followed_page(self, follower: Follower) -> str:
        """Return the address of the page or site; anybody may ask for a page that is not there."""
        origin = self._sites.get(follower.site, Site()).origin
        return _bounded(origin + follower.url, origin) or follower.site

    def _address_of(self, site: str, url: str) -> str:
        """Return the address of a page; "" for a site without one."""
        origin = self._sites.get(site, Site()).origin
        return origin and origin + one_line(url)

    def _title(self, entry: Entry) -> str:
        title = one_line(entry.title)[:TITLE_LENGTH]
        return title or readable_address(one_line(entry.url), ADDRESS_LENGTH)

    def _page(self, entry: Entry) -> str:
        return self._address_of(entry.site, entry.url)


def _author(entry: Entry) -> str:
    """Return the name of a comment's author as one bounded line, wherever it came from."""
    return one_line(entry.comment.author)[:AUTHOR_LENGTH]


def _decides(who: Profile | None, site: str) -> bool:
    """Return whether a moderator of the settings may decide on a site; None is no account."""
    return who is None or who.actor.may_decide(site)


def _quoted(text: str) -> Values:
    """Return the values with which templates quote a text that is no comment."""
    html = "<br>".join(map(escape, text[:QUOTED].split("\n")))
    return {"source": text[:QUOTED], "html": f"<p>{html}</p>", "cut": len(text) > QUOTED}


def _bounded(address: str, otherwise: str) -> str:
    """Return an address that is shown as a text, or something else if it is very long."""
    return address if len(address) <= ADDRESS_LENGTH else otherwise
