"""Privacy verbs: the command that forgets a person."""

from pathlib import Path

import click

from commentsvc.cli.common import data_option


@click.command()
@data_option
@click.argument("email", metavar="EMAIL")
@click.confirmation_option(prompt="This cannot be undone. Forget all that this address wrote?")
def forget(data: Path, email: str) -> None:
    """Erase all that the author with the address EMAIL has written; answers keep their place."""
    if "@" not in email.strip():
        raise click.UsageError("Give an e-mail address: it is by what an author is known.")
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import ErasePerson

    erased = client.write(data, ErasePerson(email=email.strip())).changed
    for comment_id in erased:
        click.echo(f"erased {comment_id}")
    if not erased:
        click.echo("no comment has this address")
