"""Permissions: what an account may do, and on which sites.

A role gives permissions; an account has its role on all sites or on some of them. What concerns the
service as a whole (bans, mails, settings, accounts) requires the role on all sites. Each route of
the moderation pages names the permission that it needs, and `admin.access` checks it. This module
checks that comments are on the account's sites.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from commentsvc.db.connection import Snapshot
from commentsvc.db.schema.comments import CommentTable, SiteTable
from commentsvc.errors import UnknownComment
from commentsvc.model import MODERATOR, OWNER, VIEWER


class Permission(StrEnum):
    """What a route requires."""

    ANYBODY = "anybody"  # to sign in
    ACCOUNT = "account"  # one's own account
    READ = "read"
    DECIDE = "decide"
    READ_SERVICE = "read service"  # what belongs to no single site
    DECIDE_SERVICE = "decide service"
    ADMINISTER = "administer"  # the accounts of others


P = Permission
_WHOLE: Final = frozenset({P.READ_SERVICE, P.DECIDE_SERVICE, P.ADMINISTER})
_VIEWER: Final = frozenset({P.ANYBODY, P.ACCOUNT, P.READ, P.READ_SERVICE})
_MODERATOR: Final = _VIEWER | {P.DECIDE, P.DECIDE_SERVICE}
OF_ROLE: Final[Mapping[str, frozenset[Permission]]] = {
    OWNER: _MODERATOR | {P.ADMINISTER},
    MODERATOR: _MODERATOR,
    VIEWER: _VIEWER,
}


# The permissions of a token by its scope, as far as its account has them.
_READS: Final = frozenset({P.READ, P.READ_SERVICE})
_DECIDES: Final = _READS | {P.DECIDE, P.DECIDE_SERVICE}
OF_SCOPE: Final[Mapping[str, frozenset[Permission]]] = {
    "read": _READS,
    "decide": _DECIDES,
    "administer": _DECIDES | {P.ADMINISTER},
}


class Actor(msgspec.Struct, frozen=True):
    """An account, what it may do, and on which `sites`, None for all."""

    account_id: int
    name: str
    permissions: frozenset[Permission]
    sites: tuple[str, ...] | None = None

    def may(self, permission: str) -> bool:
        """Return whether the account has a permission."""
        return permission in self.permissions

    def sees(self, site: str) -> bool:
        """Return whether a site is one of the account's."""
        return self.sites is None or site in self.sites

    def may_decide(self, site: str) -> bool:
        """Return whether the account may decide on comments of that site."""
        return self.may(Permission.DECIDE) and self.sees(site)

    def limited(self, scope: str, sites: str) -> "Actor":
        """Return this account with only a token's permissions and sites; "" means all sites."""
        granted = self.permissions & OF_SCOPE[scope]
        if not sites:
            return msgspec.structs.replace(self, permissions=granted)
        own = tuple(site for site in sites.split("\n") if self.sees(site))
        return msgspec.structs.replace(self, permissions=granted - _WHOLE, sites=own)

    def narrowed(self, site: str) -> tuple[str, ...] | None:
        """Return the sites to read if `site` was asked for, "" for all; None means every site.

        For a site that is not the account's, return none.
        """
        if not site:
            return self.sites
        return (site,) if self.sees(site) else ()


def actor(account_id: int, name: str, role: str, sites: str) -> Actor:
    """Return the Actor of an account; `sites` is as in the table of accounts."""
    granted = OF_ROLE[role]
    if not sites:
        return Actor(account_id, name, granted)
    return Actor(account_id, name, granted - _WHOLE, tuple(sites.split("\n")))


def confine(snapshot: Snapshot, who: Actor, ids: Collection[int]) -> None:
    """Raise UnknownComment with those of the comments `ids` that are on other accounts' sites."""
    if who.sites is None:
        return
    foreign = (
        CommentTable.select(CommentTable.id)
        .join(SiteTable)
        .where(CommentTable.id.in_(list(ids)), SiteTable.name.not_in(who.sites))
    )
    if rows := snapshot.query(foreign):
        raise UnknownComment([comment_id for (comment_id,) in rows])


def site_ids(snapshot: Snapshot, sites: Iterable[str] | None) -> list[int]:
    """Return the ids of the sites of those names, of all for None."""
    query = SiteTable.select(SiteTable.id).order_by(SiteTable.id)
    if sites is not None:
        query = query.where(SiteTable.name.in_(list(sites)))
    return [site_id for (site_id,) in snapshot.query(query)]
