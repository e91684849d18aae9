"""Mail: turns a row of the outbox into a mail, as plain text and HTML.

The content is looked up when the mail is sent. All words of readers are quoted: in the text with
">", in the HTML inside a frame, after `markup.markdown` has sanitized them. A mail loads no
pictures, so nobody learns when it is read. The standard library's email policy makes the headers.
It refuses line breaks, but decodes encoded words (RFC 2047), which can contain some. So names and
titles are made one line, and `=?`, the beginning of an encoded word, is broken up, before it gets
them; `smtp` checks once more.

The Message-ID is made from the row, so it is the same for every attempt. Mails about one page refer
to the same message, which does not exist, so that mail programs show them as a thread.
"""

import re
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from commentsvc.auth import account_mails, invitations
from commentsvc.auth.reply_addresses import MODERATE, REPLY, ReplyAddresses
from commentsvc.auth.signed_links import OWN_DAYS, SignedLinks
from commentsvc.comments import queries
from commentsvc.comments.submission import TITLE_LENGTH
from commentsvc.db.connection import Reader
from commentsvc.db.schema.comments import CommentTable
from commentsvc.db.schema.outbox import ASKED, CONFIRMED, OutboxRow
from commentsvc.model import APPROVED, DELETED, PENDING, SPAM, Entry, fragment
from commentsvc.moderation import personal_data, profiles
from commentsvc.moderation.permissions import site_ids
from commentsvc.moderation.profiles import Profile
from commentsvc.outbox.channel import DeliveryRejected
from commentsvc.outbox.decision_links import LINK_DAYS, DecisionLink, DecisionLinks
from commentsvc.outbox.smtp import Envelope
from commentsvc.readers import accounts, follows, subscriptions
from commentsvc.readers.follows import Follower
from commentsvc.settings.schema import Settings, Site
from commentsvc.util.i18n import (
    Message,
    find_language,
    moderators_language,
    ngettext,
    speaking,
    spoken,
)
from commentsvc.util.i18n import gettext as _
from commentsvc.util.origin import deliverable
from commentsvc.util.templates import Templates
from commentsvc.util.text import one_line
from commentsvc.util.timestamps import DAY_MS

# An unanswered question is asked again with the next comment after so many days.
CONFIRM_DAYS: Final = 30
# The days for which a link to unsubscribe works: as long as a mail may be in a mailbox.
STOP_DAYS: Final = 3_650
SUBJECT_LENGTH: Final = 150  # characters: titles of pages may be very long
# Characters of what strangers may choose and a mail shows outside of a quotation.
AUTHOR_LENGTH: Final = 200
ADDRESS_LENGTH: Final = 200
TOLD: Final = 50  # comments quoted in one digest; further ones are only counted
COUNTED: Final = 10_000  # comments that are counted at most
TEMPLATES: Final = {
    "submitted": "submitted.jinja",
    "digest": "submitted.jinja",
    "confirm": "confirm.jinja",
    "published": "published.jinja",
    "reply": "reply.jinja",
    "own": "own.jinja",
    "invitation": "invitation.jinja",
    "follow": "follow.jinja",
    "followed": "followed.jinja",
    "sign-in": "sign_in.jinja",
    "test": "test.jinja",
    **dict.fromkeys((account_mails.CONFIRM_ADDRESS, *account_mails.CHANGES), "account.jinja"),
    "decided": "received.jinja",
    "answered": "received.jinja",
    "replied": "received.jinja",
    "refused": "received.jinja",
    "held": "received.jinja",
}
# Notices, of which many may come: answering machines leave those alone that have this field. The
# other mails have been asked for by their recipient, and must not be filed as bulk.
BULK: Final = frozenset(("submitted", "digest", "published", "reply", "followed"))
# Days for which an author may answer the mail about a reply.
REPLY_DAYS: Final = 90
_IS_NOW: Final = {
    PENDING: _("The comment is waiting for approval."),
    APPROVED: _("The comment is published."),
    SPAM: _("The comment is marked as spam."),
    DELETED: _("The comment is deleted."),
}
# The result of an answer by mail, by its kind and the current status of the comment.
RECEIVED: Final = {
    "decided": _IS_NOW,
    "answered": _IS_NOW | {APPROVED: _("Your answer is published.")},
    "replied": _IS_NOW
    | {
        PENDING: _("Your reply is waiting for approval."),
        APPROVED: _("Your reply is published."),
    },
    "held": _IS_NOW
    | {
        PENDING: _("Your answer waits for you"),
        APPROVED: _("Your answer is published."),
    },
    "refused": dict.fromkeys(_IS_NOW, _("Your mail had no effect")),
}
# The kinds whose rows have the language.
OF_ROW: Final = (
    *("own", "invitation", "follow", "followed", "sign-in", *RECEIVED),
    *(account_mails.CONFIRM_ADDRESS, *account_mails.CHANGES),
)
QUOTED: Final = 4_000  # characters of a comment; some mail servers refuse very long mails

# Empty lines that templates leave. Quotations have none: each of their lines begins with ">".
_GAPS: Final = re.compile(r"\n{3,}")


class MailComposer:
    """Makes the mails of one service."""

    def __init__(self, settings: Settings, links: SignedLinks) -> None:
        """Take the settings, and the signer of links."""
        self._answered_to = settings.inbox.address
        self._reply_addresses = ReplyAddresses(links.keys, settings.inbox.address)
        self._mail = settings.mail
        self._base = settings.server.public_url.rstrip("/")
        self._sites = {site.name: site for site in settings.sites}
        self._links = links
        self._decisions = DecisionLinks(settings, links)
        self._domain = deliverable(settings.mail.sender).rpartition("@")[2]
        self._kinds = {
            "submitted": self._submitted,
            "digest": self._digest,
            "confirm": self._confirm,
            "published": self._published,
            "reply": self._reply,
            "own": self._own,
            "invitation": self._invitation,
            "follow": self._follow,
            "followed": self._followed,
            "sign-in": self._sign_in,
            account_mails.CONFIRM_ADDRESS: self._confirm_address,
            **dict.fromkeys(account_mails.CHANGES, self._account_changed),
            "decided": self._received,
            "answered": self._received,
            "replied": self._received,
            "refused": self._received,
            "held": self._received,
        }

    @property
    def hostname(self) -> str:
        """The host name for the greeting (EHLO) to mail servers."""
        return urlsplit(self._base).hostname or "localhost"

    def compose(self, reader: Reader, post: OutboxRow) -> Envelope | None:
        """Return the letter that a row of the outbox stands for; None if it has nothing to tell.

        Moderators get theirs in the language of the settings, authors in the one they wrote in.
        """
        if post.kind in ("submitted", "digest"):
            tag = moderators_language(self._mail.language).tag
        elif post.kind in OF_ROW:
            tag = post.language
        else:
            tag = subscriptions.language_of(reader, post.comment_id or 0, post.kind)
        with speaking(find_language(tag)):
            return self._kinds[post.kind](reader, post)

    def test(self, recipient: str, number: int, now: int) -> Envelope:
        """Return a letter that shows that mail works; `number` makes it unlike others."""
        with speaking(moderators_language(self._mail.language)):
            subject = _("Mail from commentsvc works")
            return self._letter("test", recipient, subject, number, now, None, base=self._base)

    def _submitted(self, reader: Reader, post: OutboxRow) -> Envelope | None:
        """Return the mail about a new comment, to a moderator."""
        entry = queries.find(reader, post.comment_id or 0)
        who = profiles.of_address(reader, post.recipient)
        if entry is None or not (who is None or who.actor.sees(entry.site)):
            return None
        may_decide = who is None or who.decides_by_mail(entry.site)
        may_answer = may_decide and entry.comment.status in (PENDING, APPROVED)
        subject = _(
            "%(author)s commented on “%(title)s”",
            author=_author(entry),
            title=self._title(entry),
        )
        letter = self._letter(
            "submitted",
            post.recipient,
            subject,
            post.id,
            post.created_at,
            entry,
            comments=[self._for_moderator(who, entry, post)],
            number=1,
            may_answer=bool(self._answered_to) and may_answer,
            account=self._to_confirm(who),
        )
        expires = self._decisions.expires(post)
        return self._answerable(letter, MODERATE, post, expires) if may_decide else letter

    def _digest(self, reader: Reader, post: OutboxRow) -> Envelope | None:
        """Return the mail about all comments of a period, to a moderator."""
        who = profiles.of_address(reader, post.recipient)
        new = CommentTable.select(CommentTable.id).where(
            CommentTable.id.between(post.comment_id, post.last_comment_id),
            CommentTable.status.in_([PENDING, APPROVED]),
        )
        if who is not None and who.actor.sites is not None:
            new = new.where(CommentTable.site.in_(site_ids(reader, who.actor.sites)))
        rows = reader.query(new.order_by(CommentTable.id).limit(COUNTED))
        found = [queries.find(reader, number) for (number,) in rows[:TOLD]]
        entries = [entry for entry in found if entry]
        if not entries:
            return None
        number = len(rows)
        subject = ngettext("%(num)s new comment", "%(num)s new comments", number)
        return self._letter(
            "digest",
            post.recipient,
            subject,
            post.id,
            post.created_at,
            entries[0],
            comments=[self._for_moderator(who, entry, post) for entry in entries],
            number=number,
            may_answer=False,
            account=self._to_confirm(who),
        )

    def _confirm(self, reader: Reader, post: OutboxRow) -> Envelope | None:
        """Return the mail that asks an address to confirm; it contains no text by readers."""
        found = self._watched(reader, post.comment_id or 0, ASKED)
        if found is None:
            return None
        entry, number, email = found
        expires = post.created_at + CONFIRM_DAYS * DAY_MS
        return self._letter(
            "confirm",
            email,
            _("Do you want a mail when someone replies to you?"),
            post.id,
            post.created_at,
            entry,
            page=_bounded(self._page(entry) or one_line(entry.url), entry.site),
            link=self._link("confirm", number, expires=expires),
            link_days=CONFIRM_DAYS,
        )

    def _published(self, reader: Reader, post: OutboxRow) -> Envelope | None:
        """Return the mail to an author whose comment waited and is published now (RFC 8058)."""
        found = self._watched(reader, post.comment_id or 0, CONFIRMED)
        if found is None:
            return None
        entry, number, email = found
        stop = self._link("stop", number, expires=post.created_at + STOP_DAYS * DAY_MS)
        page = self._page(entry)
        letter = self._letter(
            "published",
            email,
            _("Your comment on “%(title)s” is published", title=self._title(entry)),
            post.id,
            post.created_at,
            entry,
            quotation=self._quote(entry),
            page=page and page + fragment(entry.comment.id),
            stop=stop,
        )
        return _with_stop(letter, stop)

    def _reply(self, reader: Reader, post: OutboxRow) -> Envelope | None:
        """Return the mail about a reply, with a link to unsubscribe (RFC 8058)."""
        entry = queries.find(reader, post.comment_id or 0)
        if entry is None or entry.comment.status != APPROVED:
            return None
        found = self._watched(reader, entry.comment.parent_id or 0, CONFIRMED)
        if found is None:
            return None
        parent, number, email = found
        stop = self._link("stop", number, expires=post.created_at + STOP_DAYS * DAY_MS)
        subject = _(
            "%(author)s replied to you on “%(title)s”",
            author=_author(entry),
            title=self._title(entry),
        )
        page = self._page(entry)
        letter = self._letter(
            "reply",
            email,
            subject,
            post.id,
            post.created_at,
            entry,
            quotation=self._quote(entry),
            answered=self._quote(parent),
            page=page and page + fragment(entry.comment.id),
            stop=stop,
            may_answer=bool(self._answered_to),
        )
        return self._answerable(
            _with_stop(letter, stop), REPLY, post, post.created_at + REPLY_DAYS * DAY_MS
        )

    def _own(self, reader: Reader, post: OutboxRow) -> Envelope | None:
        """Return the mail with links to all that was written with an address, to that address."""
        if not personal_data.is_known(reader, post.recipient):
            return None
        expires = post.created_at + OWN_DAYS * DAY_MS
        return self._letter(
            "own",
            post.recipient,
            _("Your comments"),
            post.id,
            post.created_at,
            None,
            export=self._link("export", post.recipient, expires=expires),
            erase=self._link("erase", post.recipient, post.id, expires=expires),
            link_days=OWN_DAYS,
        )

    def _invitation(self, reader: Reader, post: OutboxRow) -> Envelope | None:
        """Return the mail with the link of an invitation."""
        invitation = invitations.mailed_to(reader, post.recipient, post.created_at)
        if invitation is None:  # it was revoked
            return None
        expires = invitation.expires_at
        token = self._links.make(
            invitations.PURPOSE, invitation.id, invitation.email, expires=expires
        )
        return self._letter(
            "invitation",
            post.recipient,
            _("An invitation to moderate comments"),
            post.id,
            post.created_at,
            None,
            actor=invitation.actor,
            link=f"{self._base}/moderation/invitation?t={token}",
            until=f"{datetime.fromtimestamp(expires // 1_000, UTC):%Y-%m-%d %H:%M} UTC",
        )

    def _confirm_address(self, reader: Reader, post: OutboxRow) -> Envelope | None:
        """Return the mail with the link that makes an address that of an account."""
        asked = account_mails.asked_by_mail(reader, post.recipient, post.created_at)
        if asked is None:  # it was confirmed, or another one asked for
            return None
        token = self._links.make(
            account_mails.CONFIRM_ADDRESS,
            asked.moderator_id,
            asked.at,
            expires=asked.at + account_mails.LINK_MS,
        )
        return self._letter(
            post.kind,
            post.recipient,
            account_mails.subject(post.kind),
            post.id,
            post.created_at,
            None,
            link=f"{self._base}/moderation/confirm-address?t={token}",
        )

    def _account_changed(self, _reader: Reader, post: OutboxRow) -> Envelope:
        """Return the mail about a change of an account."""
        subject = account_mails.subject(post.kind)
        return self._letter(
            post.kind, post.recipient, subject, post.id, post.created_at, None, link=""
        )

    def _follow(self, reader: Reader, post: OutboxRow) -> Envelope | None:
        """Return the mail that asks an address to confirm that it follows a page or site."""
        follower = follows.asked(reader, post.recipient, post.created_at)
        if follower is None:
            return None
        expires = post.created_at + CONFIRM_DAYS * DAY_MS
        return self._letter(
            "follow",
            post.recipient,
            _("Do you want mails about new comments?"),
            post.id,
            post.created_at,
            None,
            page=self._followed_page(follower),
            link=self._link("follow", follower.id, post.created_at, expires=expires),
            link_days=CONFIRM_DAYS,
        )

    def _sign_in(self, reader: Reader, post: OutboxRow) -> Envelope | None:
        """Return the mail with a link that signs a reader in."""
        link = accounts.link_mailed(reader, post.recipient, post.created_at)
        if link is None:
            return None
        token = self._links.make("sign-in", link.id, expires=post.created_at + accounts.LINK)
        return self._letter(
            "sign-in",
            post.recipient,
            _("Sign in"),
            post.id,
            post.created_at,
            None,
            page=link.page,
            link=f"{self._base}/reader/link?t={token}&lang={spoken().tag}",
        )

    def _followed(self, reader: Reader, post: OutboxRow) -> Envelope | None:
        """Return the mail about new comments to a follower, with an unsubscribe link (RFC 8058)."""
        follower = follows.mailed(reader, post.recipient, post.created_at)
        if follower is None:
            return None
        ids = follows.news(reader, follower, COUNTED)
        found = [queries.find(reader, number) for number in ids[:TOLD]]
        entries = [entry for entry in found if entry]
        if not entries:
            return None
        stop = self._link("unfollow", follower.id, expires=post.created_at + STOP_DAYS * DAY_MS)
        letter = self._letter(
            "followed",
            post.recipient,
            ngettext("%(num)s new comment", "%(num)s new comments", len(ids)),
            post.id,
            post.created_at,
            entries[0],
            comments=[
                self._quote(entry) | {"link": self._page(entry) + fragment(entry.comment.id)}
                for entry in entries
            ],
            page=self._followed_page(follower),
            stop=stop,
        )
        return _with_stop(letter, stop)

    def _followed_page(self, follower: Follower) -> str:
        """Return the address of the page or site; anybody may ask for a page that is not there."""
        origin = self._sites.get(follower.site, Site()).origin
        return _bounded(origin + follower.url, origin) or follower.site

    def _received(self, reader: Reader, post: OutboxRow) -> Envelope | None:
        """Return the mail that tells the sender of an answer by mail what became of it."""
        entry = queries.find(reader, post.comment_id or 0)
        if entry is None:
            return None
        page = self._page(entry)
        decides = any(post.recipient == address for address in self._mail.moderators)
        is_held = post.kind == "held" and entry.comment.status == PENDING
        approves = post.kind == "decided" and entry.comment.status == APPROVED
        who = profiles.of_address(reader, post.recipient) if approves else None
        return self._letter(
            post.kind,
            post.recipient,
            RECEIVED[post.kind][entry.comment.status],
            post.id,
            post.created_at,
            entry,
            refused=post.kind == "refused",
            actions=self._decisions.of(entry.comment, post, spoken().tag) if is_held else [],
            answer=self._answer_link(who, entry.comment.id, post) if who else "",
            quotation=self._quote(entry),
            page=page and page + fragment(entry.comment.id),
            look=f"{self._base}/moderation/comment?id={entry.comment.id}" if decides else "",
        )

    def _watched(
        self, reader: Reader, comment_id: int, consent: str
    ) -> tuple[Entry, int, str] | None:
        """Return a visible comment, and the id and address of the author who waits for answers."""
        entry, row = queries.find(reader, comment_id), subscriptions.subscriber(reader, comment_id)
        if entry is None or entry.comment.status != APPROVED or row is None or row[2] != consent:
            return None
        return entry, row[0], row[1]

    def _quote(self, entry: Entry) -> dict[str, Any]:  # Any: what templates show
        """Return the values that templates show of a comment."""
        comment = entry.comment
        return {
            "comment": msgspec.structs.replace(comment, author=_author(entry)),
            "source": comment.source[:QUOTED],
            "cut": len(comment.source) > QUOTED,
            "title": self._title(entry),
            "page": self._page(entry),
        }

    def _for_moderator(
        self, who: Profile | None, entry: Entry, post: OutboxRow
    ) -> dict[str, Any]:  # Any: what templates show
        """Return the values that templates show a moderator of a comment.

        There are decision links unless the account `who` may not decide; None is no account.
        """
        comment = entry.comment
        if who is not None and not who.decides_by_mail(entry.site):
            return self._quote(entry) | {"actions": []}
        actions = self._decisions.of(comment, post, spoken().tag)
        if comment.status in (PENDING, APPROVED):
            link = self._answer_link(who, comment.id, post)
            # What a moderator most likely wants comes first.
            first = 0 if comment.status == APPROVED else len(actions)
            actions.insert(first, DecisionLink(str(_("Answer")), link))
        return self._quote(entry) | {"actions": actions}

    def _to_confirm(self, who: Profile | None) -> str:
        """Return the address of the account page, where `who` confirms an address; "" if not."""
        return f"{self._base}/moderation/account" if who and not who.is_verified else ""

    def _answer_link(self, who: Profile | None, comment_id: int, post: OutboxRow) -> str:
        """Return the link for an answer of the account `who`; without one it needs a sign-in."""
        if who is None:
            return f"{self._base}/moderation/comment?id={comment_id}#answer"
        expires = self._decisions.expires(post)
        return self._link("answer", comment_id, who.email, post.id, expires=expires)

    def _answerable(
        self, letter: Envelope, purpose: int, post: OutboxRow, expires: int
    ) -> Envelope:
        """Return the mail with its own Reply-To address, if the settings allow answers by mail."""
        if self._answered_to:
            letter.message["Reply-To"] = self._reply_addresses.make(
                purpose, post.comment_id or 0, post.id, letter.recipient, expires
            )
        return letter

    def _link(self, purpose: str, *content: int | str, expires: int) -> str:
        return self._decisions.page(purpose, *content, expires=expires, language=spoken().tag)

    def _title(self, entry: Entry) -> str:
        title, url = one_line(entry.title), one_line(entry.url)
        return title[:TITLE_LENGTH] or _bounded(url, url[: ADDRESS_LENGTH - 1] + "…")

    def _page(self, entry: Entry) -> str:
        origin = self._sites.get(entry.site, Site()).origin
        return origin and origin + one_line(entry.url)

    def _letter(
        self,
        kind: str,
        recipient: str,
        subject: Message,
        serial: int,
        created: int,
        entry: Entry | None,
        **values: Any,  # Any: what the template shows
    ) -> Envelope:
        message = EmailMessage(policy=SMTP)
        site = self._sites.get(entry.site, Site()) if entry else next(iter(self._sites.values()))
        name = one_line(site.title) or site.name
        message["From"] = Address(_header_text(name), addr_spec=_addressed(self._mail.sender))
        message["To"] = Address(addr_spec=_addressed(recipient))
        message["Subject"] = _header_text(str(subject))[:SUBJECT_LENGTH]
        message["Date"] = datetime.fromtimestamp(created // 1_000, UTC)
        message["Message-ID"] = f"<{kind}.{serial}.{created}@{self._domain}>"
        if entry:
            message["References"] = f"<thread.{entry.comment.thread_id}@{self._domain}>"
        # No answering machine answers: RFC 3834, Exchange and Outlook, and old ones.
        message["Auto-Submitted"] = "auto-generated"
        message["X-Auto-Response-Suppress"] = "All"
        if kind in BULK:
            message["Precedence"] = "bulk"
        values |= {"subject": one_line(str(subject)), "site": name, "days": LINK_DAYS}
        text, html = (
            templates.render(TEMPLATES[kind], spoken(), **values)
            for templates in (_AS_TEXT, _AS_HTML)
        )
        message.set_content(_GAPS.sub("\n\n", text), cte="quoted-printable")
        message.add_alternative(html, subtype="html", cte="quoted-printable")
        return Envelope(self._mail.sender, recipient, message)


def _author(entry: Entry) -> str:
    """Return the name of a comment's author as one bounded line, wherever it came from."""
    return one_line(entry.comment.author)[:AUTHOR_LENGTH]


def _bounded(address: str, otherwise: str) -> str:
    """Return an address that is shown as a text, or something else if it is very long."""
    return address if len(address) <= ADDRESS_LENGTH else otherwise


def _addressed(address: str) -> str:
    """Return an address for a header field. Raise DeliveryRejected."""
    if not (found := deliverable(address)):
        raise DeliveryRejected(f"{address!r} is no address that mail can be sent to")
    return found


def _header_text(text: str) -> str:
    """Return `text` as one line without encoded words, for a header field."""
    return one_line(text).replace("=?", "= ?")


def _quoted(text: str) -> str:
    """Return a text with ">" before each line, so that no line looks like one of ours."""
    return "\n".join(f"> {each}".rstrip() for each in text.splitlines())


# Each mail is one template, which writes it as text and as HTML.
_AS_TEXT: Final = Templates(
    "mail", {"quoted": _quoted}, {"layout": "layout.txt", "parts": "parts.txt"}, autoescape=False
)
_AS_HTML: Final = Templates(
    "mail", {"quoted": _quoted}, {"layout": "layout.html", "parts": "parts.html"}
)


def _with_stop(letter: Envelope, stop: str) -> Envelope:
    """Return the mail with an unsubscribe link in its header fields (RFC 8058)."""
    letter.message["List-Unsubscribe"] = f"<{stop}>"
    letter.message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    return letter
