"""Profiles: what stands over a moderator's own comments.

A comment holds what its author's profile says, so that showing it costs no more than a reader's.
Whoever changes a profile changes all comments of that account with it; whose account is removed
keeps the comments, without the badge.

Nobody may look like another moderator: see `spam.protected_names`.
"""

from typing import Final

import msgspec
from msgspec.structs import replace

from commentsvc.comments.errors import ProfileRefused
from commentsvc.comments.submission import avatar, is_email, is_site
from commentsvc.db.sqlite import Reader, Transaction
from commentsvc.model import MODERATORS_TAG, ROLES, site_tag, thread_tag
from commentsvc.spam.protected_names import looks, skeletons
from commentsvc.util.text import one_line

NAME_LENGTH: Final = 80  # characters of a public name

_SELECT: Final = "SELECT id, name, role, public_name, email, site FROM moderator"
_PAGES: Final = (
    "SELECT DISTINCT s.name, t.url FROM comment AS c JOIN thread AS t ON t.id = c.thread_id"
    " JOIN site AS s ON s.id = c.site_id WHERE c.moderator_id = ?"
)
_FOLLOW: Final = (
    "UPDATE comment SET author = ?, email = ?, avatar = ?, author_site = ?, role = ?"
    " WHERE moderator_id = ?"
)


class Profile(msgspec.Struct, frozen=True):
    """What readers see of the account `id`, which signs in as `name`. `role` is of model.ROLES."""

    id: int
    name: str
    role: str
    public_name: str
    email: str
    site: str

    @property
    def author(self) -> str:
        """The name over its comments."""
        return self.public_name or self.name


def everyone(reader: Reader) -> list[Profile]:
    """All profiles, by the names of the accounts."""
    return [Profile(*row) for row in reader.execute(f"{_SELECT} ORDER BY name")]


def find(reader: Reader, moderator_id: int) -> Profile | None:
    """The profile of the account with that id; None if there is none."""
    row = reader.execute(f"{_SELECT} WHERE id = ?", (moderator_id,)).fetchone()
    return row and Profile(*row)


def named(reader: Reader, name: str) -> Profile:
    """The profile of the account of that name, of the only owner for "". Raises ProfileRefused."""
    if name:
        rows = reader.execute(f"{_SELECT} WHERE name = ?", (name,)).fetchall()
    else:
        rows = reader.execute(f"{_SELECT} WHERE role = 'owner'").fetchall()
    if len(rows) != 1:
        reason = f"no moderator is called {name}" if name else "name one: there is not one owner"
        raise ProfileRefused(reason)
    return Profile(*rows[0])


def of_address(reader: Reader, email: str) -> Profile | None:
    """The profile with that e-mail address, in any case; None if there is none."""
    row = reader.execute(f"{_SELECT} WHERE lower(email) = lower(?)", (email,)).fetchone()
    return row and Profile(*row) if email else None


def save(tx: Transaction, profile: Profile) -> Profile:
    """Store a profile, and let the comments of its account follow it. Raises ProfileRefused."""
    tidy = replace(
        profile,
        public_name=one_line(profile.public_name),
        email=profile.email.strip(),
        site=profile.site.strip(),
    )
    _check(tidy, [other for other in everyone(tx) if other.id != tidy.id])
    tx.execute(
        "UPDATE moderator SET role = ?, public_name = ?, email = ?, site = ? WHERE id = ?",
        (tidy.role, tidy.public_name, tidy.email, tidy.site, tidy.id),
    )
    _purge(tx, tidy.id)
    shown = (tidy.author, tidy.email, avatar(tidy.email), tidy.site, tidy.role)
    tx.execute(_FOLLOW, (*shown, tidy.id))
    return tidy


def retire(tx: Transaction, name: str) -> None:
    """Take the badge from all comments of the account of that name, which is about to be removed.

    Raises ProfileRefused.
    """
    profile = named(tx, name)
    _purge(tx, profile.id)
    tx.execute("UPDATE comment SET role = '' WHERE moderator_id = ?", (profile.id,))


def _check(profile: Profile, others: list[Profile]) -> None:
    if len(profile.public_name) > NAME_LENGTH:
        raise ProfileRefused(f"a public name has at most {NAME_LENGTH} characters")
    if profile.email and not is_email(profile.email):
        raise ProfileRefused(f"{profile.email} is no e-mail address")
    if profile.site and not is_site(profile.site):
        raise ProfileRefused("a website begins with https:// or http:// and has no spaces")
    if profile.role not in ROLES:
        raise ProfileRefused(f"a role is {' or '.join(ROLES)}")
    for other in others:
        if {*looks(profile.author)} & {*skeletons(other.author), *skeletons(other.name)}:
            raise ProfileRefused(f"{profile.author} looks like the name of {other.name}")
        if profile.email and profile.email.lower() == other.email.lower():
            raise ProfileRefused(f"{other.name} has the address {profile.email}")


def _purge(tx: Transaction, moderator_id: int) -> None:
    """Drop every answer that shows a comment of the account, and what is kept of its names."""
    tx.purge(MODERATORS_TAG)
    for site, url in tx.execute(_PAGES, (moderator_id,)).fetchall():
        tx.purge(thread_tag(site, url), site_tag(site))
