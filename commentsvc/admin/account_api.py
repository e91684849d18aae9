"""The JSON API for accounts: roles, invitations, tokens, and one's own profile.

Like the rest of `json_api`, it is for programs with a token. Passwords, codes, passkeys and
sessions are not part of it: they belong to a person with a browser.
"""

from os import urandom
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict, replace

from commentsvc.admin.invite import Inviter
from commentsvc.admin.json_api import DONE, operation_of
from commentsvc.admin.token_access import TokenAccess, answered, body
from commentsvc.api.serialize import Answer, Moment
from commentsvc.auth import api_tokens, invitations
from commentsvc.auth.api_tokens import NAME_LENGTH, TOKEN_SIZE, ApiToken
from commentsvc.auth.invitations import AccountInvitation
from commentsvc.comments.submission import is_email
from commentsvc.context import ServiceContext
from commentsvc.db.sqlite import Reader, Transaction
from commentsvc.http.messages import HttpError, Request, Response
from commentsvc.http.operation import NOTHING, json_of
from commentsvc.http.router import Route
from commentsvc.moderation import profiles
from commentsvc.moderation.permissions import Actor, Permission
from commentsvc.moderation.profiles import Profile
from commentsvc.util.timestamps import rfc3339

Role = Literal["owner", "moderator", "viewer"]
Scope = Literal["read", "decide", "administer"]
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
    """The purpose of a new token and what it allows, on `sites` or, without any, on all."""

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


class OwnProfile(Answer, frozen=True):
    """The account that the token belongs to, and what readers see of it."""

    id: int
    name: str
    role: Role
    sites: list[str]
    public_name: str
    email: str
    site: str


class ProfileBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What readers see of an account. Absent fields stay unchanged; "" removes a value."""

    public_name: Annotated[str, Meta(max_length=300)] | UnsetType = UNSET
    email: Annotated[str, Meta(max_length=254)] | UnsetType = UNSET
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
    errors=(409, 415),
)
REVOKE_TOKEN = operation_of(
    *("DELETE", "/tokens/{id}", "Revoke a token of one's own account", Permission.ADMINISTER),
    answers={204: NOTHING},
    errors=(404,),
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
        token, digest = api_tokens.new_token(urandom(TOKEN_SIZE))
        sites = "\n".join(dict.fromkeys(sent.sites))
        offer = api_tokens.offer(who.account_id, sent.name, sent.scope, sites, now, sent.days)

        def work(tx: Transaction) -> int:
            profiles.check_sites(tx, sent.sites)
            api_tokens.add(tx, offer, digest)
            return api_tokens.of_moderator(tx, who.account_id)[0].id

        return answered(MadeToken(await self._database.write(work), token), 201)

    async def revoke_token(self, request: Request, who: Actor) -> Response:
        """DELETE /tokens/{id}."""
        REVOKE_TOKEN.read(request)
        number = request.number()
        if not await self._database.write(api_tokens.revoke, number, who.account_id):
            raise HttpError(404, "not_found", f"The account has no token with the id {number}.")
        return DONE

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
    shown = (profile.public_name, profile.email, profile.site)
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
