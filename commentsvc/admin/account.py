"""Account page: a moderator's profile, password, language, and signed-in browsers."""

from msgspec.structs import replace

from commentsvc.admin.access import RequestContext, page_operation
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.render import number, redirect
from commentsvc.admin.review_queue import unreadable_decision
from commentsvc.auth import accounts, passwords, sessions, two_factor
from commentsvc.comments.errors import ProfileRefused
from commentsvc.db.sqlite import Reader, Transaction
from commentsvc.http.forms import Form
from commentsvc.http.messages import Request, Response, first
from commentsvc.http.router import Route
from commentsvc.moderation import profiles
from commentsvc.moderation.permissions import Permission
from commentsvc.moderation.profiles import Profile
from commentsvc.util.i18n import Text, moderators_tags
from commentsvc.util.i18n import gettext as _

# The languages by their own names.
LANGUAGES = {
    "ar": "العربية",
    "de": "Deutsch",
    "en": "English",
    "es": "Español",
    "fr": "Français",
    "it": "Italiano",
    "ja": "日本語",
    "nl": "Nederlands",
    "pl": "Polski",
    "pt": "Português",
    "ru": "Русский",
    "zh": "中文",
}
# The message after a change, by the value of `done` in the page's address.
DONE = {
    "profile": _("Your profile is saved. Your comments show it."),
    "password": _("Your password is changed, and all other browsers are signed out."),
    "session": _("That browser is signed out."),
    "language": _("Saved."),
}


ACCOUNT = page_operation(
    "GET",
    "/moderation/account",
    "The account: the profile, the password, and where it is signed in",
    Permission.ACCOUNT,
)
PROFILE = page_operation(
    "POST", "/moderation/profile", "Change what readers see of a moderator", Permission.ACCOUNT
)
PASSWORD = page_operation("POST", "/moderation/password", "Change the password", Permission.ACCOUNT)
SET_LANGUAGE = page_operation(
    "POST", "/moderation/language", "Choose the language of the pages", Permission.ACCOUNT
)
END_SESSION = page_operation(
    "POST", "/moderation/session", "Sign out elsewhere", Permission.ACCOUNT
)


class Account:
    """The handlers of the account page."""

    def __init__(self, context: AdminContext) -> None:
        self._database = context.service.database
        self._access = context.access
        self._layout = context.layout
        self._cookies = context.authentication.cookies
        self._limiter = context.authentication.limiter
        self._lifetime = context.authentication.lifetime

    def routes(self) -> list[Route]:
        """Return the table of routes."""
        access = self._access
        return [
            access.page(ACCOUNT, self.page),
            access.form(PROFILE, self.change_profile),
            access.form(PASSWORD, self.change_password),
            access.form(SET_LANGUAGE, self.set_language),
            access.form(END_SESSION, self.end_session),
        ]

    async def page(self, request: Request, context: RequestContext) -> Response:
        """GET /moderation/account: 200 with the form for a new password, and the sessions."""
        return await self._show(context, done=DONE.get(first(request.parameters(), "done"), ""))

    async def change_profile(
        self, request: Request, context: RequestContext, form: Form
    ) -> Response:
        """POST /moderation/profile: 303 to the account; its comments show the new profile. 422.

        The fields are `public_name`, `email` and `site`; moderators cannot change their own role.
        """
        given = {field: first(form, field) for field in ("public_name", "email", "site")}

        def work(tx: Transaction) -> None:
            profiles.save(tx, replace(_profile(tx, context), **given))

        try:
            await self._database.write(work)
        except ProfileRefused as error:
            return await self._show(
                context, 422, problem=_("This cannot be saved: %(reason)s.", reason=error), **given
            )
        return redirect("account?done=profile")

    async def change_password(
        self, request: Request, context: RequestContext, form: Form
    ) -> Response:
        """POST /moderation/password: 303 to the account, with a new cookie; 403, 422 or 429.

        All other sessions of the moderator end.
        """
        name = context.moderator.name
        await self._limiter.count("", name, context.now, known=True)
        account = await self._database.read(accounts.find, name)
        stored = account.password_hash if account else passwords.NOBODY
        if not await self._limiter.verify(first(form, "password"), stored, known=True):
            return await self._show(context, 403, problem=_("This is not your current password."))
        if first(form, "new") != first(form, "again"):
            return await self._show(context, 422, problem=_("The two new passwords differ."))
        try:
            new = await self._limiter.hash_password(first(form, "new"))
        except passwords.PasswordRefused as error:
            return await self._show(context, 422, problem=str(error))
        return await self._renew(request, context, new)

    async def _renew(self, request: Request, context: RequestContext, password: str) -> Response:
        """Store the hash of a new password, and continue in a new session."""
        name, agent = context.moderator.name, request.header("user-agent") or ""
        token, cookie = self._access.renew()

        def work(tx: Transaction) -> accounts.Moderator:
            accounts.set_password(tx, name, password)
            account = accounts.find(tx, name)
            assert account is not None, "set_password found it"
            sessions.begin(tx, token, account, agent, context.now)
            return account

        account = await self._database.write(work)
        known = ("Set-Cookie", self._cookies.known(account))
        return redirect("account?done=password", (*cookie, known))

    async def end_session(self, request: Request, context: RequestContext, form: Form) -> Response:
        """POST /moderation/session: 303 to the account; the moderator's session `id` is ended.

        404 if it is not an id.
        """
        session_id, moderator_id = number(first(form, "id")), context.moderator.moderator_id
        await self._database.write(sessions.end, session_id, moderator_id)
        return redirect("account?done=session")

    async def set_language(self, _: Request, context: RequestContext, form: Form) -> Response:
        """POST /moderation/language: 303 to the account; sets the language of the pages. 400."""
        tag = first(form, "language")
        if tag and tag not in moderators_tags():
            raise unreadable_decision()
        await self._database.write(accounts.set_language, context.moderator.moderator_id, tag)
        return redirect("account?done=language")

    async def _show(
        self,
        context: RequestContext,
        status: int = 200,
        *,
        done: Text = "",
        problem: Text = "",
        **given: str,
    ) -> Response:
        moderator_id = context.moderator.moderator_id
        profile = await self._database.read(_profile, context)
        mine = await self._database.read(
            sessions.of_moderator, moderator_id, self._lifetime, context.now
        )
        factor = await self._database.read(two_factor.is_on, moderator_id)
        return await self._layout.render(
            "account.html",
            context,
            status,
            sessions=mine,
            profile=replace(profile, **given),
            name_length=profiles.NAME_LENGTH,
            factor=factor,
            languages={tag: LANGUAGES.get(tag, tag) for tag in moderators_tags()},
            done=done,
            problem=problem,
        )


def _profile(reader: Reader, context: RequestContext) -> Profile:
    profile = profiles.find(reader, context.moderator.moderator_id)
    assert profile is not None, "a session ends with its account"
    return profile
