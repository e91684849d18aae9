"""The command `release`: what the manual says of us and others, measured anew, on one page.

Each part is a command of its own, in a process of its own, so that one which fails does not stop
the others. Together they take less than half an hour on a machine that has nothing else to do.
"""

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

import click

from loadtest.harness import machine
from loadtest.harness.programs import BUILD, ROOT
from loadtest.report.command import short


class Part(NamedTuple):
    """A command, what it compares, and the minutes after which it is ended."""

    words: Sequence[str]
    title: str
    minutes: float


PARTS: Final = (
    Part(["scenarios"], "This service, by kind of request", 6),
    Part(["frameworks"], "Pipelined counts: Japronto, hyper, fasthttp, Robyn", 4),
    Part(["front-page", "--rounds=2"], "A front page: Sanic, Stacosys, Isso", 7),
    Part(["methods"], "Methods with ab", 1.5),
    Part(["page-view", "--rounds=3"], "A page view on a slow phone: Isso, plain HTML", 4),
    Part(["instances", "submissions", "waline", "--rounds=2"], "PostgreSQL: Waline", 6.5),
)
PAGE: Final = BUILD / "release.md"


@click.command
@short
def main(short: bool) -> None:
    """All comparisons with others in less than half an hour, on one page."""
    about = {"date": machine.now(), **machine.commit(), **machine.describe()}
    page = ["# Measured for this release", "\n".join(f"- {key}: {about[key]}" for key in about)]
    failed = []
    for part in PARTS:
        words = [*part.words, *(["--short"] if short else [])]
        line = f"python -m loadtest {' '.join(words)}"
        click.echo(f"\n== {line}")
        begin = time.monotonic()
        said, ended = run(words, part.minutes * 60)
        failed += [] if ended else [line]
        minutes = (time.monotonic() - begin) / 60
        outcome = f"`{line}`, {minutes:.1f} minutes" + ("" if ended else ": **failed**")
        page += [f"## {part.title}", outcome, f"```\n{result_of(said) if ended else said}\n```"]
    PAGE.write_text("\n\n".join([*page, ""]))
    click.echo(f"\nThe page: {PAGE.relative_to(ROOT)}")
    if failed:
        raise click.ClickException(f"failed: {', '.join(failed)}")


def run(words: Sequence[str], seconds: float) -> tuple[str, bool]:
    """Return what a command of the load tests says, and whether it succeeds in this time.

    Its output is shown, too.
    """
    command = ["timeout", "--kill-after=20", "--signal=INT", str(seconds)]
    command += [sys.executable, "-m", "loadtest", *words]
    said = []
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout or ():
            click.echo(line, nl=False)
            said.append(line)
    return "".join(said).strip(), process.returncode == 0


def result_of(said: str) -> str:
    """Return the table and the goals, without the lines of single rounds before them."""
    parts = re.split(r"\n\n+", said)
    shown = [part for part in parts[1:] if not part.startswith("All rounds: ")]
    return "\n\n".join(shown) or said
