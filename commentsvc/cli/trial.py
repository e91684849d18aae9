"""Says how the settings that a command has judge the last comments: `check --try`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from commentsvc.cli import client, running
from commentsvc.cli.common import counted, find_settings
from commentsvc.spam.dry_run import DAYS, DryRun
from commentsvc.util.clock import SYSTEM_CLOCK

DECISIONS: Final = {"accept": "published at once", "hold": "waiting", "spam": "spam"}


def lines(data: Path, settings_file: Path | None) -> Iterator[str]:
    """Yield what becomes of the last comments, beside what the running server does.

    Raise SettingsError, ControlError, DatabaseError.
    """
    others = running.without_server(data, find_settings(settings_file, data))
    server = running.server_settings(data)
    trying = DryRun(server or others, others, SYSTEM_CLOCK.now_ms())
    while client.read(data, trying.go_on):
        pass
    tried = trying.tried
    some = " (a sample: there are more)" if tried.is_sample else ""
    yield f"tried: {counted(tried.number, 'comment')} of the last {DAYS} days{some}"
    for decision, name in DECISIONS.items():
        present = f", with the server's settings {tried.before(decision)}" if server else ""
        yield f"  {name}: {tried.after(decision)}{present}"
    for outcome, examples in tried.examples.items():
        ids = ", ".join(str(each.id) for each in examples)
        change = " -> ".join(DECISIONS[each] for each in outcome)
        yield f"  {change}: {tried.outcomes[outcome]}, such as {ids}"
