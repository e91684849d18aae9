"""Page of sites: an owner adds a site, changes its addresses, or removes it, without a shell.

Whoever reads the service may see the sites; a change takes the account's password, since pages at a
site's addresses may send comments, and mails lead there. Like the other settings that are changed
in the browser, sites are in the history of the page of settings, which undoes changes; and what the
file or the environment sets cannot be changed here. A removed site keeps its comments.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from commentsvc.admin.access import RequestContext, get, post
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.reauthentication import WRONG_PASSWORD
from commentsvc.admin.render import number, redirect
from commentsvc.db.connection import Transaction
from commentsvc.delivery.settings_rows import sync_settings
from commentsvc.http.messages import Response
from commentsvc.moderation import stored_settings
from commentsvc.moderation.permissions import Permission
from commentsvc.moderation.stored_settings import Change
from commentsvc.settings.everyday import (
    MOST_ORIGINS,
    ORIGIN_LENGTH,
    ORIGINS,
    SETTINGS,
    Key,
    SettingRefused,
    is_site_name,
    location,
)
from commentsvc.util.i18n import Text
from commentsvc.util.i18n import gettext as _

NAME_LENGTH: Final = 40  # characters
EXAMPLE: Final = "https://blog.example"
LENGTH: Final = MOST_ORIGINS * (ORIGIN_LENGTH + 2)  # of the addresses as they are typed


class ListedSite(NamedTuple):
    """A site; `location` says where it is set if its addresses cannot be changed here.

    It `may_go` if the file does not have it.
    """

    name: str
    origins: str
    location: Text
    may_go: bool


class SitesPage:
    """The handlers of the page."""

    def __init__(self, context: AdminContext) -> None:
        service = context.service
        self._loaded = service.loaded
        self._sites = service.settings.sites
        self._of_file = {site.name for site in service.loaded.settings.sites}
        self._database = service.database
        self._layout = context.layout
        self._reauthentication = context.reauthentication

    @get("/sites", Permission.READ_SERVICE)
    async def page(self, context: RequestContext) -> Response:
        """The sites. `?remove=` names one that is to be removed."""
        return await self._show(context)

    @post("/sites", Permission.ADMINISTER)
    async def change(self, context: RequestContext) -> Response:
        """Add the site `name` with its `origins`, one on each line (`do` is "add").

        Or change the `origins` ("change"), or remove the site ("remove"), unless it was changed
        after the change `seen`. It takes the `password`. 303 to the lines for the new site, or to
        the page; 403 for a wrong password, 409 if that cannot be changed, 422 for an invalid name
        or address, 429.
        """
        do, name = context.first("do"), context.first("name").strip()
        if not await self._reauthentication.passes(context):
            return await self._show(context.refused(403, WRONG_PASSWORD))
        if problem := self._problem(do, name):
            return await self._show(context.refused(422, problem))
        origins: tuple[str, ...] = ()
        if do != "remove":
            try:
                origins = SETTINGS[ORIGINS].typed(context.first("origins")[:LENGTH])
            except SettingRefused as error:
                return await self._show(context.refused(422, error.text))
            if not origins:
                return await self._show(context.refused(422, _("Write at least one address.")))
        wanted: Mapping[Key, Any] = {(name, ORIGINS): origins}  # Any: as in Change
        seen = number(context.first("seen") or "0")
        change = Change(wanted, seen, context.moderator.name, context.now)

        def work(tx: Transaction) -> None:
            sync_settings(tx, stored_settings.store(tx, self._loaded, change))

        try:
            await self._database.write(work)
        except SettingRefused as error:
            return await self._show(context.refused(409, error.text))
        if do == "add":
            return redirect(f"snippet?site={quote(name)}")
        return redirect("sites?saved=1")

    def _problem(self, do: str, name: str) -> Text:
        """Return why that cannot be done with the site `name`; "" if it can."""
        is_there = any(site.name == name for site in self._sites)
        if do == "add":
            if not is_site_name(name):
                return _("The name of a site has 1 to 40 characters of a-z, 0-9 and -.")
            return _("There is a site %(site)s already.", site=name) if is_there else ""
        if not is_there:
            return _("There is no site %(site)s any more.", site=name[:NAME_LENGTH])
        if do == "remove" and name in self._of_file:
            return _("The settings file has this site: remove it there.")
        return ""

    async def _show(self, context: RequestContext) -> Response:
        current = await self._database.read(stored_settings.current)
        do, name, origins = (context.first(field) for field in ("do", "name", "origins"))
        sites = [
            ListedSite(
                site.name,
                origins if (do, name) == ("change", site.name) else "\n".join(site.origins),
                location(self._loaded.locations.get((site.name, ORIGINS), "")),
                site.name not in self._of_file,
            )
            for site in self._sites
        ]
        removed = context.first("remove")
        return await self._layout.render(
            "sites.html",
            context,
            here="settings",
            saved=_("Saved.") if context.first("saved") else "",
            sites=sites,
            removed=next((each for each in sites if each.name == removed and each.may_go), None),
            seen=stored_settings.newest_id(current),
            new=(name, origins) if do == "add" else ("", ""),
            example=EXAMPLE,
            name_length=NAME_LENGTH,
            length=LENGTH,
        )
