"""The JSON API for accounts: roles, invitations, tokens, and one's own profile.

Like the rest of `json_api`, it is for programs with a token. No token changes its account's
address, password, second factor, passkeys or identities, or makes another token, without the
account's password.
"""

from os import urandom
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict, replace

from commentsvc.admin.api.json_api import DONE, operation_of
from commentsvc.admin.api.token_access import TokenAccess, answered, body
from commentsvc.admin.invite import Inviter
from commentsvc.admin.login_limit import LoginLimiter
from commentsvc.admin.reauthentication import Reauthentication
from commentsvc.api.serialize import Answer, Moment
from commentsvc.auth import account_mails, api_tokens, credentials, invitations, passwords
from commentsvc.auth.api_tokens import NAME_LENGTH, TOKEN_SIZE, ApiToken
from commentsvc.auth.credentials import Credential
from commentsvc.auth.invitations import AccountInvitation
from commentsvc.auth.sessions import Lifetime
from commentsvc.comments.submission import is_email
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Reader, Transaction
from commentsvc.http.messages import HttpError, Request, Response
from commentsvc.http.operation import NOTHING, json_of
from commentsvc.http.router import Route
from commentsvc.moderation import profiles
from commentsvc.moderation.permissions import Actor, Permission
from commentsvc.moderation.profiles import Profile
from commentsvc.util.timestamps import rfc3339

Role = Literal["owner", "moderator", "viewer"]
Scope = Literal["read", "decide", "administer"]
CredentialKind = Literal["session", "token", "passkey", "identity"]
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
    """The role of an account on `sites`, or on all sites if there are none."""

    role: Role
    sites: list[str] = []


class InvitationBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The role of a new account, on `sites` or on all; a link is mailed to `email`, if given."""

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

    `name` is a browser, what a token or passkey is called, or a person at a provider. `used` is
    null for never or unknown, `expires` for no fixed end.
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


ACCOUNTS = operation_of(
    *("GET", "/accounts", "All accounts", Permission.ADMINISTER),
    answers={200: json_of(ListedAccounts)},
)
ROLE = operation_of(
    *("PUT", "/accounts/{id}/role", "Give an account a role", Permission.ADMINISTER),
    body=(json_of(RoleBody),),
    answers={204: NOTHING},
    errors=(404, 409, 415),
)
REMOVE = operation_of(
    *("DELETE", "/accounts/{id}", "Remove an account", Permission.ADMINISTER),
    answers={204: NOTHING},
    errors=(404, 409),
)
INVITATIONS = operation_of(
    *("GET", "/invitations", "All open invitations", Permission.ADMINISTER),
    answers={200: json_of(ListedInvitations)},
)
INVITE = operation_of(
    *("POST", "/invitations", "Invite somebody", Permission.ADMINISTER),
    body=(json_of(InvitationBody),),
    answers={201: json_of(MadeInvitation)},
    errors=(409, 415),
)
REVOKE_INVITATION = operation_of(
    *("DELETE", "/invitations/{id}", "Revoke an invitation", Permission.ADMINISTER),
    answers={204: NOTHING},
    errors=(404,),
)
TOKENS = operation_of(
    *("GET", "/tokens", "The tokens of one's own account", Permission.ADMINISTER),
    answers={200: json_of(ListedTokens)},
)
MAKE_TOKEN = operation_of(
    *("POST", "/tokens", "Make a token of one's own account", Permission.ADMINISTER),
    body=(json_of(TokenBody),),
    answers={201: json_of(MadeToken)},
    errors=(409, 415, 503),
)
REVOKE_TOKEN = operation_of(
    *("DELETE", "/tokens/{id}", "Revoke a token of one's own account", Permission.ADMINISTER),
    answers={204: NOTHING},
    errors=(404,),
)
CREDENTIALS = operation_of(
    *("GET", "/credentials", "All that opens one's own account", Permission.ADMINISTER),
    answers={200: json_of(ListedCredentials)},
)
REMOVE_CREDENTIAL = operation_of(
    *("POST", "/credentials/remove", "Remove one of them", Permission.ADMINISTER),
    body=(json_of(RemovedCredential),),
    answers={204: NOTHING},
    errors=(404, 415, 503),
)
PROFILE = operation_of(
    *("GET", "/profile", "One's own account, and what readers see of it", Permission.READ),
    answers={200: json_of(OwnProfile)},
)
CHANGE_PROFILE = operation_of(
    *("PATCH", "/profile", "Change what readers see of one's own account", Permission.DECIDE),
    body=(json_of(ProfileBody),),
    answers={200: json_of(OwnProfile)},
    errors=(409, 415),
)


class AccountApi:
    """The handlers."""

    def __init__(self, service: ServiceContext, access: TokenAccess) -> None:
        limiter = LoginLimiter(service.database, service.keys[0])
        self._reauthentication = Reauthentication(service.database, limiter)
        self._lifetime = Lifetime.of(service.settings.moderation)
        self._database = service.database
        self._clock = service.clock
        self._inviter = Inviter(service)
        self._access = access

    def routes(self) -> list[Route]:
        """Return the table of routes."""
        return self._access.routes(
            [
                (ACCOUNTS, self.accounts),
                (ROLE, self.role),
                (REMOVE, self.remove),
                (INVITATIONS, self.invitations),
                (INVITE, self.invite),
                (REVOKE_INVITATION, self.revoke_invitation),
                (TOKENS, self.tokens),
                (MAKE_TOKEN, self.make_token),
                (REVOKE_TOKEN, self.revoke_token),
                (CREDENTIALS, self.credentials),
                (REMOVE_CREDENTIAL, self.remove_credential),
                (PROFILE, self.profile),
                (CHANGE_PROFILE, self.change_profile),
            ]
        )

    async def accounts(self, request: Request, _who: Actor) -> Response:
        """GET /accounts."""
        ACCOUNTS.read(request)
        known = await self._database.read(profiles.everyone)
        return answered(ListedAccounts([*map(_account, known)]))

    async def role(self, request: Request, _who: Actor) -> Response:
        """PUT /accounts/{id}/role."""
        ROLE.read(request)
        sent, number = body(request, RoleBody), request.number()

        def work(tx: Transaction) -> None:
            profiles.assign(tx, _named_by(tx, number).name, sent.role, sent.sites)

        await self._database.write(work)
        return DONE

    async def remove(self, request: Request, _who: Actor) -> Response:
        """DELETE /accounts/{id}."""
        REMOVE.read(request)
        number = request.number()

        def work(tx: Transaction) -> None:
            profiles.remove(tx, _named_by(tx, number).name)

        await self._database.write(work)
        return DONE

    async def invitations(self, request: Request, _who: Actor) -> Response:
        """GET /invitations."""
        INVITATIONS.read(request)
        known = await self._database.read(invitations.listing, self._clock.now_ms())
        return answered(ListedInvitations([*map(_invitation, known)]))

    async def invite(self, request: Request, who: Actor) -> Response:
        """POST /invitations."""
        INVITE.read(request)
        sent = body(request, InvitationBody)
        if sent.email and not is_email(sent.email):
            raise _invalid("email", "This is not an email address.")
        made, link = await self._inviter.invite(
            request, who.account_id, sent.role, sent.sites, sent.email
        )
        return answered(MadeInvitation(_invitation(made), link), 201)

    async def revoke_invitation(self, request: Request, _who: Actor) -> Response:
        """DELETE /invitations/{id}."""
        REVOKE_INVITATION.read(request)
        number = request.number()
        if not await self._database.write(invitations.revoke, number):
            raise HttpError(404, "not_found", f"There is no invitation with the id {number}.")
        return DONE

    async def tokens(self, request: Request, who: Actor) -> Response:
        """GET /tokens."""
        TOKENS.read(request)
        known = await self._database.read(api_tokens.of_moderator, who.account_id)
        return answered(ListedTokens([*map(_token, known)]))

    async def make_token(self, request: Request, who: Actor) -> Response:
        """POST /tokens."""
        MAKE_TOKEN.read(request)
        sent, now = body(request, TokenBody), self._clock.now_ms()
        await self._authenticate(who, sent.password, now)
        token, digest = api_tokens.new_token(urandom(TOKEN_SIZE))
        sites = "\n".join(dict.fromkeys(sent.sites))
        offer = api_tokens.offer(who.account_id, sent.name, sent.scope, sites, now, sent.days)

        def work(tx: Transaction) -> int:
            profiles.check_sites(tx, sent.sites)
            api_tokens.add(tx, offer, digest)
            account_mails.tell(tx, who.account_id, account_mails.TOKEN, now)
            return api_tokens.of_moderator(tx, who.account_id)[0].id

        return answered(MadeToken(await self._database.write(work), token), 201)

    async def revoke_token(self, request: Request, who: Actor) -> Response:
        """DELETE /tokens/{id}."""
        REVOKE_TOKEN.read(request)
        number = request.number()
        if not await self._database.write(api_tokens.revoke, number, who.account_id):
            raise HttpError(404, "not_found", f"The account has no token with the id {number}.")
        return DONE

    async def credentials(self, request: Request, who: Actor) -> Response:
        """GET /credentials."""
        CREDENTIALS.read(request)
        now = self._clock.now_ms()
        known = await self._database.read(
            credentials.of_moderator, who.account_id, self._lifetime, now
        )
        return answered(ListedCredentials([*map(_credential, known)]))

    async def remove_credential(self, request: Request, who: Actor) -> Response:
        """POST /credentials/remove."""
        REMOVE_CREDENTIAL.read(request)
        sent, now = body(request, RemovedCredential), self._clock.now_ms()
        if sent.kind in credentials.LASTING:
            await self._authenticate(who, sent.password, now)
        gone = await self._database.write(
            account_mails.remove_credential, sent.kind, sent.id, who.account_id, now
        )
        if not gone:
            text = f"The account has no {sent.kind} with the id {sent.id}."
            raise HttpError(404, "not_found", text)
        return DONE

    async def _authenticate(self, who: Actor, password: str, now: int) -> None:
        """Raise HttpError 403 unless it is the password of the token's account; 429, 503."""
        if not await self._reauthentication.passes(who.name, password, now):
            raise HttpError(403, "password", "This needs the password of the token's account.")

    async def profile(self, request: Request, who: Actor) -> Response:
        """GET /profile."""
        PROFILE.read(request)
        return answered(_own(await self._database.read(_named_by, who.account_id)))

    async def change_profile(self, request: Request, who: Actor) -> Response:
        """PATCH /profile."""
        CHANGE_PROFILE.read(request)
        sent = asdict(body(request, ProfileBody))
        given = {name: value for name, value in sent.items() if value is not UNSET}

        def work(tx: Transaction) -> Profile:
            return profiles.save(tx, replace(_named_by(tx, who.account_id), **given))

        return answered(_own(await self._database.write(work)))


def _named_by(reader: Reader, number: int) -> Profile:
    """Return the account of that id. Raise HttpError 404."""
    profile = profiles.find(reader, number)
    if profile is None:
        raise HttpError(404, "not_found", f"There is no account with the id {number}.")
    return profile


def _invalid(field: str, problem: str) -> HttpError:
    return HttpError(400, "invalid", f"Please look at: {field}.", {field: problem})


def _lines(text: str) -> list[str]:
    return [*filter(None, text.split("\n"))]


def _account(profile: Profile) -> ListedAccount:
    return ListedAccount(profile.id, profile.name, profile.role, _lines(profile.sites))  # type: ignore[arg-type]  # the table's CHECK says that it is one of them


def _own(profile: Profile) -> OwnProfile:
    shown = (profile.public_name, profile.email, profile.is_verified, profile.site)
    account = _account(profile)
    return OwnProfile(account.id, account.name, account.role, account.sites, *shown)


def _invitation(made: AccountInvitation) -> ListedInvitation:
    return ListedInvitation(
        made.id,
        made.role,  # type: ignore[arg-type]  # the table's CHECK says that it is one of them
        _lines(made.sites),
        made.email,
        made.actor,
        rfc3339(made.created_at),
        rfc3339(made.expires_at),
    )


def _credential(one: Credential) -> ListedCredential:
    return ListedCredential(
        one.kind,  # type: ignore[arg-type]  # one of credentials.TABLES
        one.id,
        one.name,
        rfc3339(one.created_at),
        rfc3339(one.used_at) if one.used_at else None,
        rfc3339(one.expires_at) if one.expires_at else None,
    )


def _token(token: ApiToken) -> ListedToken:
    return ListedToken(
        token.id,
        token.name,
        token.scope,  # type: ignore[arg-type]  # the table's CHECK says that it is one of them
        _lines(token.sites),
        rfc3339(token.created_at),
        rfc3339(token.used_at) if token.used_at else None,
        rfc3339(token.expires_at),
    )
