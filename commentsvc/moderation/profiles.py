"""Profiles: the name, address and badge that are shown with a moderator's own comments.

Each comment has a copy of its author's profile, so that showing it costs no more than a reader's
comment. A change of a profile changes all comments of its account. When an account is removed, its
comments stay, without the badge.

No moderator may look like another one: see `spam.protected_names`.
"""

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec.structs import replace
from peewee import fn

from commentsvc.comments.create import ThreadRef, changed
from commentsvc.comments.submission import avatar, is_email, is_site
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Select
from commentsvc.db.schema.comments import (
    CommentTable,
    ModeratorTable,
    SiteTable,
    ThreadTable,
    is_called,
)
from commentsvc.errors import ProfileRefused
from commentsvc.model import BADGES, MODERATORS_TAG, OWNER, ROLES, site_tag
from commentsvc.moderation import permissions
from commentsvc.moderation.permissions import Actor, Permission
from commentsvc.spam.protected_names import name_skeletons, skeletons
from commentsvc.util.i18n import gettext as _
from commentsvc.util.origin import address_key
from commentsvc.util.text import one_line

NAME_LENGTH: Final = 80  # characters of a public name


class Profile(msgspec.Struct, frozen=True):
    """What readers see of the account `id`, which signs in as `name`.

    Its `role`, of model.ROLES, applies to `sites`, as in the table of accounts.
    """

    id: int
    name: str
    role: str
    public_name: str
    email: str
    site: str
    sites: str = ""
    verified_email: str = ""

    @property
    def is_verified(self) -> bool:
        """Whether somebody proved that the address is theirs: see `verify`."""
        return bool(self.email) and self.email == self.verified_email

    def decides_by_mail(self, site: str) -> bool:
        """Return whether what its address answers to our mails counts on that site."""
        return self.is_verified and self.actor.may_decide(site)

    @property
    def badge(self) -> str:
        """The badge of its comments; "" for a role without one."""
        return self.role if self.role in BADGES else ""

    @property
    def actor(self) -> Actor:
        """The account's permissions."""
        return permissions.actor(self.id, self.name, self.role, self.sites)

    def covers(self, role: str, sites: Iterable[str]) -> bool:
        """Return whether the account already has all rights of a role on sites, on all for none."""
        own, given = {*filter(None, self.sites.split("\n"))}, {*sites}
        is_lower = ROLES.index(role) >= ROLES.index(self.role)  # the highest is the first
        return is_lower and (not own or (bool(given) and given <= own))

    @property
    def author(self) -> str:
        """The name shown with its comments."""
        return self.public_name or self.name


def everyone(snapshot: Snapshot) -> list[Profile]:
    """Return all profiles, by the names of the accounts."""
    by_name = _profiles().order_by(fn.LOWER(ModeratorTable.name))
    return [Profile(*row) for row in snapshot.query(by_name)]


def find(snapshot: Snapshot, moderator_id: int) -> Profile | None:
    """Return the profile of the account with that id; None if there is none."""
    row = snapshot.first(_profiles().where(ModeratorTable.id == moderator_id))
    return Profile(*row) if row else None


def named(snapshot: Snapshot, name: str) -> Profile:
    """Return the profile of that name; "" means the only owner. Raise ProfileRefused."""
    wanted = is_called(name) if name else ModeratorTable.role == OWNER
    rows = snapshot.query(_profiles().where(wanted))
    if len(rows) != 1:
        reason = f"no moderator is called {name}"
        if not name:
            reason = "there is no owner, or more than one: name a moderator"
        raise ProfileRefused(reason)
    return Profile(*rows[0])


def of_address(snapshot: Snapshot, email: str) -> Profile | None:
    """Return the profile with that e-mail address, however it is written; None without one."""
    wanted = address_key(email)
    found = (each for each in everyone(snapshot) if address_key(each.email) == wanted)
    return next(found, None) if wanted else None


def save(tx: Transaction, profile: Profile) -> Profile:
    """Store a profile and update the comments of its account. Raise ProfileRefused.

    Another address than before is not verified.
    """
    tidy = replace(
        profile,
        public_name=one_line(profile.public_name),
        email=profile.email.strip(),
        site=profile.site.strip(),
    )
    _check(tidy, [other for other in everyone(tx) if other.id != tidy.id])
    stored = ModeratorTable.update(
        role=tidy.role,
        sites=tidy.sites,
        public_name=tidy.public_name,
        email=tidy.email,
        site=tidy.site,
    )
    tx.change(stored.where(ModeratorTable.id == tidy.id))
    _purge(tx, tidy.id)
    shown = CommentTable.update(
        author=tidy.author,
        email=tidy.email,
        email_key=address_key(tidy.email),
        avatar=avatar(tidy.email),
        author_site=tidy.site,
        role=tidy.badge,
    )
    tx.change(shown.where(CommentTable.moderator == tidy.id))
    return tidy


def verify(tx: Transaction, profile: Profile, email: str) -> Profile:
    """Give a profile an address that was proved to be its owner's. Raise ProfileRefused.

    It is taken from an account that has it unproved.
    """
    other = of_address(tx, email)
    if other is not None and other.id != profile.id and not other.is_verified:
        save(tx, replace(other, email=""))
    saved = save(tx, replace(profile, email=email))
    proved = ModeratorTable.update(
        verified_email=saved.email, may_link=1, asked_email="", asked_at=0
    )
    tx.change(proved.where(ModeratorTable.id == saved.id))
    return replace(saved, verified_email=saved.email)


def assign(tx: Transaction, name: str, role: str, sites: Iterable[str]) -> Profile:
    """Give the account of that name a role on those `sites`, on all if there are none.

    Raise ProfileRefused, also for the last owner of all sites: nobody could manage accounts.
    """
    given = [*dict.fromkeys(sites)]
    check_sites(tx, given)
    profile = replace(named(tx, name), role=role, sites="\n".join(given))
    keep_an_owner(tx, profile)
    return save(tx, profile)


def check_sites(snapshot: Snapshot, sites: Iterable[str]) -> None:
    """Raise ProfileRefused if a site is unknown."""
    known = snapshot.query(SiteTable.select(SiteTable.name))
    if unknown := [one for one in sites if (one,) not in known]:
        raise ProfileRefused(_("no site is called %(names)s", names=", ".join(unknown)))


def keep_an_owner(
    snapshot: Snapshot, changed: Profile | None, removed: str = "", *, may_be_last: bool = False
) -> None:
    """Raise ProfileRefused if a change or removal would leave no owner of all sites.

    `may_be_last`: if it leaves no account at all, that is meant.
    """
    before = everyone(snapshot)
    after = [changed if changed and each.id == changed.id else each for each in before]
    after = [each for each in after if each.name.casefold() != removed.casefold()]
    is_left = any(map(_is_owner, after)) or (may_be_last and not after)
    if any(map(_is_owner, before)) and not is_left:
        raise ProfileRefused(_("there must always be an owner of all sites"))


def _is_owner(profile: Profile) -> bool:
    return profile.actor.may(Permission.ADMINISTER)


def remove(tx: Transaction, name: str, *, may_be_last: bool = True) -> None:
    """Remove an account. Its comments stay, without the badge; its decisions keep its name.

    Raise ProfileRefused, also for the last account unless it `may_be_last`.
    """
    profile = named(tx, name)
    keep_an_owner(tx, None, removed=profile.name, may_be_last=may_be_last)
    _purge(tx, profile.id)
    tx.change(CommentTable.update(role="").where(CommentTable.moderator == profile.id))
    tx.change(ModeratorTable.delete().where(ModeratorTable.id == profile.id))


def _profiles() -> Select:
    return ModeratorTable.select(
        ModeratorTable.id,
        ModeratorTable.name,
        ModeratorTable.role,
        ModeratorTable.public_name,
        ModeratorTable.email,
        ModeratorTable.site,
        ModeratorTable.sites,
        ModeratorTable.verified_email,
    )


def _check(profile: Profile, others: list[Profile]) -> None:
    if len(profile.public_name) > NAME_LENGTH:
        raise ProfileRefused(_("a public name has at most %(most)s characters", most=NAME_LENGTH))
    if profile.email and not is_email(profile.email):
        raise ProfileRefused(_("%(email)s is not an email address", email=profile.email))
    if profile.site and not is_site(profile.site):
        raise ProfileRefused(_("a website begins with https:// or http:// and has no spaces"))
    if profile.role not in ROLES:
        raise ProfileRefused(f"a role is {' or '.join(ROLES)}")
    for other in others:
        if {*name_skeletons(profile.author)} & {*skeletons(other.author), *skeletons(other.name)}:
            raise ProfileRefused(
                _(
                    "%(name)s looks like the name of %(other)s",
                    name=profile.author,
                    other=other.name,
                )
            )
        if profile.email and address_key(profile.email) == address_key(other.email):
            raise ProfileRefused(
                _("%(email)s is the address of %(other)s", email=profile.email, other=other.name)
            )


def _purge(tx: Transaction, moderator_id: int) -> None:
    """Purge every answer with a comment of the account, and the cached protected names."""
    tx.purge(MODERATORS_TAG)
    pages = (
        CommentTable.select(SiteTable.name, ThreadTable.url, SiteTable.id, ThreadTable.id)
        .join(ThreadTable, on=ThreadTable.id == CommentTable.thread)
        .join(SiteTable, on=SiteTable.id == CommentTable.site)
        .where(CommentTable.moderator == moderator_id)
        .distinct()
    )
    for page in tx.query(pages):
        ref = ThreadRef(*page)
        changed(tx, ref)
        tx.purge(site_tag(ref.site))
