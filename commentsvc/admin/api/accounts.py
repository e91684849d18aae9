"""The JSON API for accounts: roles, invitations, tokens, and one's own profile.

No token changes its account's address, password, second factor, passkeys or identities, makes
another token, invites somebody, or gives an account more rights, without the account's password.
"""

from os import urandom
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict, replace

from commentsvc.admin.api.password_check import PasswordCheck, needs_password
from commentsvc.admin.api.token_access import Plain, Sent, endpoint
from commentsvc.admin.downloads import DownloadRefused, Downloads
from commentsvc.admin.invite import Inviter
from commentsvc.admin.reauthentication import GivenRole, give_role
from commentsvc.api.serialize import Answer, Moment, answer_of
from commentsvc.auth import account_mails, api_tokens, credentials, invitations, passwords
from commentsvc.auth.api_tokens import NAME_LENGTH, TOKEN_SIZE
from commentsvc.auth.sessions import Lifetime
from commentsvc.comments.submission import is_email
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.http.messages import HttpError, Response
from commentsvc.http.operation import Content
from commentsvc.moderation import profiles
from commentsvc.moderation.permissions import Permission
from commentsvc.moderation.profiles import Profile

READ, DECIDE, ADMINISTER = Permission.READ, Permission.DECIDE, Permission.ADMINISTER

Role = Literal["owner", "moderator", "viewer"]
Scope = Literal["read", "decide", "administer"]
CredentialKind = Literal["session", "blog", "token", "passkey", "identity"]
Password = Annotated[str, Meta(max_length=passwords.LONGEST, description="That of the account.")]
Days = Annotated[int, Meta(ge=1, le=365, description="How many days the token is valid.")]


class ListedAccount(Answer, frozen=True):
    """An account; `sites` is empty if it has all sites."""

    id: int
    name: str
    role: Role
    sites: list[str]


class ListedAccounts(Answer, frozen=True):
    """All accounts, by name."""

    data: list[ListedAccount]


class RoleBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The role of an account on `sites`, or on all sites if there are none.

    A higher role or more sites than before take the password of the token's account.
    """

    role: Role
    sites: list[str] = []
    password: Password = ""


class InvitationBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The role of a new account, on `sites` or on all; a link is mailed to `email`, if given.

    It takes the password of the token's account.
    """

    password: Password
    role: Role
    sites: list[str] = []
    email: Annotated[str, Meta(max_length=254)] = ""


class ListedInvitation(Answer, frozen=True):
    """An invitation that was not used yet, without its link."""

    id: int
    role: Role
    sites: list[str]
    email: str
    actor: str
    created: Moment
    expires: Moment


class ListedInvitations(Answer, frozen=True):
    """All open invitations, the newest first."""

    data: list[ListedInvitation]


class MadeInvitation(Answer, frozen=True):
    """An invitation and its link, which is not shown again."""

    invitation: ListedInvitation
    link: str


class DownloadBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to download, of one `site` or of all; a backup has all.

    It takes the password of the token's account.
    """

    password: Password
    kind: Literal["commentsvc", "wordpress", "disqus", "archive", "backup"] = "commentsvc"
    site: Annotated[str, Meta(max_length=100)] = ""


class TokenBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The purpose of a new token and what it allows, on `sites` or, without any, on all.

    It takes the account's password.
    """

    password: Password
    name: Annotated[str, Meta(min_length=1, max_length=NAME_LENGTH)]
    scope: Scope
    sites: list[str] = []
    days: Days = 90


class ListedToken(Answer, frozen=True):
    """A token of the account, without the token itself; `used` is null if it never was."""

    id: int
    name: str
    scope: Scope
    sites: list[str]
    created: Moment
    used: Moment | None
    expires: Moment


class ListedTokens(Answer, frozen=True):
    """The tokens of the account, the newest first."""

    data: list[ListedToken]


class MadeToken(Answer, frozen=True):
    """The id of a new token, and the token, which is not shown again."""

    id: int
    token: str


class ListedCredential(Answer, frozen=True):
    """What opens the account besides its password: `id` is unique within the `kind`.

    `name` is a browser, the origin of a blog's pages, what a token or passkey is called, or a
    person at a provider. `used` is null for never or unknown, `expires` for no fixed end.
    """

    kind: CredentialKind
    id: int
    name: str
    created: Moment
    used: Moment | None
    expires: Moment | None


class ListedCredentials(Answer, frozen=True):
    """All that opens the account besides its password."""

    data: list[ListedCredential]


class RemovedCredential(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to remove; a passkey and an identity take the account's password."""

    kind: CredentialKind
    id: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    password: Password = ""


class OwnProfile(Answer, frozen=True):
    """The account that the token belongs to, and what readers see of it.

    `verified` says whether the owner of the address has confirmed it.
    """

    id: int
    name: str
    role: Role
    sites: list[str]
    public_name: str
    email: str
    verified: bool
    site: str


class ProfileBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What readers see of an account. Absent fields stay unchanged; "" removes a value.

    The address is changed on the account page only.
    """

    public_name: Annotated[str, Meta(max_length=300)] | UnsetType = UNSET
    site: Annotated[str, Meta(max_length=300)] | UnsetType = UNSET


class AccountsApi:
    """The handlers of accounts, invitations, and the token's own account."""

    def __init__(self, service: ServiceContext) -> None:
        self._password = PasswordCheck(service)
        self._lifetime = Lifetime.of(service.settings.moderation)
        self._database = service.database
        self._inviter = Inviter(service)
        self._sites = [site.name for site in service.settings.sites]
        self._downloads = Downloads(service)

    @endpoint("GET", "/accounts", ADMINISTER)
    async def accounts(self, call: Plain) -> ListedAccounts:
        """All accounts."""
        known = await self._database.read(profiles.everyone)
        return ListedAccounts([answer_of(ListedAccount, each) for each in known])

    @endpoint("PUT", "/accounts/{id}/role", ADMINISTER, errors=(409,))
    async def role(self, call: Sent[RoleBody]) -> None:
        """Give an account a role."""
        number, sent, now = call.number, call.body, call.now
        given = GivenRole(call.who.account_id, sent.role, sent.sites, bool(sent.password))
        if sent.password:
            await self._password.require(call, sent.password)

        def work(tx: Transaction) -> None:
            if not give_role(tx, _found(tx, number), given, now):
                raise needs_password()

        await self._database.write(work)

    @endpoint("DELETE", "/accounts/{id}", ADMINISTER, errors=(409,))
    async def remove(self, call: Plain) -> None:
        """Remove an account."""
        number = call.number

        def work(tx: Transaction) -> None:
            profiles.remove(tx, _found(tx, number).name, may_be_last=False)

        await self._database.write(work)

    @endpoint("GET", "/invitations", ADMINISTER)
    async def invitations(self, call: Plain) -> ListedInvitations:
        """All open invitations."""
        known = await self._database.read(invitations.listing, call.now)
        return ListedInvitations([answer_of(ListedInvitation, each) for each in known])

    @endpoint("POST", "/invitations", ADMINISTER, status=201, errors=(409,))
    async def invite(self, call: Sent[InvitationBody]) -> MadeInvitation:
        """Invite somebody."""
        sent = call.body
        if sent.email and not is_email(sent.email):
            problem = "This is not an email address."
            raise HttpError(400, "invalid", "Please look at: email.", {"email": problem})
        await self._password.require(call, sent.password)
        made, link = await self._inviter.invite(
            call.request, call.who.account_id, sent.role, sent.sites, sent.email
        )
        return MadeInvitation(answer_of(ListedInvitation, made), link)

    @endpoint("DELETE", "/invitations/{id}", ADMINISTER)
    async def revoke_invitation(self, call: Plain) -> None:
        """Revoke an invitation."""
        if not await self._database.write(invitations.revoke, call.number):
            raise _unknown(f"There is no invitation with the id {call.number}.")

    @endpoint("GET", "/tokens", ADMINISTER)
    async def tokens(self, call: Plain) -> ListedTokens:
        """The tokens of one's own account."""
        known = await self._database.read(api_tokens.of_moderator, call.who.account_id)
        return ListedTokens([answer_of(ListedToken, each) for each in known])

    @endpoint("POST", "/tokens", ADMINISTER, status=201, errors=(409,))
    async def make_token(self, call: Sent[TokenBody]) -> MadeToken:
        """Make a token of one's own account."""
        sent, owner, now = call.body, call.who.account_id, call.now
        await self._password.require(call, sent.password)
        token, digest = api_tokens.new_token(urandom(TOKEN_SIZE))
        sites = "\n".join(dict.fromkeys(sent.sites))
        offer = api_tokens.offer(owner, sent.name, sent.scope, sites, now, sent.days)

        def work(tx: Transaction) -> int:
            profiles.check_sites(tx, sent.sites)
            api_tokens.add(tx, offer, digest)
            account_mails.tell(tx, owner, account_mails.TOKEN, now)
            return api_tokens.of_moderator(tx, owner)[0].id

        return MadeToken(await self._database.write(work), token)

    @endpoint("DELETE", "/tokens/{id}", ADMINISTER)
    async def revoke_token(self, call: Plain) -> None:
        """Revoke a token of one's own account."""
        if not await self._database.write(api_tokens.revoke, call.number, call.who.account_id):
            raise _unknown(f"The account has no token with the id {call.number}.")

    @endpoint("GET", "/credentials", ADMINISTER)
    async def credentials(self, call: Plain) -> ListedCredentials:
        """All that opens one's own account."""
        known = await self._database.read(
            credentials.of_moderator, call.who.account_id, self._lifetime, call.now
        )
        return ListedCredentials([answer_of(ListedCredential, each) for each in known])

    @endpoint("POST", "/credentials/remove", ADMINISTER, errors=(404,))
    async def remove_credential(self, call: Sent[RemovedCredential]) -> None:
        """Remove one of them."""
        sent, owner = call.body, call.who.account_id
        if sent.kind in credentials.LASTING:
            await self._password.require(call, sent.password)
        gone = await self._database.write(
            account_mails.remove_credential, sent.kind, sent.id, owner, call.now
        )
        if not gone:
            raise _unknown(f"The account has no {sent.kind} with the id {sent.id}.")

    @endpoint(
        "POST",
        "/downloads",
        ADMINISTER,
        content=Content("application/octet-stream"),
        errors=(404,),
    )
    async def download(self, call: Sent[DownloadBody]) -> Response:
        """A file with everything: an export, an archive as a ZIP file, or a backup."""
        sent = call.body
        if sent.site not in ("", *self._sites):
            raise _unknown(f"There is no site {sent.site}.")
        await self._password.require(call, sent.password)
        try:
            return await self._downloads.send(sent.kind, sent.site, call.who.name, call.now)
        except DownloadRefused as error:
            raise HttpError(503, "no_download", error.text) from error

    @endpoint("GET", "/profile", READ)
    async def profile(self, call: Plain) -> OwnProfile:
        """One's own account, and what readers see of it."""
        return _own(await self._database.read(_found, call.who.account_id))

    @endpoint("PATCH", "/profile", DECIDE, errors=(409,))
    async def change_profile(self, call: Sent[ProfileBody]) -> OwnProfile:
        """Change what readers see of one's own account."""
        sent = asdict(call.body)
        given = {name: value for name, value in sent.items() if value is not UNSET}

        def work(tx: Transaction) -> Profile:
            return profiles.save(tx, replace(_found(tx, call.who.account_id), **given))

        return _own(await self._database.write(work))


def _found(snapshot: Snapshot, number: int) -> Profile:
    """Return the account of that id. Raise HttpError 404."""
    profile = profiles.find(snapshot, number)
    if profile is None:
        raise _unknown(f"There is no account with the id {number}.")
    return profile


def _unknown(message: str) -> HttpError:
    return HttpError(404, "not_found", message)


def _own(profile: Profile) -> OwnProfile:
    return answer_of(OwnProfile, profile, verified=profile.is_verified)
