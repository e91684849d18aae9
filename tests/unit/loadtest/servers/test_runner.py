"""loadtest/arena.py and loadtest/scan.py: a small contest and a small scan, on real servers."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from loadtest.data.blog import Page, shares
from loadtest.data.seed import seed
from loadtest.harness import programs
from loadtest.harness.client import ClientError
from loadtest.harness.measurement import Measurement
from loadtest.harness.programs import MissingError
from loadtest.harness.rounds import Extent
from loadtest.harness.service import ServiceError
from loadtest.servers import peer, runner
from loadtest.servers.contest import PLAIN, Entry
from loadtest.servers.peer import Answer
from loadtest.servers.runner import ContestRunner
from loadtest.servers.scan import ScanRunner

ALLOWED = sorted(os.sched_getaffinity(0))
CORES = (ALLOWED[0], ALLOWED[-1])
PAGES = [Page(f"/post/{rank}/", count) for rank, count in enumerate(shares(60, 20), 1)]
EXTENT = Extent(rounds=1, seconds=0.2, tries=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("arena")
    seed(made / "data", PAGES, lambda done: None)
    return made


def test_every_entry_that_is_there_is_measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: int, __: Answer) -> list[str]:
        raise MissingError("not today")

    monkeypatch.setitem(peer.PEER, "away", away)
    seen: list[Measurement] = []
    place = ContestRunner(folder, PAGES, EXTENT, CORES, seen.append)
    contest = replace(
        PLAIN, entries=(Entry("ours"), Entry("baseline", "baseline"), Entry("away", "away"))
    )
    made = place.play(contest, 1)
    assert sorted(one.scenario for one in made) == ["plain: baseline", "plain: ours"]
    assert all(one.answered > 0 and one.cpu_ns > 0 for one in made)
    assert seen == made
    assert place.about()["absent"] == {"away": "not today"}
    assert 200 < place.about()["answer_bytes"] < 400


def test_a_peer_that_answers_wrongly_is_told_of_and_the_run_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(port: int, answer: Answer) -> list[str]:
        other = folder / "wrong"
        other.write_bytes(answer.text.replace(b"count", b"cound"))
        return [str(programs.baseline()), str(port), str(other)]

    monkeypatch.setitem(peer.PEER, "wrong", wrong)
    place = ContestRunner(folder, PAGES, EXTENT, CORES, lambda _: None)
    contest = replace(PLAIN, entries=(Entry("wrong", "wrong"), Entry("ours")))
    assert [one.scenario for one in place.play(contest, 0)] == ["plain: ours"]
    assert "does not answer as it must" in place.about()["absent"]["wrong"]


def test_a_wrong_count_fails_the_run(folder: Path) -> None:
    wrong = [*PAGES[:-1], replace(PAGES[-1], count=99)]
    place = ContestRunner(folder, wrong, EXTENT, CORES, lambda _: None)
    with pytest.raises(ClientError, match="wrong ones"):
        place.play(replace(PLAIN, entries=(Entry("ours"),)), 1)


def test_a_store_that_is_too_small_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that never stores is one whose answers are all misses."""
    monkeypatch.setattr(runner, "WARMINGS", 1)
    place = ContestRunner(folder, PAGES, EXTENT, CORES, lambda _: None)
    with pytest.raises(ServiceError, match="does not keep"):
        place.play(replace(PLAIN, entries=(Entry("ours"),)), 1)


def test_a_scan_counts_what_readers_and_the_attacker_saw(folder: Path) -> None:
    seen = ScanRunner(folder, PAGES, CORES).play(0.3, wanted=500)
    assert seen.asked >= 500
    assert seen.undisturbed_hits == 1.0
    assert 0.9 < seen.attacked_hits <= 1.0
    assert 10 < seen.rss_start <= seen.rss_end
    assert seen.base_gain >= 0
