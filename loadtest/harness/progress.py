"""Progress of the seeding, for the terminal."""

import sys
import time
from typing import Any

import click

from loadtest.data import blog


def progress() -> Any:  # Any: a callable that writes over its own line
    """Return a function that shows the progress of the seeding."""
    begin = time.monotonic()
    terminal = sys.stdout.isatty()

    def report(done: int) -> None:
        last = done == blog.COMMENTS
        if terminal or last:
            told = f"seeded {done:,} of {blog.COMMENTS:,} comments"
            end = f" in {time.monotonic() - begin:.1f} s\n" if last else ""
            click.echo(f"\r{told}{end}" if terminal else f"{told}{end}", nl=False)

    return report
