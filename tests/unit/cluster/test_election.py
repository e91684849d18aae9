"""One of several instances leads; another one takes over when it ends, freezes or is cut off."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial

import psycopg
import pytest

from commentsvc.auth import edit_tokens
from commentsvc.cluster import election
from commentsvc.cluster.election import Disagreement, Election, agreement
from commentsvc.cluster.leader import meanwhile
from commentsvc.db.errors import DatabaseBusy
from commentsvc.db.postgresql import upgrade as postgresql_upgrade
from commentsvc.settings import everyday
from commentsvc.settings.loader import LoadedSettings
from commentsvc.settings.schema import MailSettings, ServerSettings, Settings, Site
from tests.e2e.program import wait_for
from tests.postgresql_server import Server

KEYS = (b"k" * edit_tokens.KEY_LENGTH,)
# Another instance, which says when it leads.
INSTANCE = """
import sys, time
from commentsvc.cluster.election import Election
with Election(sys.argv[1], {}) as other:
    while not other.leads():
        time.sleep(0.01)
    print("leads", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def url(postgresql_server: Server) -> Iterator[str]:
    """Return the URL of a database without tables: the election needs none."""
    postgresql_server.run("CREATE DATABASE election")
    yield postgresql_server.url("election")
    postgresql_server.run("DROP DATABASE election WITH (FORCE)")


def wait(instance: Election, *, leads: bool = True) -> None:
    deadline = time.monotonic() + 120
    while instance.leads() is not leads:
        assert time.monotonic() < deadline, f"leads() was not {leads} within two minutes"
        time.sleep(0.01)


def disconnect_leader(server: Server) -> None:
    server.run(
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE granted AND locktype = 'advisory'"
        f" AND objid = {election.LOCK & 0xFFFFFFFF}"
    )


@pytest.mark.locked_only("it is about processes")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_when_the_leader_is_killed_or_frozen_another_takes_over(
    url: str, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INSTANCE, url], stdout=subprocess.PIPE, text=True
    ) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "leads\n"
            with Election(url, {}) as ours:
                time.sleep(3 * election.HEARTBEAT)
                assert not ours.leads()
                other.send_signal(number)
                wait(ours)
        finally:
            other.kill()


def test_who_is_disconnected_stops_the_work_before_another_begins(
    url: str, postgresql_server: Server
) -> None:
    events: list[str] = []

    async def work(name: str) -> None:
        events.append(f"{name} begins")
        try:
            await asyncio.Event().wait()
        finally:
            events.append(f"{name} ends")

    async def until(number: int) -> None:
        while len(events) < number:  # noqa: ASYNC110 - the list has no event
            await asyncio.sleep(0.01)

    async def scene() -> None:
        with Election(url, {}) as first:
            async with meanwhile(first.run(partial(work, "first"))):
                await until(1)
                with Election(url, {}) as second:
                    async with meanwhile(second.run(partial(work, "second"))):
                        disconnect_leader(postgresql_server)
                        await until(3)

    asyncio.run(asyncio.wait_for(scene(), 120))
    assert events[:2] == ["first begins", "first ends"]


def test_who_leaves_lets_another_lead(url: str) -> None:
    with Election(url, {}) as first, Election(url, {}) as second:
        while not (first.leads() or second.leads()):
            time.sleep(0.01)
        leader, other = (first, second) if first.leads() else (second, first)
        leader.__exit__()
        wait(other)


def test_another_key_or_other_settings_are_refused_and_the_section_is_named(url: str) -> None:
    plain = Settings(sites=(Site(name="blog", origins=("https://a.example",)),))
    with Election(url, agreement(LoadedSettings(plain), KEYS)):
        with pytest.raises(Disagreement, match="a different secret key"):
            Election(url, agreement(LoadedSettings(plain), (b"other" * 8,))).__enter__()
        other = Settings(sites=(Site(name="blog", origins=("https://b.example",)),))
        with pytest.raises(Disagreement, match=r"settings in \[\[site\]\] differ"):
            Election(url, agreement(LoadedSettings(other), KEYS)).__enter__()
        mail = Settings(sites=plain.sites, mail=MailSettings(host="mail.example"))
        with pytest.raises(Disagreement, match=r"settings in \[mail\] differ"):
            Election(url, agreement(LoadedSettings(mail), KEYS)).__enter__()
        elsewhere = Settings(sites=plain.sites, server=ServerSettings(listen="127.0.0.1:1"))
        with Election(url, agreement(LoadedSettings(elsewhere), KEYS)):
            pass
    with Election(url, agreement(LoadedSettings(other), KEYS)):
        pass  # nobody runs with the former settings any more


def test_an_everyday_setting_that_only_one_has_in_its_file_is_refused_and_named(url: str) -> None:
    def given(*names: tuple[str, str]) -> dict[str, int]:
        return agreement(LoadedSettings(Settings(), dict.fromkeys(names, "a line")), KEYS)

    with Election(url, given(("", "moderation.policy"))):
        with pytest.raises(Disagreement, match=r"only one of them has moderation\.policy in its"):
            Election(url, given()).__enter__()
        with Election(url, given(("", "moderation.policy"), ("", "mail.host"))):
            pass


def holders(url: str) -> int:
    """Return how many connections hold locks of instances."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT count(DISTINCT pid) FROM pg_locks JOIN pg_database ON oid = database"
            " WHERE locktype = 'advisory' AND datname = current_database()"
        ).fetchone()
    assert row
    return int(row[0])


def test_a_setting_that_only_one_has_is_named_before_its_section(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both differ. The database lists locks in any order, and the answer was one or the other."""
    monkeypatch.setattr(election, "PATIENCE_MS", 1)
    plain = agreement(LoadedSettings(Settings()), KEYS)
    with Election(url, plain):
        for name in everyday.SETTINGS:
            section = name.partition(".")[0].replace("site", "sites")
            other = {**plain, section: plain[section] ^ 1, name: plain[name] ^ 1}
            with pytest.raises(Disagreement, match=f"only one of them has {re.escape(name)}"):
                Election(url, other).__enter__()
            wait_for(lambda: holders(url) == 1, "the locks of what was refused to go")


def test_locks_of_a_stranger_refuse_nobody_and_are_named(
    url: str, postgresql_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever may connect to the database can take any advisory lock."""
    postgresql_upgrade.upgrade(url)
    postgresql_server.run("CREATE ROLE stranger LOGIN")
    theirs = postgresql_server.url("election", user="stranger")
    mail = election._lock_number(b"mail")
    try:
        with psycopg.connect(theirs, autocommit=True) as stranger:
            stranger.execute("SELECT pg_advisory_lock_shared(%s::int, 2)", [mail])
            stranger.execute("SELECT pg_advisory_lock(%s)", [election.LOCK])
            with Election(url, {"mail": 1}) as ours:
                while "unable to lead: the user stranger" not in caplog.text:
                    time.sleep(0.01)
                assert not ours.leads()
                stranger.execute("SELECT pg_advisory_unlock_all()")
                wait(ours)
            stranger.execute("SELECT pg_advisory_lock(%s::int, 1)", [mail])
            named = rf"the user stranger.*REVOKE.*\({stranger.info.backend_pid}\)"
            with pytest.raises(DatabaseBusy, match=named):
                Election(url, {"mail": 1}).__enter__()
    finally:
        postgresql_server.run("DROP ROLE stranger")


def test_an_instance_that_comes_back_to_other_settings_stops(
    url: str, postgresql_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    elected = threading.Event()
    monkeypatch.setattr(os, "kill", lambda *_: elected.set())
    monkeypatch.setattr(election, "HEARTBEAT", 0.05)
    with Election(url, {"mail": 1}) as ours:
        wait(ours)
        monkeypatch.setattr(ours, "_agreed", {"mail": 2})
        with Election(url, {"mail": 1}):
            disconnect_leader(postgresql_server)
            assert elected.wait(120)
