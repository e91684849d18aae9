"""The JSON API of the settings that owners change in the browser, with the rules of the pages.

What the file or the environment sets cannot be changed, and each change takes the password of the
token's account. `site.origins` of a new site adds it; an empty list removes a site.
"""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from commentsvc.admin.api.accounts import Password
from commentsvc.admin.api.password_check import PasswordCheck
from commentsvc.admin.api.token_access import Plain, Sent, endpoint
from commentsvc.api.serialize import Answer, Moment
from commentsvc.comments.submission import MalformedError
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.delivery.settings_rows import sync_settings
from commentsvc.http.messages import HttpError
from commentsvc.moderation import stored_settings
from commentsvc.moderation.permissions import Permission
from commentsvc.moderation.stored_settings import Change, SettingChange
from commentsvc.settings import everyday
from commentsvc.settings.everyday import SETTINGS, SettingRefused, location
from commentsvc.util.i18n import translate
from commentsvc.util.timestamps import rfc3339_ms

Value = bool | int | str | list[str]


class EverydayValue(Answer, frozen=True):
    """A setting of a site, "" for the service, and its value in force.

    `set_in` says where the operator has set it, so that it cannot be changed here; else it is "".
    """

    site: str
    name: str
    value: Value
    set_in: str


class ListedSettingChange(Answer, frozen=True):
    """A change of a setting; null stands for the value of the file, or the default."""

    id: int
    site: str
    name: str
    old: Value | None
    new: Value | None
    actor: str
    changed: Moment
    undone_by: str | None


class EverydaySettings(Answer, frozen=True):
    """All settings that can be changed, the last changes, and the id of the newest one, `seen`."""

    data: list[EverydayValue]
    changes: list[ListedSettingChange]
    seen: int


class SettingsBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """New values by the names of settings, of a `site` or "" of the service.

    `seen` is that of the answer on which the change is based: nothing is changed if somebody else
    has changed one of these since. It takes the password of the token's account.
    """

    values: Annotated[dict[str, Value], Meta(min_length=1, max_length=100)]
    seen: int
    password: Password
    site: Annotated[str, Meta(max_length=40)] = ""


class UndoneSettingBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """It takes the password of the token's account."""

    password: Password


class SettingsApi:
    """The handlers of the settings that owners change."""

    def __init__(self, service: ServiceContext) -> None:
        self._database = service.database
        self._settings = service.settings
        self._loaded = service.loaded
        self._password = PasswordCheck(service)

    @endpoint("GET", "/settings/everyday", Permission.READ_SERVICE)
    async def everyday(self, call: Plain) -> EverydaySettings:
        """The settings that an owner can change, and the last changes."""

        def work(snapshot: Snapshot) -> tuple[list[SettingChange], list[SettingChange]]:
            return stored_settings.current(snapshot), stored_settings.history(snapshot)

        current, history = await self._database.read(work)
        data = [
            EverydayValue(
                *key,
                _plain(everyday.value(self._settings, key)),
                translate(location(self._loaded.locations.get(key, ""))),
            )
            for key in everyday.keys(self._settings)
        ]
        seen = stored_settings.newest_id(current)
        return EverydaySettings(data, [_listed(each) for each in history], seen)

    @endpoint("POST", "/settings/changes", Permission.ADMINISTER, errors=(409,))
    async def change(self, call: Sent[SettingsBody]) -> None:
        """Change settings, all of them or none."""
        sent = call.body
        wanted: dict[everyday.Key, Any] = {}  # Any: values of different types
        for name, value in sent.values.items():
            if name not in SETTINGS:
                raise MalformedError(f"There is no such setting: {name[:60]}.")
            try:
                wanted[(sent.site, name)] = SETTINGS[name].parse(value)
            except SettingRefused as error:
                raise MalformedError(translate(error.text)) from error
        await self._password.require(call, sent.password)
        change = Change(wanted, sent.seen, call.who.name, call.now)

        def work(tx: Transaction) -> None:
            sync_settings(tx, stored_settings.store(tx, self._loaded, change))

        await self._write(work)

    @endpoint("POST", "/settings/changes/{id}/undo", Permission.ADMINISTER, errors=(409,))
    async def undo(self, call: Sent[UndoneSettingBody]) -> None:
        """Take back the newest change of a setting."""
        number, who, now = call.number, call.who.name, call.now
        await self._password.require(call, call.body.password)

        def work(tx: Transaction) -> None:
            sync_settings(tx, stored_settings.undo(tx, self._loaded, number, who, now))

        await self._write(work)

    async def _write(self, work: Callable[[Transaction], None]) -> None:
        try:
            await self._database.write(work)
        except SettingRefused as error:
            raise HttpError(409, "refused", translate(error.text)) from error


def _listed(change: SettingChange) -> ListedSettingChange:
    old, new = (
        None if text is None else msgspec.json.decode(text) for text in (change.old, change.new)
    )
    when, undone_by = rfc3339_ms(change.created_at), change.undone_by
    site = change.site or ""
    return ListedSettingChange(change.id, site, change.key, old, new, change.actor, when, undone_by)


def _plain(value: Any) -> Value:  # Any: whatever type the setting has
    """Return a value as JSON has it."""
    if isinstance(value, tuple):
        return list(value)
    assert isinstance(value, bool | int | str), value
    return value
