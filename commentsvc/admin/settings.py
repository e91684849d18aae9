"""Page of settings: what differs from the defaults, and forms for the everyday settings.

Whoever reads the service may see it; an owner changes settings, with the account's password. A form
has the number of the newest change that its page showed: a change by somebody else since then is
not undone silently.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from commentsvc.admin.access import RequestContext, get, post
from commentsvc.admin.dashboard import settings_sections
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.reauthentication import WRONG_PASSWORD
from commentsvc.admin.render import number, redirect
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.delivery.settings_rows import sync_settings
from commentsvc.http.messages import Response
from commentsvc.moderation import stored_settings
from commentsvc.moderation.permissions import Permission
from commentsvc.moderation.stored_settings import Change, SettingChange
from commentsvc.settings import everyday
from commentsvc.settings.everyday import (
    GROUPS,
    ORIGINS,
    SETTINGS,
    EverydaySetting,
    Group,
    Key,
    SettingRefused,
    location,
)
from commentsvc.settings.schema import Settings
from commentsvc.spam import dry_run
from commentsvc.spam.dry_run import Tried
from commentsvc.spam.reasons import said
from commentsvc.util.i18n import Text
from commentsvc.util.i18n import gettext as _

SEARCH_LENGTH: Final = 100  # characters
TEXT_LENGTH: Final = 110_000  # of a field: as many words as the settings take, and their lines


# Groups with settings by which comments are judged.
JUDGING: Final = ("waiting", "spam", "site")
# What may become of a comment, by its decision.
DECISIONS: Final = {
    "accept": _("published at once"),
    "hold": _("waits for approval"),
    "spam": _("spam"),
}
BUSY: Final = _("Somebody is trying settings right now. Try it again in some seconds.")


class Field(NamedTuple):
    """A setting in a form: its value as text, and where it is set if it cannot be changed here."""

    setting: EverydaySetting
    text: str
    location: str


class Statement(NamedTuple):
    """A sentence about a setting, the site that it is about, and where the value comes from."""

    site: str
    text: Text
    location: Text


class Past(NamedTuple):
    """A change in the history; only the newest of a setting `is_current`."""

    change: SettingChange
    label: Text
    value: Text
    is_current: bool


class Trial(NamedTuple):
    """What was tried in the form of a group, and what was left out of it."""

    group: str
    tried: Tried
    left_out: tuple[Text, ...]


class SettingsPage:
    """The handlers of the settings page."""

    def __init__(self, context: AdminContext) -> None:
        service = context.service
        self._settings = service.settings
        self._loaded = service.loaded
        self._sites = [site.name for site in service.settings.sites]
        self._database = service.database
        self._layout = context.layout
        self._reauthentication = context.reauthentication
        self._is_trying = False

    @get("/settings", Permission.READ_SERVICE)
    async def page(self, context: RequestContext) -> Response:
        """The settings in effect.

        `?q=` searches; `?site=` names the site whose settings are shown.
        """
        return await self._show(context, {})

    @post("/settings", Permission.ADMINISTER)
    async def change(self, context: RequestContext) -> Response:
        """Change settings, try them, or undo a change.

        `group` and `site` name the form, whose page showed changes until the number `seen`; or
        `undo` is the number of a change. Both take the `password`. 303 to the page; 403 for a wrong
        password, 409 if that cannot be changed now, 422 for an invalid value, 429. With `try`,
        nothing is changed: the page says how these settings judge the last comments.
        """
        group, site = _group(context.first("group")), context.first("site")
        if site and site not in self._sites:
            gone = _("There is no site %(site)s any more.", site=site)
            return await self._show(context.refused(409, gone), {})
        site = self._site(context)
        typed = {
            (site if each.is_of_site else "", each.name): context.first(f"text.{each.name}")
            for each in (group.settings if group else ())
            if each.kind == "switch" or f"text.{each.name}" in context.form
        }
        typed = {key: text for key, text in typed.items() if key not in self._loaded.locations}
        tries = bool(context.first("try"))
        if not tries and not await self._reauthentication.passes(context):
            return await self._show(context.refused(403, WRONG_PASSWORD), typed)
        wanted: dict[Key, Any] = {}  # Any: values of different types
        problems: list[str] = []
        for key, text in typed.items():
            try:
                wanted[key] = SETTINGS[key[1]].typed(text[:TEXT_LENGTH])
            except SettingRefused as error:
                problems.append(str(error.text))
        if problems:
            return await self._show(context.refused(422, "\n".join(problems)), typed)
        if tries:
            return await self._try(context, typed, wanted)
        return await self._save(context, typed, wanted)

    async def _save(
        self, context: RequestContext, typed: Mapping[Key, str], wanted: Mapping[Key, Any]
    ) -> Response:
        """Store the `wanted` values, or undo a change."""
        seen, undone = number(context.first("seen") or "0"), context.first("undo")
        who, now = context.moderator.name, context.now
        done = Change(wanted, seen, who, now)

        def work(tx: Transaction) -> None:
            if undone:
                settings = stored_settings.undo(tx, self._loaded, number(undone), who, now)
            else:
                settings = stored_settings.store(tx, self._loaded, done)
            sync_settings(tx, settings)

        try:
            await self._database.write(work)
        except SettingRefused as error:
            return await self._show(context.refused(409, error.text), typed)
        return redirect(f"settings?site={self._site(context)}&saved=1")

    async def _try(
        self, context: RequestContext, typed: Mapping[Key, str], wanted: Mapping[Key, Any]
    ) -> Response:
        """Show how the `wanted` values would have judged the last comments; one trial at a time."""
        if self._is_trying:
            return await self._show(context.refused(429, BUSY), typed)
        others = self._settings
        for key, new in wanted.items():
            others = everyday.replaced(others, key, new)
        self._is_trying = True
        try:
            tried = await dry_run.run(self._database, self._settings, others, context.now)
        finally:
            self._is_trying = False
        trial = Trial(context.first("group"), tried, tuple(_notes(tried, others)))
        return await self._show(context, typed, trial)

    def _site(self, context: RequestContext) -> str:
        """Return the site that is asked for, or else the first."""
        asked = context.first("site")
        return asked if asked in self._sites else self._sites[0]

    async def _show(
        self, context: RequestContext, typed: Mapping[Key, str], trial: "Trial | None" = None
    ) -> Response:
        def work(snapshot: Snapshot) -> tuple[list[SettingChange], list[SettingChange]]:
            return stored_settings.current(snapshot), stored_settings.history(snapshot)

        current, history = await self._database.read(work)
        site, query = self._site(context), context.first("q")[:SEARCH_LENGTH]
        undone = number(context.first("undo")) if context.first("undo") else 0
        newest = {change.of: change for change in current if change.new is not None}
        return await self._layout.render(
            "settings.html",
            context,
            here="settings",
            saved=_("Saved.") if context.first("saved") else "",
            query=query,
            site=site,
            sites=self._sites,
            seen=stored_settings.newest_id(current),
            statements=[
                each
                for each in (*self._statements(newest), *self._left_out(newest))
                if _found(query, (each.text, each.site))
            ],
            groups=[
                (group, fields)
                for group in GROUPS
                if (fields := [*self._fields(group, site, typed, query)])
            ],
            history=[_past(each, {one.id for one in current}) for each in history],
            undone=next((_before(each) for each in current if each.id == undone), None),
            sections=settings_sections(self._settings),
            longest=TEXT_LENGTH,
            trial=trial,
            judging=JUDGING,
            decisions=DECISIONS,
            said=said,
        )

    def _statements(self, newest: Mapping[Key, SettingChange]) -> Iterator[Statement]:
        """Yield what differs from the defaults."""
        for key in everyday.differing(self._settings):
            where = location(self._loaded.locations.get(key, ""))
            if not where and key in newest:
                where = _("changed here by %(name)s", name=newest[key].actor)
            sentence = SETTINGS[key[1]].sentence(everyday.value(self._settings, key))
            yield Statement(key[0] if len(self._sites) > 1 else "", sentence, where)

    def _left_out(self, newest: Mapping[Key, SettingChange]) -> Iterator[Statement]:
        """Yield the stored values that are not in force."""
        stored = stored_settings.decoded([*newest.values()])
        for key, reason in everyday.apply(self._loaded, stored).left_out.items():
            if key[1] in SETTINGS:
                said = _said(newest[key], newest[key].new)
                yield Statement(key[0], said, _("not in force: %(reason)s", reason=reason))

    def _fields(
        self, group: Group, site: str, typed: Mapping[Key, str], query: str
    ) -> Iterator[Field]:
        """Yield the fields of a form, with what was typed into it before; none if none is found."""
        texts = [group.title, *(each.label for each in group.settings)]
        texts += [word for each in group.settings for word in each.words.values()]
        if not _found(query, (*texts, *(each.name for each in group.settings))):
            return
        for setting in group.settings:
            key = (site if setting.is_of_site else "", setting.name)
            text = typed.get(key, _written(everyday.value(self._settings, key)))
            yield Field(setting, text, str(location(self._loaded.locations.get(key, ""))))


def _notes(tried: Tried, others: Settings) -> Iterator[Text]:
    """Yield what a trial with other settings does not tell."""
    yield _(
        "Refused and deleted comments and those of moderators are not among them. Limits of"
        " networks were not tried. An author is trusted after comments that are approved today."
    )
    if tried.is_sample:
        yield _("This is a sample: there are more comments from these days.")
    if tried.nameless:
        yield _(
            "The networks of %(number)s comments are forgotten: bans of networks do not concern"
            " these.",
            number=tried.nameless,
        )
    if others.spam.bayes:
        yield _("The filter knows these comments: it has learned from the decisions on them.")
    if others.judging_seconds > 0:
        yield _("The program that judges comments beside these rules was not asked.")


def _group(name: str) -> Group | None:
    return next((group for group in GROUPS if group.name == name), None)


def _found(query: str, texts: Sequence[Text]) -> bool:
    """Return whether all words of a query are in the texts, in the language that is spoken."""
    whole = " ".join(map(str, texts)).casefold()
    return all(word in whole for word in query.casefold().split())


def _written(value: object) -> str:
    """Return a value as it stands in a field."""
    if isinstance(value, bool):
        return "1" if value else ""
    return "\n".join(value) if isinstance(value, tuple) else str(value)


def _past(change: SettingChange, current: set[int]) -> Past:
    label = SETTINGS[change.key].label
    return Past(change, label, _said(change, change.new), change.id in current)


def _before(change: SettingChange) -> Past | None:
    """Return what the setting of a change was before it; None for a setting of another version."""
    setting = SETTINGS.get(change.key)
    return Past(change, setting.label, _said(change, change.old), True) if setting else None


def _said(change: SettingChange, text: str | None) -> Text:
    """Return a sentence about a value of a change."""
    setting = SETTINGS[change.key]
    try:
        value = change.value(text)
    except SettingRefused:  # of another version
        value = None
    if value is None and change.key == ORIGINS:
        value = ()
    usual = _("%(what)s: as in the file, or the default", what=setting.label)
    return usual if value is None else setting.sentence(value)
