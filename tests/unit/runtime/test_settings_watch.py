"""What goes on while other settings take the place of those in force."""

import asyncio
import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from commentsvc import app
from commentsvc.admin.dashboard import Figures
from commentsvc.backup import archive
from commentsvc.cluster.leader import SoleLeader, Work, meanwhile
from commentsvc.delivery import worker
from commentsvc.moderation import stored_settings
from commentsvc.settings.schema import BackupSettings, ServerSettings, SpamSettings
from commentsvc.spam.duplicates import Duplicates
from commentsvc.spam.form_tokens import FormTokens
from commentsvc.spam.proof_of_work import ProofOfWork
from commentsvc.util.ratelimit import NetworkLimiter, RateLimiter
from tests.e2e.program import wait_for
from tests.unit.app_fixture import SETTINGS as GIVEN
from tests.unit.app_fixture import Served, served
from tests.unit.database_fixture import add
from tests.unit.mail_server import mail_server, mail_settings


class CountingLeader(SoleLeader):
    """The only instance; it counts how often it began to lead."""

    def __init__(self) -> None:
        self.begun = 0

    async def run(self, *works: Work) -> None:
        self.begun += 1
        await super().run(*works)


async def save(service: Served) -> None:
    """Change a setting as the moderation pages do, and let the tasks in the background see it."""
    parts = service.running.parts
    change = stored_settings.Change({("", "spam.max_links"): 9}, seen=0, who="ann", now=1)
    await service.database.write(stored_settings.store, service.service.loaded, change)
    service.running.renew()
    assert service.running.parts is not parts
    await asyncio.sleep(0.1)


def test_a_changed_setting_ends_neither_a_backup_nor_a_term_as_leader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ends, ended = threading.Event(), threading.Event(), list[bool]()

    def write(_database: Path, _target: Path, *, unwanted: Callable[[], bool]) -> None:
        begun.set()
        while not unwanted() and not ends.wait(0.01):
            pass
        ended.append(unwanted())

    monkeypatch.setattr(archive, "write", write)
    backup = BackupSettings(directory=str(tmp_path / "backups"))
    checks: list[int] = []

    async def scene(service: Served) -> None:
        monkeypatch.setattr(service.machine, "check", lambda: checks.append(1))
        leader = CountingLeader()
        figures = Figures(dict, service.backups, lambda: None, service.machine)
        async with meanwhile(app._work(leader, figures, service.running)):
            await asyncio.to_thread(begun.wait, 10)
            await save(service)
            assert not ended
            ends.set()
            await asyncio.to_thread(wait_for, lambda: bool(ended), "the backup")
            assert (leader.begun, len(checks)) == (1, 1)
        assert ended == [False]

    with served(tmp_path, msgspec.structs.replace(GIVEN, backup=backup)) as service:
        asyncio.run(asyncio.wait_for(scene(service), 120))


def test_a_mail_that_is_being_sent_when_a_setting_changes_is_sent_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "GRACE", 0.01)

    async def scene() -> None:
        taken, answers = asyncio.Event(), asyncio.Event()
        async with mail_server() as server:
            settings = msgspec.structs.replace(
                GIVEN,
                server=ServerSettings(public_url="https://comments.example"),
                mail=mail_settings(server.port),
            )
            take = server.handle_DATA

            async def take_slowly(*given: Any) -> str:  # Any: as aiosmtpd passes them
                taken.set()
                await answers.wait()
                return await take(*given)

            monkeypatch.setattr(server, "handle_DATA", take_slowly)
            with served(tmp_path, settings) as service:
                figures = Figures(dict, service.backups, lambda: None, service.machine)
                async with meanwhile(app._work(SoleLeader(), figures, service.running)):
                    add(service.database)
                    await taken.wait()
                    await save(service)
                    add(service.database)
                    answers.set()
                    outbox = service.outbox
                    while outbox.sent["mail"] < 2:  # noqa: ASYNC110 - counters have no event
                        await asyncio.sleep(0.01)
                    ids = [mail["Message-ID"] for mail in server.mails]
                    assert len(ids) == len({*ids}) == 2

    asyncio.run(asyncio.wait_for(scene(), 120))


def test_what_was_counted_counts_after_a_setting_has_changed(tmp_path: Path) -> None:
    kinds = (Duplicates, FormTokens, NetworkLimiter, ProofOfWork, RateLimiter)
    spam = SpamSettings(rate_limit="2/hour", vote_limit="2/hour")
    with served(tmp_path, msgspec.structs.replace(GIVEN, spam=spam)) as service:
        for number in range(2):
            assert service.submit(f"No {number}").status == 201
        assert service.submit("No 3").status == 429
        kept = [each for each in gc.get_objects() if isinstance(each, kinds)]
        assert {type(each) for each in kept} == {*kinds}
        asyncio.run(save(service))
        assert service.submit("No 3").status == 429
        known = {id(each) for each in kept}
        made = [each for each in gc.get_objects() if isinstance(each, kinds)]
        assert not [each for each in made if id(each) not in known], "taken from service.lasting"
