"""The outbox delivers each message once, with mocked time and real SMTP conversations."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from commentsvc import outbox as outbox_queue
from commentsvc.auth.signed_links import SignedLinks
from commentsvc.cluster.leader import meanwhile
from commentsvc.db.database import Database
from commentsvc.db.errors import DatabaseFull
from commentsvc.db.schema.outbox import OutboxRow, Target
from commentsvc.delivery import worker
from commentsvc.delivery.channels import MailChannel, targets
from commentsvc.delivery.mail import MailComposer
from commentsvc.delivery.smtp import PATIENT, Deadlines, Smtp
from commentsvc.delivery.worker import OutboxWorker
from commentsvc.settings.schema import ServerSettings, Settings, Site
from commentsvc.util.timestamps import DAY_MS, HOUR_MS
from tests.unit.database_fixture import NOW, add, opened
from tests.unit.mail_server import MailServer, mail_server, mail_settings
from tests.unit.settable_clock import SettableClock

QUICK = Deadlines(connect=30, send=0.1, quit=0.1)  # for a server that hangs


class PausingClock(SettableClock):
    """Mocked time, in which a pause ends at once."""

    def __init__(self) -> None:
        super().__init__(NOW)

    async def pause(self, seconds: float) -> None:
        self.moment += int(seconds * 1_000)
        await asyncio.sleep(0)


def settings(port: int) -> Settings:
    return Settings(
        server=ServerSettings(public_url="https://comments.example"),
        mail=mail_settings(port),
        sites=(Site(name="blog", origins=("https://blog.example",), title="A blog"),),
    )


def outbox(
    database: Database, port: int, clock: PausingClock, deadlines: Deadlines = PATIENT
) -> OutboxWorker:
    given = settings(port)
    mails = MailComposer(given, SignedLinks([b"key" * 16]))
    channel = MailChannel(mails, Smtp(given.mail, mails.hostname, deadlines))
    return OutboxWorker(database, {"mail": channel}, clock, clock.pause)


def aim(database: Database) -> None:
    database.write_now(outbox_queue.sync_targets, targets(settings(1)))


def rows(database: Database, state: str | None = None) -> list[OutboxRow]:
    return database.read_now(outbox_queue.listing, state, 1 << 62, 1_000)


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 120))


class Office(NamedTuple):
    """An outbox and the services around it."""

    database: Database
    server: MailServer
    box: OutboxWorker
    clock: PausingClock


Talk = Callable[[Office], Coroutine[Any, Any, None]]
Play = Callable[[Talk], None]


@pytest.fixture
def office(tmp_path: Path) -> Play:
    """Run a coroutine with an outbox whose mail server is up."""

    async def play(talk: Talk) -> None:
        clock = PausingClock()
        with opened(tmp_path) as database:
            aim(database)
            async with mail_server() as server:
                await talk(Office(database, server, outbox(database, server.port, clock), clock))

    return lambda talk: run(play(talk))


async def closed_port() -> int:
    async with mail_server() as server:
        return server.port


async def until(condition: Callable[[], bool]) -> None:
    """Wait until `condition` holds; `run` limits the time."""
    while not condition():  # noqa: ASYNC110 - counters have no event
        await asyncio.sleep(0.001)


async def pass_time(box: OutboxWorker, clock: PausingClock, span: int, step: int = 600_000) -> None:
    """Let `span` milliseconds pass; the outbox looks for work after every `step`."""
    for _ in range(span // step):
        clock.moment += step
        await box.deliver("mail")


def test_after_five_days_and_a_restart_every_mail_is_delivered_once(tmp_path: Path) -> None:
    clock = PausingClock()

    async def talk() -> None:
        port = await closed_port()
        with opened(tmp_path) as database:
            aim(database)
            ids = [add(database, clock.moment + n, source=f"No {n}").comment.id for n in range(20)]
            before = outbox(database, port, clock)
            await pass_time(before, clock, 5 * DAY_MS // 2)
            assert 10 < before.errors["mail"] < 40, "attempts become rare"
        with opened(tmp_path) as database:
            after = outbox(database, port, clock)
            await pass_time(after, clock, 5 * DAY_MS // 2)
            assert {row.state for row in rows(database)} == {"queued"}
            assert "Connection refused" in rows(database)[0].error
            async with mail_server(port=port) as server:
                await pass_time(after, clock, DAY_MS)
                assert sorted(server.mails[n]["Message-ID"] for n in range(20)) == sorted(
                    f"<submitted.{row.id}.{row.created_at}@blog.example>" for row in rows(database)
                )
                assert len(server.mails) == len(ids)
                assert len(server.greetings) == 1, "all by one connection"
                assert {row.state for row in rows(database)} == {"sent"}

    run(talk())


def test_a_mail_is_sent_within_a_round_and_only_then_noted(office: Play) -> None:
    async def talk(office: Office) -> None:
        await office.box.deliver("mail")
        assert not office.server.greetings, "nobody is asked while there is nothing to send"
        add(office.database)
        await office.box.deliver("mail")
        await office.box.deliver("mail")
        assert office.server.recipients == ["mo@blog.example"]
        assert office.box.sent["mail"] == 1

    office(talk)


@pytest.mark.parametrize(
    ("answer", "state", "mails"),
    [("451 4.7.1 Come back later", "queued", 2), ("550 5.1.1 Nobody here", "failed", 1)],
)
def test_a_greylisted_mail_comes_later_a_refused_one_never_and_both_hold_up_no_other(
    office: Play, answer: str, state: str, mails: int
) -> None:
    async def talk(office: Office) -> None:
        add(office.database)
        add(office.database, NOW + 1)
        office.clock.moment += 10
        office.server.answers = [answer]
        await office.box.deliver("mail")
        assert len(office.server.mails) == 1
        [left] = rows(office.database, state)
        assert left.error == answer
        await pass_time(office.box, office.clock, DAY_MS)
        assert len(office.server.mails) == mails

    office(talk)


def test_beyond_twenty_mails_an_hour_comments_come_as_one_digest(office: Play) -> None:
    async def talk(office: Office) -> None:
        ids = [add(office.database, NOW + n).comment.id for n in range(25)]
        await pass_time(office.box, office.clock, HOUR_MS // 2)
        assert len(office.server.mails) == outbox_queue.HOURLY == 20
        [digest] = rows(office.database, "open")
        assert (digest.kind, digest.comment_id) == ("digest", ids[20])
        add(office.database, office.clock.moment)
        await pass_time(office.box, office.clock, HOUR_MS)
        assert not rows(office.database, "queued")
        await office.box.round()
        await office.box.deliver("mail")
        assert len(office.server.mails) == 21
        assert office.server.mails[-1]["Subject"] == "[A blog] 6 new comments"
        add(office.database, office.clock.moment)
        await pass_time(office.box, office.clock, HOUR_MS)
        assert "commented on" in str(office.server.mails[-1]["Subject"]), "as before the flood"

    office(talk)


def test_one_moderators_flood_is_not_anothers(office: Play) -> None:
    async def talk(office: Office) -> None:
        for n in range(outbox_queue.HOURLY):
            add(office.database, NOW + n)
        await pass_time(office.box, office.clock, HOUR_MS // 2)
        both = (Target("mail", "mo@blog.example"), Target("mail", "flo@blog.example"))
        office.database.write_now(lambda tx: outbox_queue.sync_targets(tx, both))
        add(office.database, office.clock.moment)
        await pass_time(office.box, office.clock, HOUR_MS // 6)
        assert office.server.recipients.count("flo@blog.example") == 1
        assert office.server.recipients.count("mo@blog.example") == outbox_queue.HOURLY

    office(talk)


@pytest.mark.parametrize("where", ["RCPT", "DATA"])
def test_a_server_that_hangs_takes_one_attempt_not_one_for_each_mail(
    office: Play, where: str
) -> None:
    async def talk(office: Office) -> None:
        for _ in range(5):
            add(office.database)
        office.server.hanging = where
        quick = outbox(office.database, office.server.port, office.clock, QUICK)
        await quick.deliver("mail")
        assert quick.errors["mail"] == 1
        await quick.deliver("mail")
        assert quick.errors["mail"] == 1, "all were put off"
        office.server.hanging = ""
        await pass_time(office.box, office.clock, HOUR_MS)
        assert len(office.server.mails) == 5

    office(talk)


def test_a_line_that_breaks_after_the_mail_brings_it_again_with_its_message_id(
    office: Play,
) -> None:
    """SMTP cannot tell whether a mail was accepted, so it may come twice, with one Message-ID."""

    async def talk(office: Office) -> None:
        add(office.database)
        office.server.last = "DATA"
        await office.box.deliver("mail")
        office.server.last = ""
        await pass_time(office.box, office.clock, HOUR_MS)
        first, second = office.server.mails
        assert first["Message-ID"] == second["Message-ID"]
        assert first.as_bytes().split(b"boundary")[0] == (second.as_bytes().split(b"boundary")[0])

    office(talk)


class FullDatabase:
    """A database on a disk that is full for a while: the next `failures` writes fail."""

    def __init__(self, database: Database, failures: int) -> None:
        self._database = database
        self.failures = failures
        self.read, self.read_now = database.read, database.read_now

    async def write(self, work: Callable[..., object], *args: object) -> object:
        if self.failures:
            self.failures -= 1
            raise DatabaseFull("the disk is full")
        return await self._database.write(work, *args)


def test_a_full_disk_sends_nothing_twice(office: Play) -> None:
    async def talk(office: Office) -> None:
        add(office.database)
        full: Any = FullDatabase(office.database, 50)
        box = outbox(full, office.server.port, office.clock)
        await box.deliver("mail")
        assert full.failures == 0
        await box.deliver("mail")
        assert len(office.server.mails) == 1
        assert [row.state for row in rows(office.database)] == ["sent"]

    office(talk)


def test_a_comment_that_was_erased_is_not_mailed(office: Play) -> None:
    async def talk(office: Office) -> None:
        add(office.database)
        office.database.write_now(lambda tx: tx.execute("DELETE FROM comment"))
        await office.box.deliver("mail")
        assert not office.server.mails
        assert rows(office.database) == []

    office(talk)


def test_a_message_that_cannot_be_made_fails_alone(
    office: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def talk(office: Office) -> None:
        add(office.database)
        add(office.database)
        office.database.write_now(
            lambda tx: tx.execute("UPDATE outbox SET kind = 'x' WHERE id = 1")
        )
        await office.box.deliver("mail")
        assert len(office.server.mails) == 1
        [failed] = rows(office.database, "failed")
        assert failed.id == 1

    office(talk)
    assert "no message can be made of row 1" in caplog.text


def test_the_tasks_send_by_themselves_and_stop(office: Play) -> None:
    async def talk(office: Office) -> None:
        add(office.database)
        async with meanwhile(office.box.run()):
            await until(lambda: bool(office.box.sent["mail"]))
        assert [row.state for row in rows(office.database)] == ["sent"]
        assert len(asyncio.all_tasks()) <= 3, "this one, and the server's"

    office(talk)


def test_a_stop_waits_for_the_mail_that_is_under_way_but_not_for_ever(
    office: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "GRACE", 0.05)

    async def talk(office: Office) -> None:
        add(office.database)
        office.server.hanging = "DATA"
        given = settings(office.server.port)
        mails = MailComposer(given, SignedLinks([b"key" * 16]))
        channel = MailChannel(mails, Smtp(given.mail, "me.test", Deadlines(quit=0.1)))
        box = OutboxWorker(office.database, {"mail": channel}, office.clock)
        async with meanwhile(box.run()):
            await until(lambda: bool(office.server.greetings))
        assert [row.state for row in rows(office.database)] == ["queued"]

    office(talk)


def test_an_instance_that_does_not_lead_sends_nothing_and_counts(office: Play) -> None:
    async def talk(office: Office) -> None:
        add(office.database)
        leads = [False]
        mails = MailComposer(settings(office.server.port), SignedLinks([b"key" * 16]))
        channel = MailChannel(mails, Smtp(settings(office.server.port).mail, mails.hostname))
        channels = {"mail": channel}
        box = OutboxWorker(office.database, channels, office.clock, leads=lambda: leads[0])
        await box.deliver("mail")
        await box.round()
        assert not office.server.mails
        assert box.states()["mail"]["queued"] == 1
        leads[0] = True
        await box.deliver("mail")
        assert len(office.server.mails) == 1

    office(talk)


def test_what_was_sent_is_noted_also_if_the_instance_stops_leading_before(office: Play) -> None:
    async def talk(office: Office) -> None:
        add(office.database)

        async def full(*_: object) -> None:
            raise DatabaseFull("the disk is full")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(office.database, "write", full)
            patch.setattr(worker, "GRACE", 0.05)
            async with meanwhile(office.box.run()):
                await until(lambda: bool(office.server.mails))
        async with meanwhile(office.box.run()):
            await until(lambda: [row.state for row in rows(office.database)] == ["sent"])
        assert len(office.server.mails) == 1

    office(talk)


def test_what_a_server_refuses_for_the_sender_is_sent_once_the_operator_has_mended_it(
    office: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def talk(office: Office) -> None:
        add(office.database)
        office.server.data_answer = "554 Message rejected: Email address is not verified."
        await pass_time(office.box, office.clock, DAY_MS)
        assert {row.state for row in rows(office.database)} == {"queued"}
        office.server.data_answer = "250 Thank you"
        await pass_time(office.box, office.clock, DAY_MS)
        assert [row.state for row in rows(office.database)] == ["sent"]

    office(talk)
    assert "will be tried again: 554 Message rejected" in caplog.text


def test_the_log_says_that_a_message_to_nobody_is_given_up(
    office: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def talk(office: Office) -> None:
        add(office.database)
        office.server.answers = ["550 5.1.1 Nobody here"]
        await office.box.deliver("mail")
        assert [row.state for row in rows(office.database)] == ["failed"]

    office(talk)
    assert "refused for good" in caplog.text
    assert "will be tried again" not in caplog.text


def test_a_failure_is_logged_once_and_its_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "commentsvc")
    clock = PausingClock()

    async def talk() -> None:
        with opened(tmp_path) as database:
            aim(database)
            add(database)
            port = await closed_port()
            box = outbox(database, port, clock)
            await pass_time(box, clock, DAY_MS)
            async with mail_server(port=port):
                await pass_time(box, clock, DAY_MS)

    run(talk())
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_the_round_closes_digests_and_looks_how_much_waits(tmp_path: Path) -> None:
    clock = PausingClock()

    async def talk() -> None:
        with opened(tmp_path) as database:
            aim(database)
            database.write_now(lambda tx: tx.execute("UPDATE target SET digest_ms = ?", (HOUR_MS,)))
            add(database)
            box = outbox(database, 1, clock)
            await box.round()
            assert box.states()["mail"]["queued"] == 0
            clock.moment += HOUR_MS
            await box.round()
            assert box.states()["mail"] == {
                "queued": 1,
                "failed": 0,
                "oldest_timestamp_seconds": NOW / 1_000,
                "error_timestamp_seconds": 0.0,
            }

    run(talk())
