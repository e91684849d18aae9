"""Control commands: the writes that a command line can ask for.

If a server runs, a command crosses the control socket as JSON; if not, the process of the command
line runs it itself. In both cases its `apply` runs in one transaction. Urls are canonical: whoever
makes a command has read the settings.
"""

from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from commentsvc import errors
from commentsvc.auth import account_mails, accounts, api_tokens, two_factor
from commentsvc.comments import queries, site_rows
from commentsvc.db.connection import Transaction
from commentsvc.db.schema.inbox import MailedComment, ReceivedMail
from commentsvc.feedback import reactions, views
from commentsvc.inbox import inbox
from commentsvc.moderation import (
    authorized,
    changes,
    moved_pages,
    pins,
    profiles,
    retention,
    site_names,
    threads,
    translations,
    undo,
)
from commentsvc.moderation.moved_pages import BlogAnswer
from commentsvc.moderation.translations import Version
from commentsvc.settings.schema import Settings
from commentsvc.spam import bans
from commentsvc.util.i18n import TAG

# The name of the actor in a comment's history for decisions from a terminal.
COMMAND_LINE: Final = "command line"
MERGER: Final = "thread translations"  # the command that merges translations, and takes that back

Id = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


class CommandResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result: ids that changed, those that did not with their status, or a number.

    `address` is where the server listens; `proxy_header` says whether it expects a PROXY protocol
    header there; `manager` is the address of the service manager that started it, "" for none.
    `error` is empty after success; `note` says why nothing was done. `settings` are those of the
    server, if they were asked for.
    """

    changed: tuple[int, ...] = ()
    unchanged: dict[int, str] = {}
    moved: int = 0
    address: str = ""
    proxy_header: bool = False
    manager: str = ""
    error: str = ""
    note: str = ""
    settings: Settings | None = None


class ControlCommand(
    msgspec.Struct, frozen=True, tag_field="do", tag=str.lower, forbid_unknown_fields=True
):
    """The base of all commands: a name in JSON, and no unknown fields."""

    def apply(self, tx: Transaction, now: int) -> CommandResult | None:
        """Run the command at the time `now` (Unix milliseconds); see `run`."""
        raise NotImplementedError

    def run(self, tx: Transaction, now: int) -> CommandResult:
        """Run the command; return its result, an empty one if it has none."""
        return self.apply(tx, now) or CommandResult()


class ChangeStatus(ControlCommand, frozen=True):
    """Set the status of the comments `ids`, or of `all` pending ones, to `to`."""

    to: Literal["approved", "spam", "deleted"]
    ids: tuple[Id, ...] = ()
    all: bool = False

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        ids = queries.pending_ids(tx) if self.all else self.ids
        return _command_result(changes.change(tx, ids, self.to, COMMAND_LINE, now))


class UndoChange(ControlCommand, frozen=True):
    """Take back the last change of each of `ids`, or without ids what the last command changed."""

    ids: tuple[Id, ...] = ()

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        if self.ids:
            return _command_result(undo.last(tx, self.ids, COMMAND_LINE, now))
        decision_id = undo.last_decision(tx, COMMAND_LINE)
        if not decision_id:
            raise errors.NothingToUndo("there is no command to undo")
        return _command_result(undo.decision(tx, decision_id, COMMAND_LINE, now))


class EditText(ControlCommand, frozen=True):
    """Replace the text of the comment `id` by `message`, which has an allowed length."""

    id: Id
    message: str

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        return _command_result(changes.edit(tx, self.id, self.message, COMMAND_LINE, now))


class CorrectLanguage(ControlCommand, frozen=True):
    """Set the language of the comment `id` to the tag `lang`."""

    id: Id
    lang: Annotated[str, msgspec.Meta(pattern=f"^{TAG}$")]

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        return _command_result(changes.correct_language(tx, self.id, self.lang, COMMAND_LINE, now))


class Close(ControlCommand, frozen=True):
    """Set whether the thread of a page closes by its age, stays open, or is closed."""

    site: str
    url: str
    state: Literal["aging", "open", "closed"]

    def apply(self, tx: Transaction, _now: int) -> None:
        threads.set_state(tx, self.site, self.url, self.state)


class SetTitle(ControlCommand, frozen=True):
    """Set the title of a page; "" means none."""

    site: str
    url: str
    title: str

    def apply(self, tx: Transaction, _now: int) -> None:
        threads.set_title(tx, self.site, self.url, self.title)


class Reset(ControlCommand, frozen=True):
    """Set the views of a page to zero, or remove all its reactions."""

    site: str
    url: str
    what: Literal["reactions", "views"]

    def apply(self, tx: Transaction, _now: int) -> None:
        remove = reactions.remove if self.what == "reactions" else views.remove
        remove(tx, threads.find(tx, self.site, self.url))


class Move(ControlCommand, frozen=True):
    """Move the thread of a page to the url `to`."""

    site: str
    url: str
    to: str

    def apply(self, tx: Transaction, _now: int) -> None:
        threads.move(tx, self.site, self.url, self.to)


class Merge(ControlCommand, frozen=True):
    """Move the comments of the page `url` to the page `into`."""

    site: str
    url: str
    into: str

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        merged = threads.merge(tx, self.site, self.url, self.into, COMMAND_LINE, now)
        return CommandResult(moved=merged.moved)


class Alias(ControlCommand, frozen=True):
    """Make the url `alias` an alias of the page `url`, or a page of its own if that is None."""

    site: str
    alias: str
    url: str | None

    def apply(self, tx: Transaction, _now: int) -> None:
        if self.url is None:
            threads.remove_alias(tx, self.site, self.alias)
        else:
            threads.add_alias(tx, self.site, self.url, self.alias)


class SaveUnlisted(ControlCommand, frozen=True):
    """Store what blogs answered for pages that their sitemaps do not list."""

    answers: tuple[BlogAnswer, ...]

    def apply(self, tx: Transaction, _now: int) -> None:
        moved_pages.save(tx, self.answers)


class FollowMoved(ControlCommand, frozen=True):
    """Let the comments of pages that have moved follow them; `ids` are those of threads."""

    ids: tuple[Id, ...]

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        return CommandResult(
            changed=tuple(moved_pages.follow(tx, self.ids, None, COMMAND_LINE, now))
        )


class UndoMoved(ControlCommand, frozen=True):
    """Take back the last FollowMoved."""

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        ids = moved_pages.last(tx, COMMAND_LINE)
        return CommandResult(changed=tuple(moved_pages.undo(tx, ids, None, COMMAND_LINE, now)))


class LinkTranslations(ControlCommand, frozen=True):
    """Make one thread of each page in its languages; `at` is the same for all that belong together.

    The result is the ids of threads that were merged.
    """

    site: str
    groups: tuple[tuple[Version, ...], ...]
    at: int

    def apply(self, tx: Transaction, _now: int) -> CommandResult:
        merged = [
            each
            for group in self.groups
            for each in translations.link(tx, self.site, group, self.at, MERGER)
        ]
        return CommandResult(changed=tuple(merged))


class SeparateTranslations(ControlCommand, frozen=True):
    """Take back what the last LinkTranslations merged."""

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        return CommandResult(moved=len(translations.undo(tx, MERGER, now)))


class RenameSite(ControlCommand, frozen=True):
    """Give the site `old` the name `new`; with `merges`, that may have content, too."""

    old: str
    new: str
    merges: bool = False

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Run the command at the time `now`; `moved` is the number of comments."""
        renamed = site_names.rename(tx, self.old, self.new, COMMAND_LINE, now, merges=self.merges)
        return CommandResult(moved=renamed)


class AddBan(ControlCommand, frozen=True):
    """Ban a value of a kind, until the time `expires` (Unix milliseconds) or without end."""

    kind: Literal["author", "network", "word", "domain"]
    value: str
    expires: int | None = None

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        ban = bans.add(tx, self.kind, self.value, COMMAND_LINE, now, self.expires)
        return CommandResult(changed=(ban,))


class RemoveBan(ControlCommand, frozen=True):
    """Lift the ban `id`."""

    id: Id

    def apply(self, tx: Transaction, _now: int) -> CommandResult:
        bans.remove(tx, self.id)
        return CommandResult(changed=(self.id,))


class ErasePerson(ControlCommand, frozen=True):
    """Erase all comments of the author with the address `email`."""

    email: str

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        return CommandResult(changed=retention.forget(tx, self.email, COMMAND_LINE, now))


class AnswerComment(ControlCommand, frozen=True):
    """Answer the comment `id` with `message` as the moderator `name`, "" for the owner."""

    id: Id
    message: str
    name: str = ""

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Run the command at the time `now`; `changed` has the id of the answer."""
        who = profiles.named(tx, self.name).actor
        answer = authorized.answer(tx, who, self.id, self.message, now)
        return CommandResult(changed=(answer.comment.id,))


class PinComment(ControlCommand, frozen=True):
    """Pin the comment `id` on its page, or unpin it."""

    id: Id
    pinned: bool

    def apply(self, tx: Transaction, _now: int) -> CommandResult:
        (pins.pin if self.pinned else pins.unpin)(tx, self.id)
        return CommandResult(changed=(self.id,))


class ChangeProfile(ControlCommand, frozen=True):
    """Change the profile of the moderator `name`; fields that are None stay unchanged."""

    name: str
    public_name: str | None = None
    email: str | None = None
    site: str | None = None

    def apply(self, tx: Transaction, now: int) -> None:
        """Run the command at the time `now`. Whoever runs it vouches for the address."""
        given = msgspec.structs.asdict(self)
        given.pop("name")
        changes = {field: value for field, value in given.items() if value is not None}
        before = profiles.named(tx, self.name)
        profiles.save(tx, msgspec.structs.replace(before, **changes | {"email": before.email}))
        if self.email is not None:
            profiles.verify(tx, profiles.named(tx, self.name), self.email)
            account_mails.tell(tx, before.id, account_mails.ADDRESS, now, former=before.email)


class AssignRole(ControlCommand, frozen=True):
    """Give the moderator `name` a role on `sites`, on all if there are none."""

    name: str
    role: Literal["owner", "moderator", "viewer"]
    sites: tuple[str, ...] = ()

    def apply(self, tx: Transaction, _now: int) -> None:
        profiles.assign(tx, self.name, self.role, self.sites)


class AddToken(ControlCommand, frozen=True):
    """Store an API token with this digest for the moderator `name`: see `auth.api_tokens`."""

    name: str
    label: str
    scope: Literal["read", "decide", "administer"]
    sites: tuple[str, ...]
    days: int
    digest: bytes

    def apply(self, tx: Transaction, now: int) -> None:
        owner = accounts.named(tx, self.name).id
        profiles.check_sites(tx, self.sites)
        offer = api_tokens.offer(
            owner, self.label, self.scope, "\n".join(self.sites), now, self.days
        )
        api_tokens.add(tx, offer, self.digest)
        account_mails.tell(tx, owner, account_mails.TOKEN, now)


class RevokeToken(ControlCommand, frozen=True):
    """Revoke the token `id` of the moderator `name`."""

    name: str
    id: Id

    def apply(self, tx: Transaction, _now: int) -> CommandResult:
        """Run the command; `changed` has the token's id if it existed."""
        owner = accounts.named(tx, self.name).id
        gone = api_tokens.revoke(tx, self.id, owner)
        return CommandResult(changed=(self.id,) if gone else ())


class RemoveCredential(ControlCommand, frozen=True):
    """Remove a credential of the moderator `name`: see `auth.credentials`."""

    name: str
    kind: Literal["session", "blog", "token", "passkey", "identity"]
    id: Id

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Run the command at the time `now`; `changed` has the id if it existed."""
        owner = accounts.named(tx, self.name).id
        gone = account_mails.remove_credential(tx, self.kind, self.id, owner, now)
        return CommandResult(changed=(self.id,) if gone else ())


class ManageAccount(ControlCommand, frozen=True):
    """Add or remove the moderator `name`, set a new password, or turn off two-factor sign-in.

    `password` is the hash of the password.
    """

    verb: Literal["add", "remove", "passwd", "no-code"]
    name: str
    password: str = ""

    def apply(self, tx: Transaction, now: int) -> None:
        match self.verb:
            case "add":
                accounts.add(tx, self.name, self.password, now)
            case "remove":
                accounts.named(tx, self.name)
                profiles.remove(tx, self.name)
            case "passwd":
                accounts.set_password(tx, self.name, self.password)
                owner = accounts.named(tx, self.name).id
                account_mails.tell(tx, owner, account_mails.PASSWORD, now)
            case "no-code":
                owner = accounts.named(tx, self.name).id
                two_factor.switch_off(tx, owner)
                account_mails.tell(tx, owner, account_mails.FACTOR, now)


class ReceiveMail(ControlCommand, frozen=True):
    """Store a received mail that answers one of ours: see db.schema.inbox."""

    digest: bytes
    purpose: int
    comment_id: int
    outbox_id: int
    expires_day: int
    recipient: bytes
    words: str
    doubt: str

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        """Run the command at the time `now`; `note` says why the mail was refused, if it was."""
        mail = ReceivedMail(**msgspec.structs.asdict(self))
        return CommandResult(note=inbox.add(tx, mail, now))


class ReceiveComment(ControlCommand, frozen=True):
    """Store a comment that came by mail: see db.schema.inbox."""

    digest: bytes
    site: str
    url: str
    email: str
    author: str
    words: str
    language: str
    is_authenticated: bool = False

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        mail = MailedComment(**msgspec.structs.asdict(self))
        return CommandResult(note=inbox.add_comment(tx, mail, now))


class BeginImport(ControlCommand, frozen=True):
    """Begin the import of `files` with that `digest`, or continue it; the result is its id.

    `sites` are the names of the sites of the settings, which a new database does not know yet.
    """

    source: str
    files: str
    digest: bytes
    sites: tuple[str, ...]

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        from commentsvc.imports.store import store

        site_rows.sync(tx, self.sites)
        return CommandResult(changed=(store.begin(tx, self.source, self.files, self.digest, now),))


class StoreImported(ControlCommand, frozen=True):
    """Store the comments from number `first` to `last` of the staging file at `staging`."""

    id: Id
    staging: str
    first: int
    last: int

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        from commentsvc.imports.staging import reading
        from commentsvc.imports.store import store

        pieces = reading.ready(Path(self.staging), self.first, self.last)
        return CommandResult(moved=store.add(tx, self.id, pieces, now))


class StoreImportedRecords(ControlCommand, frozen=True):
    """Store the other records of the staging file, from `first` to `last`.

    They go into the site `site`, or their own if that is "". Only our own export has such records.
    """

    id: Id
    staging: str
    first: int
    last: int
    site: str

    def apply(self, tx: Transaction, _now: int) -> None:
        from commentsvc.imports.store import store

        store.add_others(tx, self.id, Path(self.staging), self.first, self.last, self.site)


class LearnImport(ControlCommand, frozen=True):
    """Train the spam filter with comments of the import `id` that have the status `label`."""

    id: Id
    label: Literal["approved", "spam"]

    def apply(self, tx: Transaction, _now: int) -> CommandResult:
        from commentsvc.imports.store import store

        return CommandResult(moved=store.learn(tx, self.id, self.label))


class FinishImport(ControlCommand, frozen=True):
    """Note that the import `id` is complete."""

    id: Id

    def apply(self, tx: Transaction, now: int) -> None:
        from commentsvc.imports.store import store

        store.finish(tx, self.id, now)


class UndoImport(ControlCommand, frozen=True):
    """Delete at most `most` comments of the import `id`, of those with ids below `before`.

    The result is how many were deleted, and the next value of `before`, or nothing at the end.
    """

    id: Id
    before: Id
    most: int

    def apply(self, tx: Transaction, now: int) -> CommandResult:
        from commentsvc.imports.store import store

        moved, before = store.remove(tx, self.id, self.before, self.most, now)
        return CommandResult(moved=moved, changed=(before,) if before else ())


Order = (
    ChangeStatus
    | UndoChange
    | EditText
    | CorrectLanguage
    | Close
    | SetTitle
    | Reset
    | Move
    | Merge
    | Alias
    | SaveUnlisted
    | FollowMoved
    | UndoMoved
    | LinkTranslations
    | SeparateTranslations
    | RenameSite
    | AddBan
    | RemoveBan
    | ErasePerson
    | AnswerComment
    | PinComment
    | ChangeProfile
    | AssignRole
    | AddToken
    | RevokeToken
    | RemoveCredential
    | ManageAccount
    | ReceiveMail
    | ReceiveComment
    | BeginImport
    | StoreImported
    | StoreImportedRecords
    | LearnImport
    | FinishImport
    | UndoImport
)


def _command_result(outcome: changes.ChangeResult) -> CommandResult:
    return CommandResult(outcome.changed, outcome.unchanged)
