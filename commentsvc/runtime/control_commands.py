"""Control commands: what a command asks to be written.

An order crosses the control socket as JSON where a server runs, and is written by the
command itself where none does; either way by its own `apply`, in one transaction. Urls in it are
canonical: whoever makes an order has read the settings.
"""

from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from commentsvc.auth import accounts, api_tokens, two_factor
from commentsvc.comments import errors, queries, threads
from commentsvc.db import inbox
from commentsvc.db.schema.inbox import ReceivedMail
from commentsvc.db.sqlite import Transaction
from commentsvc.imports import store
from commentsvc.moderation import actions, decisions, pins, profiles, retention
from commentsvc.spam import bans

# Who decides in a terminal: stands in a comment's history.
COMMAND_LINE: Final = "command line"

Id = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


class CommandResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of it: ids that changed, those that did not with their status, or a number.

    `address` is where the server listens, and `proxy_header` whether it wants a header of the PROXY
    protocol there; `manager` is that of the service manager that started it, "" for none. `error`
    is empty where it did what was asked; a `note` says why nothing was to be done.
    """

    changed: tuple[int, ...] = ()
    unchanged: dict[int, str] = {}
    moved: int = 0
    address: str = ""
    proxy_header: bool = False
    manager: str = ""
    error: str = ""
    note: str = ""


class ControlCommand(
    msgspec.Struct, frozen=True, tag_field="do", tag=str.lower, forbid_unknown_fields=True
):
    """What all orders share: a name on the wire, and no unknown fields."""


class ChangeStatus(ControlCommand, frozen=True):
    """Give the status `to` to the comments `ids`, or to `all` that are pending."""

    to: Literal["approved", "spam", "deleted"]
    ids: tuple[Id, ...] = ()
    all: bool = False

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Do it at the moment `now` (Unix milliseconds)."""
        ids = queries.pending_ids(tx) if self.all else self.ids
        return _told(actions.change(tx, ids, self.to, COMMAND_LINE, now))


class UndoChange(ControlCommand, frozen=True):
    """Take back the last change of each of `ids`, or what the last command changed."""

    ids: tuple[Id, ...] = ()

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Do it at the moment `now`."""
        if self.ids:
            return _told(actions.undo_last(tx, self.ids, COMMAND_LINE, now))
        act = actions.last_act(tx, COMMAND_LINE)
        if not act:
            raise errors.NothingToUndo("no command has changed anything, or all is undone")
        return _told(actions.undo(tx, act, COMMAND_LINE, now))


class EditText(ControlCommand, frozen=True):
    """Give the comment `id` the text `message`, which is within the bounds of one."""

    id: Id
    message: str

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Do it at the moment `now`."""
        return _told(actions.edit(tx, self.id, self.message, COMMAND_LINE, now))


class Close(ControlCommand, frozen=True):
    """Set whether the thread of a page takes comments: its age decides, always, or no more."""

    site: str
    url: str
    state: Literal["aging", "open", "closed"]

    def apply(self, tx: Transaction, _now: int) -> CommandResult:
        """Do it."""
        threads.set_state(tx, self.site, self.url, self.state)
        return CommandResult()


class SetTitle(ControlCommand, frozen=True):
    """Give the page a title, or none where it is ""."""

    site: str
    url: str
    title: str

    def apply(self, tx: Transaction, _now: int) -> CommandResult:
        """Do it."""
        threads.set_title(tx, self.site, self.url, self.title)
        return CommandResult()


class Move(ControlCommand, frozen=True):
    """Put the thread of a page under the url `to`."""

    site: str
    url: str
    to: str

    def apply(self, tx: Transaction, _now: int) -> CommandResult:
        """Do it."""
        threads.move(tx, self.site, self.url, self.to)
        return CommandResult()


class Merge(ControlCommand, frozen=True):
    """Put the comments of the page `url` under the page `into`."""

    site: str
    url: str
    into: str

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Do it at the moment `now`."""
        return CommandResult(
            moved=threads.merge(tx, self.site, self.url, self.into, COMMAND_LINE, now)
        )


class Alias(ControlCommand, frozen=True):
    """Let the url `alias` lead to the page `url`; to itself where that is None."""

    site: str
    alias: str
    url: str | None

    def apply(self, tx: Transaction, _now: int) -> CommandResult:
        """Do it."""
        if self.url is None:
            threads.remove_alias(tx, self.site, self.alias)
        else:
            threads.add_alias(tx, self.site, self.url, self.alias)
        return CommandResult()


class AddBan(ControlCommand, frozen=True):
    """Ban a value of a kind, until the moment `expires` (Unix milliseconds) or for good."""

    kind: Literal["author", "network", "word", "domain"]
    value: str
    expires: int | None = None

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Do it at the moment `now`."""
        ban = bans.add(tx, self.kind, self.value, COMMAND_LINE, now, self.expires)
        return CommandResult(changed=(ban,))


class RemoveBan(ControlCommand, frozen=True):
    """Lift the ban `id`."""

    id: Id

    def apply(self, tx: Transaction, _now: int) -> CommandResult:
        """Do it."""
        bans.remove(tx, self.id)
        return CommandResult(changed=(self.id,))


class ErasePerson(ControlCommand, frozen=True):
    """Erase all comments of the author with the address `email`."""

    email: str

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Do it at the moment `now`."""
        return CommandResult(changed=retention.forget(tx, self.email, COMMAND_LINE, now))


class AnswerComment(ControlCommand, frozen=True):
    """Answer the comment `id` as the moderator `name`, "" for the owner, by `message`."""

    id: Id
    message: str
    name: str = ""

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Do it at the moment `now`; the result names the answer."""
        who = profiles.named(tx, self.name).actor
        answer = decisions.answer(tx, who, self.id, self.message, now)
        return CommandResult(changed=(answer.comment.id,))


class PinComment(ControlCommand, frozen=True):
    """Let the comment `id` stand first on its page, or no more."""

    id: Id
    pinned: bool

    def apply(self, tx: Transaction, _now: int) -> CommandResult:
        """Do it."""
        (pins.pin if self.pinned else pins.unpin)(tx, self.id)
        return CommandResult(changed=(self.id,))


class ChangeProfile(ControlCommand, frozen=True):
    """Change what readers see of the moderator `name`; what is None stays as it is."""

    name: str
    public_name: str | None = None
    email: str | None = None
    site: str | None = None

    def apply(self, tx: Transaction, _now: int) -> CommandResult:
        """Do it."""
        given = msgspec.structs.asdict(self)
        given.pop("name")
        changes = {field: value for field, value in given.items() if value is not None}
        profiles.save(tx, msgspec.structs.replace(profiles.named(tx, self.name), **changes))
        return CommandResult()


class AssignRole(ControlCommand, frozen=True):
    """Give the moderator `name` a role on `sites`, on all for none."""

    name: str
    role: Literal["owner", "moderator", "viewer"]
    sites: tuple[str, ...] = ()

    def apply(self, tx: Transaction, _now: int) -> CommandResult:
        """Do it."""
        profiles.assign(tx, self.name, self.role, self.sites)
        return CommandResult()


class AddToken(ControlCommand, frozen=True):
    """Give the moderator `name` a token with this digest for programs: see `auth.api_tokens`."""

    name: str
    label: str
    scope: Literal["read", "decide", "administer"]
    sites: tuple[str, ...]
    days: int
    digest: bytes

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Do it at the moment `now`."""
        owner = accounts.named(tx, self.name).id
        profiles.check_sites(tx, self.sites)
        offer = api_tokens.offer(
            owner, self.label, self.scope, "\n".join(self.sites), now, self.days
        )
        api_tokens.add(tx, offer, self.digest)
        return CommandResult()


class RevokeToken(ControlCommand, frozen=True):
    """Revoke the token `id` of the moderator `name`."""

    name: str
    id: Id

    def apply(self, tx: Transaction, _now: int) -> CommandResult:
        """Do it; the result names the token where there was one."""
        owner = accounts.named(tx, self.name).id
        gone = api_tokens.revoke(tx, self.id, owner)
        return CommandResult(changed=(self.id,) if gone else ())


class ManageAccount(ControlCommand, frozen=True):
    """Add or remove the moderator `name`, or set a new password, of which this is a hash.

    Or let `name` sign in without a code.
    """

    verb: Literal["add", "remove", "passwd", "no-code"]
    name: str
    password: str = ""

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Do it at the moment `now`."""
        match self.verb:
            case "add":
                accounts.add(tx, self.name, self.password, now)
            case "remove":
                accounts.named(tx, self.name)
                profiles.retire(tx, self.name)
                accounts.remove(tx, self.name)
            case "passwd":
                accounts.set_password(tx, self.name, self.password)
            case "no-code":
                two_factor.switch_off(tx, accounts.named(tx, self.name).id)
        return CommandResult()


class ReceiveMail(ControlCommand, frozen=True):
    """Store a mail that answers one of ours: see db.schema.inbox."""

    digest: bytes
    purpose: int
    comment_id: int
    post_id: int
    expires_day: int
    recipient: bytes
    words: str

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Do it at the moment `now`; the result says why not, where it is not stored."""
        mail = ReceivedMail(**msgspec.structs.asdict(self))
        return CommandResult(note=inbox.add(tx, mail, now))


class BeginImport(ControlCommand, frozen=True):
    """Begin the import of `files` with that `digest`, or go on with it; gives its number.

    `sites` are the names of the sites of the settings, which a new database does not know yet.
    """

    source: str
    files: str
    digest: bytes
    sites: tuple[str, ...]

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Do it at the moment `now`."""
        queries.sync_sites(tx, self.sites)
        return CommandResult(changed=(store.begin(tx, self.source, self.files, self.digest, now),))


class StoreImported(ControlCommand, frozen=True):
    """Store the comments of the stage at the path `stage`, from number `first` to `last`."""

    id: Id
    stage: str
    first: int
    last: int

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Do it at the moment `now`."""
        path = Path(self.stage)
        return CommandResult(moved=store.add(tx, self.id, path, self.first, self.last, now))


class StoreImportedRecords(ControlCommand, frozen=True):
    """Store the other records of the stage, from `first` to `last`: into `site`, or "" their own.

    Only our own export has such.
    """

    id: Id
    stage: str
    first: int
    last: int
    site: str

    def apply(self, tx: Transaction, _now: int) -> CommandResult:
        """Do it."""
        store.add_others(tx, self.id, Path(self.stage), self.first, self.last, self.site)
        return CommandResult()


class LearnImport(ControlCommand, frozen=True):
    """Let comments of the import `id` with the status `label` teach the spam filter."""

    id: Id
    label: Literal["approved", "spam"]

    def apply(self, tx: Transaction, _now: int) -> CommandResult:
        """Do it."""
        return CommandResult(moved=store.learn(tx, self.id, self.label))


class FinishImport(ControlCommand, frozen=True):
    """Note that the import `id` is complete."""

    id: Id

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Do it at the moment `now`."""
        store.finish(tx, self.id, now)
        return CommandResult()


class UndoImport(ControlCommand, frozen=True):
    """Take back `most` comments of the import `id`, of those with ids below `before`.

    Gives how many were taken back, and before which id to go on, or nothing at the end.
    """

    id: Id
    before: Id
    most: int

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Do it at the moment `now`."""
        moved, before = store.remove(tx, self.id, self.before, self.most, now)
        return CommandResult(moved=moved, changed=(before,) if before else ())


Order = (
    ChangeStatus
    | UndoChange
    | EditText
    | Close
    | SetTitle
    | Move
    | Merge
    | Alias
    | AddBan
    | RemoveBan
    | ErasePerson
    | AnswerComment
    | PinComment
    | ChangeProfile
    | AssignRole
    | AddToken
    | RevokeToken
    | ManageAccount
    | ReceiveMail
    | BeginImport
    | StoreImported
    | StoreImportedRecords
    | LearnImport
    | FinishImport
    | UndoImport
)


def _told(outcome: actions.ChangeResult) -> CommandResult:
    return CommandResult(outcome.changed, outcome.unchanged)
