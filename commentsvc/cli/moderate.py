"""The commands that moderate comments.

Commands that write ask the server through its control socket; if none answers, they take the lock
on the data and write themselves (see `client`). Each reports the outcome for every comment it
was given, so that nothing fails silently.
"""

from pathlib import Path
from typing import Literal

import click

from commentsvc.cli.common import Choice, ask_for, config_option, counted, data_option
from commentsvc.cli.tables import show

# Changed comments that are named one by one.
SAID = 5

_ids = click.argument("ids", metavar="[ID]...", nargs=-1, type=click.IntRange(1, 2**63 - 1))
_id = click.argument("id_", metavar="ID", type=click.IntRange(1, 2**63 - 1))
_all = click.option("--all", "everything", is_flag=True, help="All pending comments.")


@click.command()
@data_option
@_ids
@_all
def approve(data: Path, ids: tuple[int, ...], everything: bool) -> None:
    """Approve comments, so that readers see them.

    If an ID is unknown, no comment is changed.
    """
    _change(data, "approved", ids, everything)


@click.command()
@data_option
@_ids
@_all
def spam(data: Path, ids: tuple[int, ...], everything: bool) -> None:
    """Mark comments as spam, so that readers no longer see them."""
    _change(data, "spam", ids, everything)


@click.command()
@data_option
@_ids
@_all
def delete(data: Path, ids: tuple[int, ...], everything: bool) -> None:
    """Delete comments. `undo` restores them."""
    _change(data, "deleted", ids, everything)


def _change(
    data: Path, to: Literal["approved", "spam", "deleted"], ids: tuple[int, ...], everything: bool
) -> None:
    if bool(ids) == everything:
        raise click.UsageError("Give the IDs of comments, or --all.")
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import ChangeStatus

    answer = client.write(data, ChangeStatus(to=to, ids=ids, all=everything))
    _say_changed(data, answer.changed, f"is {to}", f"are {to}")
    if everything and not answer.changed:
        click.echo("no comments are pending")
    for id_, status in sorted(answer.unchanged.items()):
        click.echo(f"comment {id_} is unchanged: it is {status}")


def _say_changed(data: Path, ids: tuple[int, ...], one: str, many: str) -> None:
    """Say what became of these comments; of more than SAID, how many there are of which site."""
    if len(ids) <= SAID:
        for id_ in ids:
            click.echo(f"comment {id_} {one}")
        return
    from commentsvc.cli import client
    from commentsvc.comments import queries

    counts = client.read(data, queries.counts_by_site, ids)
    sites = ", ".join(f"{number} of {site}" for site, number in counts.items())
    click.echo(f"{len(ids)} comments {many}: {sites}")


@click.command()
@data_option
@_ids
def undo(data: Path, ids: tuple[int, ...]) -> None:
    """Undo the last command, or the last change of each comment ID."""
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import UndoChange

    answer = client.write(data, UndoChange(ids=ids))
    _say_changed(data, answer.changed, "is as before its last change", "are as before")
    for id_, status in sorted(answer.unchanged.items()):
        click.echo(f"comment {id_} is unchanged: it has been changed again since, and is {status}")


@click.command()
@data_option
@config_option
@_id
def edit(data: Path, settings_file: Path | None, id_: int) -> None:
    """Replace the text of a comment by the text on stdin.

    The text is Markdown. `undo` restores the old text.
    """
    from commentsvc.cli import client
    from commentsvc.comments import queries
    from commentsvc.runtime.control_commands import EditText

    client.read(data, queries.get, id_)  # before anything is typed
    message = _message(data, settings_file)
    changed = client.write(data, EditText(id=id_, message=message)).changed
    outcome = "has the new text" if changed else "is unchanged: it already has this text"
    click.echo(f"comment {id_} {outcome}")


@click.command()
@data_option
@_id
@click.argument("tag", metavar="TAG")
def language(data: Path, id_: int, tag: str) -> None:
    """Correct the language of a comment.

    TAG is that of the language, such as de or pt-BR. `undo` restores the old one.
    """
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import CorrectLanguage
    from commentsvc.util.i18n import canonical_tag

    lang = canonical_tag(tag)
    if not lang:
        raise click.UsageError("TAG must be the tag of a language, such as de or pt-BR.")
    changed = client.write(data, CorrectLanguage(id=id_, lang=lang)).changed
    outcome = (
        f"has the language {lang}" if changed else "is unchanged: it already has this language"
    )
    click.echo(f"comment {id_} {outcome}")


@click.command()
@data_option
@config_option
@_id
@click.option(
    "--as",
    "name",
    default="",
    metavar="NAME",
    help="The moderator who answers. Default: the owner.",
)
def answer(data: Path, settings_file: Path | None, id_: int, name: str) -> None:
    """Answer a comment with the text on stdin.

    The text is Markdown. If the comment is pending, it is approved.
    """
    from commentsvc.cli import client
    from commentsvc.comments import queries
    from commentsvc.runtime.control_commands import AnswerComment

    client.read(data, queries.get, id_)  # before anything is typed
    message = _message(data, settings_file)
    [number] = client.write(data, AnswerComment(id=id_, message=message, name=name)).changed
    click.echo(f"comment {id_} is answered by comment {number}")


@click.command()
@data_option
@_id
def pin(data: Path, id_: int) -> None:
    """Pin a comment to the top of its page.

    It comes first in every order and replaces the comment that was pinned there.
    """
    _pin(data, id_, pinned=True)
    click.echo(f"comment {id_} is pinned")


@click.command()
@data_option
@_id
def unpin(data: Path, id_: int) -> None:
    """Unpin a comment, so that it is in its usual place again."""
    _pin(data, id_, pinned=False)
    click.echo(f"comment {id_} is not pinned")


def _pin(data: Path, id_: int, *, pinned: bool) -> None:
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import PinComment

    client.write(data, PinComment(id=id_, pinned=pinned))


def _message(data: Path, settings_file: Path | None) -> str:
    """Return the text of a comment from stdin, with a length that the settings allow."""
    from commentsvc.cli import running
    from commentsvc.comments.submission import SubmissionError, message_from_text
    from commentsvc.util.i18n import translate

    bounds = running.settings_for(data, settings_file, "comments").comments
    ask_for("the text")
    with click.open_file("-", encoding="utf-8") as stdin:
        text = stdin.read(2 * bounds.message_length)
    try:
        return message_from_text(text, bounds)
    except SubmissionError as error:
        raise click.UsageError(" ".join(map(translate, error.problems.values()))) from error


@click.command()
@data_option
@_id
def history(data: Path, id_: int) -> None:
    """Show the history of a comment, newest change first."""
    from commentsvc.cli import client
    from commentsvc.moderation.history import entries

    changes = client.read(data, entries, id_)
    for each in changes:
        click.echo(client.change_line(each))
    if not changes:
        click.echo(f"comment {id_} has never been changed")


@click.command("list")
@data_option
@click.option(
    "--status",
    type=Choice(["pending", "approved", "spam", "deleted", "all"]),
    default="pending",
    show_default=True,
    help="Only comments with this status.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=50,
    show_default=True,
    help="The largest number of comments.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object per line.")
def list_(data: Path, status: str, limit: int, as_json: bool) -> None:
    """List comments, newest first."""
    from commentsvc.cli import client
    from commentsvc.comments import queries

    entries = client.read(data, queries.listing, None if status == "all" else status, limit)
    if as_json:
        for entry in entries:
            click.echo(client.as_json(entry))
        return
    empty = "no comments" if status == "all" else f"no {status} comments"
    show(client.ROW, [client.as_row(entry) for entry in entries], empty)


@click.command()
@data_option
@click.argument("words", nargs=-1, required=True)
@click.option(
    "--status",
    type=Choice(["pending", "approved", "spam", "deleted"]),
    default=None,
    help="Only comments with this status.",
)
@click.option("--site", default="", metavar="NAME", help="Only comments of this site.")
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=50,
    show_default=True,
    help="The largest number of comments.",
)
def search(data: Path, words: tuple[str, ...], status: str | None, site: str, limit: int) -> None:
    """Find comments that contain all WORDS, newest first.

    The command searches texts, authors, email addresses, websites and pages. To search one field,
    put its name before the word: author:, email:, site:, text: or page:, as in author:ann.
    """
    from commentsvc.cli import client
    from commentsvc.comments.search import find
    from commentsvc.exports import contents

    client.read(data, contents.check_site, site)
    found = client.read(
        data,
        find,
        " ".join(words),
        status=status or "",
        sites=[site] if site else None,
        limit=limit,
        before=None,
    )
    empty = "no comments" if found.next is None else "none of the newest comments has these words"
    show(client.ROW, [client.as_row(entry) for entry in found.items], empty)
    if found.unindexed:
        click.echo(f"the newest {found.unindexed} are not searchable yet", err=True)


@click.command()
@data_option
@click.argument("email", metavar="EMAIL")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def forget(data: Path, email: str, yes: bool) -> None:
    """Erase everything that an author has written.

    EMAIL identifies the author. Replies by others are kept. This cannot be undone.
    """
    if "@" not in email.strip():
        raise click.UsageError("Give the email address of the author.")
    from commentsvc.cli import client
    from commentsvc.moderation import personal_data
    from commentsvc.runtime.control_commands import ErasePerson

    written = client.read(data, personal_data.ids, email.strip())
    if not yes:
        what = f"{counted(len(list(written)), 'comment')} of {email.strip()}"
        click.confirm(f"This cannot be undone. Erase {what}, and all else about them?", abort=True)
    erased = client.write(data, ErasePerson(email=email.strip())).changed
    _say_changed(data, erased, "is erased", "are erased")
    if not erased:
        click.echo("no comment has this email address")
