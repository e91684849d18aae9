"""Privacy: what the settings mean for personal data, in sentences.

STORED and RECEIVED have each setting that stores personal data, says for how long, or sends them to
somebody, with its sentences. tests/unit/legal/test_privacy.py refuses a setting that is neither
there nor known to concern no personal data. Of an address in the settings only the host is named,
since the rest may be secret.
"""

import math
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Final, TypeAlias

from commentsvc.legal.document import PRIVACY, Item, LegalDocument, Section
from commentsvc.outbox import FAILED_KEPT
from commentsvc.settings.schema import Settings, Site
from commentsvc.util.i18n import gettext as _
from commentsvc.util.i18n import ngettext, said_duration
from commentsvc.util.origin import host_of
from commentsvc.util.timestamps import DAY_MS

# The lines about a site, with all settings.
Lines: TypeAlias = Callable[[Settings, Site], Iterator[Item]]
BETWEEN: Final = {"hourly": 1 / 24, "daily": 1, "weekly": 7}  # days between two backups
COMMENTS_BY_MAIL_KEPT: Final = 30  # days, see readers.mailed_comments
AKISMET, TELEGRAM = "rest.akismet.com", "api.telegram.org"


def _kept(days: int) -> Item:
    """Return the sentence on how long something is kept; none if it has no end."""
    time = ngettext("%(num)s day", "%(num)s days", days)
    return (_("Kept for at most: %(time)s.", time=time),) if days else ()


def _hosts(*addresses: str) -> str:
    """Return the hosts of addresses, without those that are certainly the operator's own."""
    hosts = dict.fromkeys(map(host_of, addresses))
    return ", ".join(host for host in hosts if host and not _is_own(host))


def _is_own(host: str) -> bool:
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".internal", ".local", ".localhost"))


def _comments(_settings: Settings, _site: Site) -> Iterator[Item]:
    yield (
        _(
            "Each comment: the name, the text and the time; the email address and the website if "
            "the author gives them. The email address is not published."
        ),
    )
    yield (
        _(
            "Earlier versions of a comment, and what moderators decided about it. A deleted comment"
            " is not shown any more, but its text is stored until it is erased."
        ),
    )
    yield (
        _("Votes, reactions and reports, with a digest of a random number that the browser keeps."),
    )


def _notices(_settings: Settings, site: Site) -> Iterator[Item]:
    if site.notices:
        text = _(
            "Of readers who report a comment: the name and the email address, if they give them,"
            " until a moderator has decided."
        )
        yield (text,)


def _spam(settings: Settings, _site: Site) -> Iterator[Item]:
    spam = _("Comments that are taken for spam; those with replies stay longer.")
    yield spam, *_kept(settings.spam.keep_spam_days)


def _networks(settings: Settings, _site: Site) -> Iterator[Item]:
    if days := settings.privacy.keep_network_days:
        text = _(
            "Against spam, a hash of the network from which a comment, vote, reaction or picture "
            "comes. The IP address itself is not stored."
        )
        yield text, *_kept(days)


def _pictures(_settings: Settings, site: Site) -> Iterator[Item]:
    if site.images:
        yield (_("Pictures in comments. The place and time in the picture’s file are removed."),)


def private_notes(_settings: Settings, site: Site) -> Iterator[Item]:
    """Yield what is stored of a site's private notes, if it takes any."""
    if site.private_notes:
        text = _(
            "Private notes to the author of the blog: the name, the text, the words that were "
            "selected on the page, and the email address if it is given. They are not published."
        )
        yield (text,)


def _comments_by_mail(_settings: Settings, site: Site) -> Iterator[Item]:
    if site.comments_by_mail:
        text = _(
            "Comments that are sent by mail: the address and the text, until the sender confirms "
            "them; a digest of the address also afterwards, to limit their number."
        )
        yield text, *_kept(COMMENTS_BY_MAIL_KEPT)


def _addresses(settings: Settings, _site: Site) -> Iterator[Item]:
    if settings.mail.host:
        text = _(
            "Email addresses of readers who asked for mails about replies or new comments, and "
            "whether they agreed. Each such mail has a link that ends them."
        )
        yield (text,)


def _messages(settings: Settings, site: Site) -> Iterator[Item]:
    if settings.mail.host or any(_notified(settings, site)):
        yield _("Mails and messages that were sent."), *_kept(FAILED_KEPT // DAY_MS)


def _readers(_settings: Settings, site: Site) -> Iterator[Item]:
    if site.sign_in:
        yield (_("Of readers who sign in: the name, the email address and the sessions."),)


def _replies(_settings: Settings, site: Site) -> Iterator[Item]:
    if site.webmentions or site.social_accounts or site.social_posts:
        text = _(
            "Replies on other sites to pages of the blog, with the names and profiles of their "
            "authors."
        )
        yield (text,)


def _backups(settings: Settings, _site: Site) -> Iterator[Item]:
    if settings.backup.directory:
        days = math.ceil(settings.backup.keep * BETWEEN[settings.backup.every])
        yield _("Backups of all this."), *_kept(days)


def _browser(_settings: Settings, site: Site) -> Iterator[Item]:
    text = _(
        "In the reader’s browser: drafts, own comments and votes, how the comments are shown, and "
        "the name and email address if the author wants that."
    )
    cookie = _("A cookie lets authors change their comment in the same browser.")
    yield text, cookie if site.isso else _("No cookie is set.")


def _visits(_settings: Settings, _site: Site) -> Iterator[Item]:
    text = _(
        "The comment service keeps no record of visits. The web server in front of it may have one."
    )
    yield (text,)


# What is stored, and the settings (`section.name`) on which each line depends.
STORED: Final[tuple[tuple[Lines, str], ...]] = (
    (_comments, ""),
    (_notices, "site.notices"),
    (_spam, "spam.keep_spam_days"),
    (_networks, "privacy.keep_network_days"),
    (_pictures, "site.images"),
    (private_notes, "site.private_notes"),
    (_comments_by_mail, "site.comments_by_mail"),
    (_addresses, "mail.host"),
    (_messages, "mail.host"),
    (_readers, "site.sign_in"),
    (_replies, "site.webmentions site.social_accounts site.social_posts"),
    (_backups, "backup.directory backup.every backup.keep"),
    (_browser, "site.isso"),
    (_visits, ""),
)


def _public(_settings: Settings, _site: Site) -> Iterator[Item]:
    text = _(
        "Everybody can read published comments, with the name and the website. Moderators can also "
        "read the email address."
    )
    yield (text,)


def _stored_at(settings: Settings, _site: Site) -> Iterator[Item]:
    if host := _hosts(settings.database.url.partition(",")[0]):
        yield (_("Everything is stored in a database at: %(who)s", who=host),)


def _mail(settings: Settings, _site: Site) -> Iterator[Item]:
    inbox = settings.inbox.host if settings.inbox.address else ""
    if hosts := _hosts(f"//{settings.mail.host}", f"//{inbox}"):
        yield (_("Mail servers that send and receive the mails: %(who)s", who=hosts),)


def _judges(settings: Settings, _site: Site) -> Iterator[Item]:
    akismet = AKISMET if settings.spam.akismet_key else ""
    if who := ", ".join(filter(None, (akismet, _hosts(settings.spam.classifier_url)))):
        text = _(
            "To recognise spam, these get the name, website, page and text of each comment:"
            " %(who)s",
            who=who,
        )
        yield (text,)
    if settings.judge.url:
        text = _(
            "A language model judges each comment before it is shown. It gets the name, website,"
            " page and text. It is at: %(who)s",
            who=_hosts(settings.judge.url) or "localhost",
        )
        yield (text,)


def _notified(settings: Settings, _site: Site) -> Iterator[str]:
    hooks = settings.hooks
    yield TELEGRAM if hooks.telegram_token else ""
    yield _hosts(*hooks.webhooks, hooks.ntfy, hooks.slack, hooks.discord)


def _messengers(settings: Settings, site: Site) -> Iterator[Item]:
    if who := ", ".join(filter(None, _notified(settings, site))):
        text = _(
            "So that moderators hear of new comments, these get the name, website, page and text:"
            " %(who)s",
            who=who,
        )
        yield (text,)


def _logins(settings: Settings, site: Site) -> Iterator[Item]:
    provider = settings.readers.issuer if "provider" in site.sign_in else ""
    if who := _hosts(provider, site.sso_url if "blog" in site.sign_in else ""):
        text = _(
            "Readers who sign in with one of these are known there, and it tells their name and "
            "email address: %(who)s",
            who=who,
        )
        yield (text,)


def _avatars(_settings: Settings, site: Site) -> Iterator[Item]:
    if site.avatar_url:
        text = _(
            "For pictures of authors, a digest of the email address is sent, and published with the"
            " comment: %(who)s",
            who=_hosts(site.avatar_url),
        )
        yield (text,)


def _linked(_settings: Settings, site: Site) -> Iterator[Item]:
    if site.send_webmentions:
        yield (_("Sites to which a published comment links are told so."),)


# Who gets personal data, and the settings on which each line depends.
RECEIVED: Final[tuple[tuple[Lines, str], ...]] = (
    (_public, ""),
    (_stored_at, "database.url"),
    (_mail, "mail.host inbox.address inbox.host"),
    (_judges, "spam.akismet_key spam.classifier_url judge.url"),
    (
        _messengers,
        "hooks.webhooks hooks.ntfy hooks.telegram_token hooks.slack hooks.discord",
    ),
    (_logins, "readers.issuer site.sso_url"),
    (_avatars, "site.avatar_url"),
    (_linked, "site.send_webmentions"),
)


def stored(settings: Settings, site: Site) -> Section:
    """Return what is stored, and for how long."""
    items = (item for lines, _names in STORED for item in lines(settings, site))
    return Section(_("What is stored"), tuple(items))


def received(settings: Settings, site: Site) -> Section:
    """Return who gets personal data."""
    items = (item for lines, _names in RECEIVED for item in lines(settings, site))
    return Section(_("Who gets it"), tuple(items))


def controller(site: Site) -> Item:
    """Return who answers for a site."""
    blog = site.title or host_of(site.origin) or site.name
    text = _(
        "Responsible for the comments of %(blog)s: %(contact)s", blog=blog, contact=site.contact
    )
    return (text,)


def _rights(settings: Settings, site: Site) -> Iterator[Item]:
    if settings.moderation.edit_minutes:
        time = said_duration(settings.moderation.edit_minutes * 60)
        text = _(
            "Authors can change or delete a comment in the same browser for: %(time)s", time=time
        )
        yield (text,)
    if settings.mail.host and settings.server.public_url:
        text = _(
            "Who gets the mail of an email address can download or erase everything that was "
            "written with it: %(url)s",
            url=f"{settings.server.public_url.rstrip('/')}/mail/own",
        )
        yield (text,)
    yield (
        _(
            "Everybody can ask what is stored about them, have it corrected, erased or restricted, "
            "and object to it. Write to: %(contact)s",
            contact=site.contact,
        ),
    )
    yield (_("A complaint to a data protection authority is possible at any time."),)
    yield (
        _(
            "Legal basis: consent for mails that readers asked for (GDPR, article 6(1)(a)); for "
            "all else, the legitimate interest in a conversation without spam (article 6(1)(f))."
        ),
    )


def privacy(settings: Settings, site: Site) -> LegalDocument:
    """Return the privacy text of a site."""
    title = _("Privacy of the comments")
    who = Section(_("Who is responsible"), (controller(site),))
    rights = Section(_("Rights"), tuple(_rights(settings, site)))
    sections = (who, stored(settings, site), received(settings, site), rights)
    return LegalDocument(PRIVACY, title, sections)
