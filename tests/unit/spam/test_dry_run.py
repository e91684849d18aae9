"""Dry runs: stored comments are judged by the rules for new ones, and nothing is written."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from commentsvc.settings.schema import JudgeSettings, ModerationSettings, Settings, SpamSettings
from commentsvc.spam import bans, dry_run, training
from commentsvc.spam.dry_run import DryRun, Tried
from commentsvc.util.timestamps import DAY_MS
from tests.unit import database_fixture
from tests.unit.app_fixture import SETTINGS, Served, served
from tests.unit.database_fixture import add

ALWAYS = replace(
    SETTINGS,
    moderation=ModerationSettings(policy="none"),
    spam=SpamSettings(form_token="off", proof_of_work=0, rate_limit="off"),
)


def changed(settings: Settings = ALWAYS, **fields: Any) -> Settings:  # Any: of each setting
    """Return settings with other fields of [moderation] and [spam]."""
    spam = {name: fields.pop(name) for name in {*fields} & {*SpamSettings.__struct_fields__}}
    return replace(
        settings,
        moderation=replace(settings.moderation, **fields),
        spam=replace(settings.spam, **spam),
    )


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, ALWAYS) as service:
        yield service


def tried(service: Served, others: Settings, settings: Settings = ALWAYS) -> Tried:
    return asyncio.run(dry_run.run(service.database, settings, others, service.clock.now_ms()))


def outcomes(found: Tried) -> dict[str, int]:
    return {f"{now} {then}": number for (now, then), number in found.outcomes.items()}


LINKS = " ".join(f"https://{n}.example/" for n in range(9))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {"accept accept": 3}),
        ({"policy": "all"}, {"accept hold": 3}),
        ({"policy": "suspicious"}, {"accept accept": 2, "accept hold": 1}),
        (
            {"policy": "suspicious", "blocked_words": ("bread",)},
            {"accept accept": 1, "accept hold": 2},
        ),
        ({"blocked_words": ("bread",), "spam_score": 5}, {"accept accept": 1, "accept spam": 2}),
        ({"max_links": 0, "spam_score": 5}, {"accept accept": 3}),
        ({"protected_names": ("Zoe",)}, {"accept accept": 2, "accept hold": 1}),
        ({"policy": "suspicious", "scripts": ("greek",), "max_links": 0}, {"accept accept": 3}),
    ],
)
def test_each_rule_judges_stored_comments(
    service: Served, fields: dict[str, Any], expected: dict[str, int]
) -> None:
    service.submit("I bake bread on Sundays")
    service.submit("Hello", author="Zoe")
    service.submit(LINKS)
    assert outcomes(tried(service, changed(**fields))) == expected


@pytest.mark.parametrize("policy", ["all", "first", "suspicious", "none"])
@pytest.mark.parametrize("spam_score", [0, 5, 9])
def test_a_dry_run_with_the_same_settings_finds_what_was_decided(
    tmp_path: Path, policy: str, spam_score: int
) -> None:
    """The verdicts are those that the submissions got: one way for both."""
    settings = changed(
        policy=policy,
        spam_score=spam_score,
        blocked_words=("casino",),
        scripts=("latin",),
        form_token="judge",
        bayes=False,
    )
    with served(tmp_path, settings) as service:
        service.database.write_now(bans.add, "word", "pills", "ann", 1)
        repeated = "The same long text, which several networks send to us, one after the other."
        for number, message in enumerate(
            (
                "Hello",
                "casino",
                LINKS,
                "Привет, как у вас дела сегодня?",
                "pills",
                repeated,
                repeated,
            )
        ):
            service.monotonic += 3_600
            service.now += 3_600
            email = "ann@home.example" if number % 2 else ""
            answer = service.ask(
                "POST",
                "/api/comments",
                b'{"url":"/%d/","author":"Ann","email":"%s","message":"%s"}'
                % (number, email.encode(), message.encode()),
                peer=f"192.0.{number}.1",
                content_type="application/json",
            )
            assert answer.status in (201, 202), answer.body
        service.now += 60
        statuses = sorted(entry.comment.status for entry in service.stored())
        found = tried(service, settings, settings)
        names = {"accept": "approved", "hold": "pending", "spam": "spam"}
        judged = sorted(
            names[then] for (_, then), number in found.outcomes.items() for _ in range(number)
        )
        assert judged == statuses
        assert all(now == then for now, then in found.outcomes)


def test_an_author_is_trusted_only_after_the_approved_comments(service: Served) -> None:
    for number in range(3):
        service.submit(f"Hello {number}", email="ann@home.example")
    service.submit("Hello", author="Zoe")
    others = changed(policy="first", trust_after=2)
    assert outcomes(tried(service, others)) == {"accept hold": 3, "accept accept": 1}


def test_how_a_comment_was_sent_is_taken_from_its_reasons(service: Served) -> None:
    add(service.database, reasons="no-form-token +3\nno-work +3\nlinks +5 9")
    add(service.database, reasons="links +5 9\nsomething else\nclassifier +0 bad")
    found = tried(service, changed(spam_score=6))
    assert outcomes(found) == {"accept spam": 1, "accept accept": 1}
    [example] = found.examples["accept", "spam"]
    assert example.reasons == ("no-form-token +3", "no-work +3")


def test_bans_of_networks_concern_those_that_are_known(service: Served) -> None:
    service.submit("Hello")
    known = service.stored()[0].comment.id
    network = service.database.read_now(bans.network_of, known)
    add(service.database)
    service.database.write_now(bans.add, "network", network, "ann", 1)
    found = tried(service, ALWAYS)
    assert outcomes(found) == {"spam spam": 1, "accept accept": 1}
    assert found.nameless == 1


def test_the_filter_judges_if_it_is_on(service: Served) -> None:
    for words, to in (("cheap casino pills bonus", "spam"), ("nice bread", "approved")):
        for _ in range(training.LEAST):
            one = add(service.database, status="pending", source=words)
            database_fixture.decide(service.database, to, one.comment.id)
    found = tried(service, ALWAYS, changed(bayes=False))
    assert outcomes(found) == {
        "accept spam": training.LEAST,
        "accept accept": training.LEAST,
    }
    assert found.decided[("accept", "spam"), "spam"] == training.LEAST


def test_the_judge_is_not_asked_and_holds_nothing(service: Served) -> None:
    service.submit("Hello")
    judge = replace(ALWAYS, judge=JudgeSettings(url="https://judge.example", model="small"))
    assert outcomes(tried(service, judge)) == {"accept accept": 1}


def test_old_deleted_and_moderators_comments_and_other_sites_are_left_out(service: Served) -> None:
    service.submit("Hello")
    service.submit("I am gone")
    gone = service.stored()[0].comment.id
    database_fixture.decide(service.database, "deleted", gone)
    service.database.write_now(database_fixture.site("former"))
    add(service.database, site="former")
    add(service.database, role="owner")
    found = tried(service, changed(policy="all"))
    assert outcomes(found) == {"accept hold": 1}
    service.now += (dry_run.DAYS + 1) * DAY_MS / 1_000
    assert tried(service, changed(policy="all")).number == 0


def test_many_comments_are_a_sample_of_the_newest(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        service.submit(f"number {number}")
    words = ("0", "1", "2")
    assert outcomes(tried(service, changed(blocked_words=words, spam_score=5))) == {
        "accept spam": 3,
        "accept accept": 3,
    }
    monkeypatch.setattr(dry_run, "MOST", 4)
    found = tried(service, changed(blocked_words=words, spam_score=5))
    assert outcomes(found) == {"accept spam": 1, "accept accept": 3}
    assert found.is_sample
    monkeypatch.setattr(dry_run, "MOST", 6)
    assert not tried(service, ALWAYS).is_sample
    monkeypatch.setattr(dry_run, "LOOKED_AT", 2)
    found = tried(service, ALWAYS)
    assert (found.number, found.is_sample) == (2, True)


def test_it_works_in_pieces_and_ends_in_time(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        service.submit(f"number {number}")
    monkeypatch.setattr(dry_run, "PIECE_MS", -1.0)
    whole = DryRun(ALWAYS, ALWAYS, service.clock.now_ms())
    pieces = 1
    while service.database.read_now(whole.go_on):
        pieces += 1
    assert pieces > whole.tried.number == 5
    assert not whole.tried.is_sample
    monkeypatch.setattr(dry_run, "LONGEST_MS", 0.0)
    cut = DryRun(ALWAYS, ALWAYS, service.clock.now_ms())
    while service.database.read_now(cut.go_on):
        pass
    assert cut.tried.number < 5
    assert cut.tried.is_sample
