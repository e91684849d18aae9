"""Record: what an operator needs for authorities, from the same settings as the privacy text.

The record of processing activities is that of the GDPR (article 30). The facts are those for which
the Digital Services Act (articles 11 to 17) and the Online Safety Act (its risk assessments) ask.
"""

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from commentsvc.legal.document import FACTS, PROCESSING, Item, LegalDocument, Section
from commentsvc.legal.privacy import controller, private_notes, received, stored
from commentsvc.settings.schema import Settings, Site
from commentsvc.util.i18n import Message, ngettext
from commentsvc.util.i18n import gettext as _

# Which comments a person reads before they are shown, by the policy.
READ_FIRST: Final = {
    "all": _("A person decides about every comment before it is shown."),
    "first": _("A person decides about the first comments of each author before they are shown."),
    "suspicious": _("Comments are shown at once; a person decides about suspicious ones before."),
    "none": _("Comments are shown at once, apart from spam."),
}
NAMELESS: Final = _("Readers need no account and choose their name freely.")
MEMBERS: Final = _("Only readers who have signed in can comment.")
NOTHING_ELSE: Final = _(
    "There are no messages between readers, no advertising, no profiles of readers, and no "
    "recommendations."
)
REPORTS: Final = _(
    "Everybody can report a published comment, without an account: as illegal, abusive, spam, or "
    "for another reason in their own words. A person decides."
)
NOTICES: Final = _(
    "Reporters who leave an email address, and authors of comments that a moderator deletes, are "
    "mailed the decision, and can object for six months. A person decides about that, too."
)
REASONS: Final = _(
    "They are told the moderator’s reasons, and whether automatic checks had rated the comment."
)
DECISIONS: Final = _("Each decision is stored with who made it and when, and can be taken back.")


def _accounts(settings: Settings, _site: Site) -> Iterator[Item]:
    days = ngettext("%(num)s day", "%(num)s days", settings.moderation.session_days)
    yield (
        _(
            "Moderators’ accounts: name, email address, a hash of the password, and the browsers "
            "that are signed in, each for at most %(time)s.",
            time=days,
        ),
    )
    if settings.oidc.issuer:
        yield (_("Moderators can sign in with: %(who)s", who=settings.oidc.issuer),)


def processing(settings: Settings, site: Site) -> LegalDocument:
    """Return the record of processing activities about a site."""
    purposes = (
        (_("Publishing comments below the pages of the blog, and protecting them from spam."),),
        (_("Mails about replies and new comments, for those who asked for them."),),
    )
    people = ((_("Authors of comments, readers who vote, report or follow, and moderators."),),)
    data, who = stored(settings, site), received(settings, site)
    security = (
        (_("Passwords are stored as Argon2 hashes; sessions, tokens and links as digests."),),
        (_("Networks are stored as hashes with a secret key, from which no address can be read."),),
        (_("Requests are limited by network, and texts and pictures are cleaned before storing."),),
    )
    unknown = (
        (
            _(
                "The settings do not say in which countries the named recipients are, and on which "
                "contracts that is based (GDPR, articles 28 and 44). Add both."
            ),
        ),
    )
    sections = (
        Section(_("Controller"), (controller(site),)),
        Section(_("Purposes"), purposes),
        Section(_("Whose data"), people),
        data._replace(items=(*data.items, *_accounts(settings, site))),
        who,
        Section(_("Security"), security),
        Section(_("To be completed"), unknown),
    )
    return LegalDocument(PROCESSING, _("Record of processing activities"), sections)


def facts(settings: Settings, site: Site) -> LegalDocument:
    """Return the facts about the service for a site."""
    policy = site.policy or settings.moderation.policy
    contact = _("Contact for authorities and readers: %(contact)s", contact=site.contact)
    moderation: tuple[Message, ...] = (READ_FIRST[policy], *automatic(settings), DECISIONS)
    mails = site.name in settings.mailing_decisions
    reports: tuple[Item, ...] = ((REPORTS,), (NOTICES, REASONS)) if mails else ((REPORTS,),)
    if site.numbers and settings.server.public_url:
        url = f"{settings.server.public_url.rstrip('/')}/numbers?site={quote(site.name)}"
        reports += ((_("Numbers about moderation are published: %(url)s", url=url),),)
    sections = (
        Section(_("Controller"), (controller(site), (contact,))),
        Section(_("The service"), tuple(_service(settings, site))),
        Section(_("Moderation"), tuple((each,) for each in moderation)),
        Section(_("Reports"), reports),
        received(settings, site),
    )
    return LegalDocument(FACTS, _("Facts about the comment service"), sections)


def _service(settings: Settings, site: Site) -> Iterator[Item]:
    yield MEMBERS if site.members_only else NAMELESS, NOTHING_ELSE
    pictures, text_only = _("Readers can put pictures into comments."), _("Comments are text only.")
    yield (pictures if site.images else text_only,)
    yield from private_notes(settings, site)


def automatic(settings: Settings) -> Iterator[Message]:
    """Yield what programs do about comments by themselves."""
    yield _(
        "Rules find spam automatically: words, links, speed, and computing work that a browser has "
        "to do. They can delay a comment or file it as spam; moderators see why, and can undo it."
    )
    if settings.spam.bayes:
        yield _("A filter that learns from moderators’ decisions takes part.")
