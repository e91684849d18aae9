"""Authors of imported comments: which of them are moderators here, and which only look so.

What another system says about authors proves nothing here. So a comment under a protected name or
with a protected address, or under the name of a reader who signed in here, waits for a moderator,
as if it was submitted today (see `spam.protected_names`), unless the operator says which author
there is which moderator here.

The comments of our own export were checked when they were submitted. Of these, only those wait that
no moderator has approved, and those of moderators who have another address here.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from commentsvc.comments.submission import avatar
from commentsvc.db.connection import Snapshot
from commentsvc.imports.records import ImportedComment
from commentsvc.moderation import profiles
from commentsvc.moderation.profiles import Profile
from commentsvc.readers import accounts
from commentsvc.settings.schema import Settings
from commentsvc.spam.protected_names import ProtectedNames, name_skeletons
from commentsvc.spam.reasons import line
from commentsvc.util.origin import address_key

Identity: TypeAlias = tuple[str, str]  # the issuer and the subject of a reader who signed in
ADMINS: Final = "admins"  # stands for all authors whom the source marks as administrators


class AuthorRules:
    """Decides which imported comments are moderators', and which have to wait."""

    def __init__(
        self,
        names: ProtectedNames,
        taken: Mapping[str, frozenset[Identity]],
        moderators: Sequence[Profile],
        known: Mapping[str, Profile],
    ) -> None:
        """Take the loaded protected names, and the moderators.

        `taken` is as in `readers.accounts.skeletons_taken`: who signed in under which skeletons.
        `known` has moderators by what identifies them in the source: an address, an account or
        `ADMINS`.
        """
        self._names = names
        self._taken = taken
        self._moderators = moderators
        self._known = {address_key(who): profile for who, profile in known.items()}
        digests = {avatar(who): profile for who, profile in known.items() if "@" in who}
        self._known |= digests  # some systems have only the digest of an address

    def moderator(self, comment: ImportedComment) -> Profile | None:
        """Return the moderator who wrote a comment of another system, None if none did."""
        if not self._known:
            return None
        if comment.is_admin and ADMINS in self._known:
            return self._known[ADMINS]
        for who in (comment.email, comment.account, comment.avatar):
            if who and (found := self._known.get(address_key(who))):
                return found
        return None

    def owner(self, comment: ImportedComment) -> Profile | None:
        """Return the moderator who wrote a comment of our own export, None if none did."""
        if not comment.role:
            return None
        for each in self._moderators:
            is_same = address_key(each.email) == address_key(comment.email)
            if is_same and (each.email or each.author == comment.author):
                return each
        return None

    def doubt(self, author: str, email: str, digest: str, identity: Identity | None = None) -> str:
        """Return why a comment that no moderator wrote has to wait; "" if it need not.

        The reason is a line of `spam.reasons`. A reader with that `identity` wrote it.
        """
        found = self._names.check(author, email, digest)
        if found:
            return line(found.reason, found.points, found.about)
        others = (
            self._taken.get(skeleton, frozenset()) - {identity}
            for skeleton in name_skeletons(author)
        )
        return line("protected-name", 0, author) if any(others) else ""


def read(snapshot: Snapshot, settings: Settings, known: Sequence[tuple[str, str]]) -> AuthorRules:
    """Read the protected names; `known` has pairs of an author there and a moderator's name here.

    The name "" is that of the only owner. Raise ProfileRefused.
    """
    names = ProtectedNames(settings)
    names.load(snapshot)
    found = {who: profiles.named(snapshot, name) for who, name in known}
    return AuthorRules(
        names, accounts.skeletons_taken(snapshot), profiles.everyone(snapshot), found
    )
