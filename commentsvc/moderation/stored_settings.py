"""Stored settings: what owners have changed in the browser, and the history of these changes.

The newest change of a setting has its value. Undoing a change writes a new one, so that nothing is
ever rewritten. Each instance reads the values anew after SETTINGS_TAG was purged, and all cached
answers are purged with it.

A setting that cannot be changed raises SettingRefused.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from peewee import fn

from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.schema.moderation import SettingChangeTable as Table
from commentsvc.model import EVERY_TAG, SETTINGS_TAG
from commentsvc.settings import everyday, needs
from commentsvc.settings.everyday import ORIGINS, SETTINGS, Applied, Key, SettingRefused
from commentsvc.settings.loader import LoadedSettings
from commentsvc.settings.schema import Settings
from commentsvc.util.i18n import Text
from commentsvc.util.i18n import gettext as _

KEPT: Final = 200  # older changes are forgotten, unless they are the newest of their setting
SHOWN: Final = 30  # in the history

_encode = msgspec.json.encode


class SettingChange(msgspec.Struct, frozen=True):
    """A change of a setting; `old` and `new` are JSON, None for the value of the file."""

    id: int
    site: str | None
    key: str
    old: str | None
    new: str | None
    actor: str
    created_at: int
    undone_by: str | None

    @property
    def of(self) -> Key:
        """Which setting was changed."""
        return (self.site or "", self.key)

    def value(self, text: str | None) -> Any:  # Any: whatever type the setting has
        """Return the value in `old` or `new`; None for that of the file. Raise SettingRefused."""
        return None if text is None else SETTINGS[self.key].parse(msgspec.json.decode(text))


_COLUMNS: Final = [getattr(Table, name) for name in SettingChange.__struct_fields__]


def current(snapshot: Snapshot) -> list[SettingChange]:
    """Return the newest change of each setting, oldest first."""
    newest = Table.select(fn.MAX(Table.id)).group_by(Table.site, Table.key)
    found = Table.select(*_COLUMNS).where(Table.id.in_(newest)).order_by(Table.id)
    return [SettingChange(*row) for row in snapshot.query(found)]


def newest_id(changes: Sequence[SettingChange]) -> int:
    """Return the id of the newest of these changes, 0 without any: see `Change.seen`."""
    return max((each.id for each in changes), default=0)


def values(snapshot: Snapshot) -> dict[Key, object]:
    """Return the stored values, as JSON has them, oldest change first."""
    return decoded(current(snapshot))


def decoded(changes: Sequence[SettingChange]) -> dict[Key, object]:
    """Return the values that changes have stored, as JSON has them."""
    return {each.of: msgspec.json.decode(each.new) for each in changes if each.new is not None}


def history(snapshot: Snapshot) -> list[SettingChange]:
    """Return the newest changes of settings that can still be changed, the newest first."""
    found = Table.select(*_COLUMNS).where(Table.key.in_([*SETTINGS]))
    rows = snapshot.query(found.order_by(Table.id.desc()).limit(SHOWN))
    return [SettingChange(*row) for row in rows]


class Change(msgspec.Struct, frozen=True):
    """What an account `who` changes at the time `now`: a new value for each of some settings.

    `seen` is the newest change that it had seen then.
    """

    wanted: Mapping[Key, Any]  # Any: values of different types
    seen: int
    who: str
    now: int


def store(tx: Transaction, loaded: LoadedSettings, change: Change) -> Settings:
    """Store the values that differ from those in force; return the settings then in force.

    Nothing is stored if one of them cannot be. Raise SettingRefused, also if somebody else has
    changed one of them since.
    """
    newest = {each.of: each for each in current(tx)}
    applied = everyday.apply(loaded, values(tx))
    before = applied.settings
    known = {*everyday.keys(before)}
    for key, new in change.wanted.items():
        if key[1] != ORIGINS and key not in known:
            raise SettingRefused(_("There is no site %(site)s any more.", site=key[0]))
        last = newest.get(key)
        was = last.new if last else None
        is_usual = new == everyday.value(loaded.settings, key)
        written = None if is_usual else _encode(new).decode()
        if new == everyday.value(before, key) and written == was:
            continue
        if key in loaded.locations and not is_usual:
            raise SettingRefused(_("%(what)s is set elsewhere.", what=SETTINGS[key[1]].label))
        if last and last.id > change.seen:
            raise SettingRefused(_meanwhile(last))
        _add(tx, key, (was, written), change)
    found = everyday.apply(loaded, values(tx))
    _refuse_contradictions(change, applied, found)
    _forget_old(tx)
    tx.purge(SETTINGS_TAG)
    tx.purge(EVERY_TAG)
    return found.settings


def undo(tx: Transaction, loaded: LoadedSettings, change_id: int, who: str, now: int) -> Settings:
    """Take back a change, if it is the newest of its setting; return the settings in force then.

    Raise SettingRefused.
    """
    found = next((each for each in current(tx) if each.id == change_id), None)
    if found is None or found.key not in SETTINGS:
        raise SettingRefused(_("This setting was changed again: undo that first."))
    old = found.value(found.old)
    usual = everyday.value(loaded.settings, found.of)
    wanted = {found.of: usual if old is None else old}
    settings = store(tx, loaded, Change(wanted, change_id, who, now))
    tx.change(Table.update(undone_by=who).where(Table.id == change_id))
    return settings


def _add(tx: Transaction, key: Key, values: tuple[str | None, str | None], change: Change) -> None:
    old, new = values
    row = {"site": key[0] or None, "key": key[1], "old": old, "new": new}
    tx.change(Table.insert(row | {"actor": change.who, "created_at": change.now}))


def _meanwhile(last: SettingChange) -> Text:
    return _(
        "%(name)s has changed “%(what)s” since you opened this page. Compare both, and save again.",
        name=last.actor,
        what=SETTINGS[last.key].label,
    )


def _refuse_contradictions(change: Change, before: Applied, found: Applied) -> None:
    """Raise SettingRefused if something that is wanted is not in force.

    So does what puts another setting out of force, other than those of a site that is removed, and
    what closes a site to everybody that was open `before`.
    """
    removed = {
        site for (site, name), value in change.wanted.items() if name == ORIGINS and not value
    }
    for key, reason in found.left_out.items():
        if key in change.wanted or (key not in before.left_out and key[0] not in removed):
            raise SettingRefused(reason)
    for site in {*needs.closed(found.settings)} - {*needs.closed(before.settings)}:
        raise SettingRefused(
            _(
                "Nobody could write on %(site)s: no way to sign in is set up there. Leave out"
                " “required”, or ask whoever runs the server to set one up.",
                site=site,
            )
        )


def _forget_old(tx: Transaction) -> None:
    ids = tx.query(Table.select(Table.id).order_by(Table.id.desc()).limit(1).offset(KEPT))
    if ids:
        newest: Sequence[int] = [each.id for each in current(tx) if each.new is not None]
        tx.change(Table.delete().where(Table.id <= ids[0][0], Table.id.not_in(newest)))
