"""loadtest/servers: the servers that ours is compared with."""

import json
import os
import shutil
import socket
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from loadtest.data.blog import COMMENTS, Page, pages, shares
from loadtest.data.seed import seed
from loadtest.harness import programs
from loadtest.harness.bench import comments
from loadtest.harness.client import ClientError
from loadtest.harness.measurement import Measurement
from loadtest.harness.programs import MissingError
from loadtest.harness.rounds import Extent
from loadtest.harness.running import Running, free_port, free_ports
from loadtest.harness.scenario import MARK
from loadtest.harness.service import ServiceError, Visitor
from loadtest.servers import competitors, peer, runner, waline
from loadtest.servers.competitors import COMPETITORS, Question, our_batch
from loadtest.servers.contest import CHROME, CONTESTS, OURS, PLAIN, Contest, Entry, Ratio, order
from loadtest.servers.peer import PEER, Answer
from loadtest.servers.runner import ContestRunner
from loadtest.servers.scan import Scan, ScanRunner
from loadtest.servers.versus import judge, main, sum_up, with_scan
from tests.conftest import cannot_run
from tests.unit.loadtest.sample import QUIET

RIVAL = {competitor.name: competitor for competitor in COMPETITORS}


def test_each_answer_is_read_as_its_server_writes_it() -> None:
    assert RIVAL["sanic-1"].count("/a/").read(b'{"count":3}\n') == [3]
    assert RIVAL["isso"].count("/a/").read(b"[3]") == [3]
    assert our_batch(["/a/", "/b/"]).read(b'{"counts":{"/b/":2,"/a/":1}}') == [1, 2]


def test_a_body_goes_with_its_length() -> None:
    text = Question("/x", lambda _: [], "POST", b"[1]").text("localhost")
    assert text.startswith(b"POST /x HTTP/1.1\r\nHost: localhost\r\n")
    assert text.endswith(b"Content-Length: 3\r\n\r\n[1]")
    assert Question("/x", lambda _: []).text("h") == b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n"


def test_rivals_have_our_comments(tmp_path: Path) -> None:
    blog = pages()
    path = competitors.stacosys_database(tmp_path, blog)
    with closing(sqlite3.connect(path)) as connection:
        counted = dict(connection.execute("SELECT url, count(*) FROM comment GROUP BY url"))
    assert counted == {page.url: page.count for page in blog}
    assert sum(counted.values()) == COMMENTS


def test_stacosys_without_its_sources_says_where_to_find_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STACOSYS_SOURCES", raising=False)
    with pytest.raises(MissingError, match="STACOSYS_SOURCES"):
        RIVAL["stacosys"].start(tmp_path, pages(), 1)


BY_NAME = {contest.name: contest for contest in CONTESTS}


@pytest.mark.parametrize("contest", CONTESTS, ids=lambda contest: contest.name)
def test_ratios_are_of_entries_and_entries_of_servers(contest: Contest) -> None:
    names = [entry.name for entry in contest.entries]
    assert len(set(names)) == len(names)
    assert {name for ratio in contest.ratios for name in (ratio.entry, ratio.by)} <= set(names)
    assert {entry.server for entry in contest.entries} <= {OURS, *PEER}


def test_each_page_is_asked_for_with_what_must_be_answered() -> None:
    first, second = BY_NAME["plain"].requests(["/a/", "/b/"], [b"1", b"2"])
    assert first.text == (
        b"GET /api/comments/count?url=/a/ HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"
    )
    assert (first.status, first.body, second.body) == (200, b"1", b"2")


def test_chrome_sends_some_600_bytes_with_an_origin_and_an_encoded_page() -> None:
    (request,) = BY_NAME["chrome"].requests(["/post/1/"], [b""])
    assert 580 <= len(request.text) <= 680
    assert b"count?url=%2Fpost%2F1%2F HTTP/1.1\r\n" in request.text
    assert "\r\nOrigin: https://blog.example.net\r\n" in CHROME
    assert request.text.endswith(b"\r\n\r\n")
    assert request.text.count(b"\r\n\r\n") == 1


def test_the_order_is_made_of_whole_pipelines_and_prefers_the_first_page() -> None:
    asked = order(1_000)
    assert all(len(asked) % contest.depth == 0 for contest in CONTESTS)
    assert asked.count(0) > 5 * asked.count(9) > 0
    assert max(asked) < 1_000


def test_a_generator_that_shares_its_core_with_a_server_sleeps() -> None:
    shared = {one.name for one in CONTESTS if any(entry.workers > 1 for entry in one.entries)}
    assert shared == {"scaling"}
    assert not BY_NAME["scaling"].awake


CORES = os.sched_getaffinity(0)
PEER_OURS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nAccess-Control-Allow-Origin: *\r\n"
    b'ETag: "0123456789abcdef"\r\nContent-Length: 12\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n'
    b'{"count":42}'
)


@pytest.fixture
def peer_answer(tmp_path: Path) -> Answer:
    return Answer.write(PEER_OURS, tmp_path)


def test_an_answer_is_written_without_what_servers_write_themselves(peer_answer: Answer) -> None:
    assert peer_answer.raw.read_bytes() == PEER_OURS
    assert json.loads(peer_answer.json.read_text()) == {
        "fields": [
            ["Content-Type", "application/json"],
            ["Access-Control-Allow-Origin", "*"],
            ["ETag", '"0123456789abcdef"'],
        ],
        "body": '{"count":42}',
    }


@pytest.mark.parametrize("name", ["baseline", "bridge", "nginx"])
def test_a_peer_gives_our_answer_until_it_is_ended(
    name: str, peer_answer: Answer, tmp_path: Path
) -> None:
    """Only those that need no download."""
    port = free_port()
    try:
        words = PEER[name](port, peer_answer)
    except MissingError as reason:
        cannot_run(str(reason))
    with Running(words, port, tmp_path / "log", CORES) as server:
        visitor = Visitor(port)
        for _ in range(3):
            assert visitor.get("/api/comments/count?url=/post/1/") == b'{"count":42}'
        visitor.close()
        assert server.cpu() >= 0
        assert server.rss() > 0.5
    with pytest.raises(OSError, match="refused"):
        Visitor(port).get("/")


def test_the_system_gives_a_free_port_to_nobody_else() -> None:
    """Otherwise a client's connection may have it before the server that it is for."""
    lowest, _ = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    ports = free_ports()
    assert len(set(ports)) == 2
    assert all(port < int(lowest) for port in ports)


def test_the_end_of_a_server_is_that_of_its_children(tmp_path: Path) -> None:
    """Regression: a port was still in use after its server had been ended."""
    for _ in range(5):
        port = free_port()
        child = f"import signal, socket; s = socket.create_server(('', {port})); signal.pause()"
        words = ["sh", "-c", f'"{sys.executable}" -c "{child}" & wait']
        with Running(words, port, tmp_path / "log", CORES):
            pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="no such answer"):
        Running(["sh", "-c", "echo no such answer >&2"], free_port(), tmp_path / "log", CORES)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nginx", "apt-get install -y nginx-light"),
        ("japronto", "pyenv install 3.6.15"),
        ("hyper", "rustup"),
        ("libreactor", "pkg-config"),
    ],
)
def test_an_absent_peer_says_what_to_do(
    name: str, message: str, peer_answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(peer, "PYTHON36", ("no-such-python",))
    monkeypatch.setenv("PKG_CONFIG_LIBDIR", "/nowhere")
    monkeypatch.delenv("PKG_CONFIG_PATH", raising=False)
    with pytest.raises(MissingError, match=message):
        PEER[name](1, peer_answer)


def test_an_environment_that_cannot_be_made_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "BUILD", tmp_path)
    with pytest.raises(MissingError, match="other cannot be built"):
        peer.environment("other", "false", ("nothing",))


ALLOWED = sorted(os.sched_getaffinity(0))
RUNNER_CORES = (ALLOWED[0], ALLOWED[-1])
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
    place = ContestRunner(folder, PAGES, EXTENT, RUNNER_CORES, seen.append)
    contest = replace(
        PLAIN, entries=(Entry("ours"), Entry("baseline", "baseline"), Entry("away", "away"))
    )
    made = place.play(contest, 1)
    assert sorted(one.scenario for one in made) == ["plain: baseline", "plain: ours"]
    assert all(one.answered > 0 and one.cpu_ns > 0 for one in made)
    assert seen == made
    assert place.about()["absent"] == {"away": "not today"}
    assert 150 < place.about()["answer_bytes"] < 400


def test_a_peer_that_answers_wrongly_is_told_of_and_the_run_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(port: int, answer: Answer) -> list[str]:
        other = folder / "wrong"
        other.write_bytes(answer.text.replace(b"count", b"cound"))
        return [str(programs.baseline()), str(port), str(other)]

    monkeypatch.setitem(peer.PEER, "wrong", wrong)
    place = ContestRunner(folder, PAGES, EXTENT, RUNNER_CORES, lambda _: None)
    contest = replace(PLAIN, entries=(Entry("wrong", "wrong"), Entry("ours")))
    assert [one.scenario for one in place.play(contest, 0)] == ["plain: ours"]
    assert "does not answer as it must" in place.about()["absent"]["wrong"]


def test_a_wrong_count_fails_the_run(folder: Path) -> None:
    wrong = [*PAGES[:-1], replace(PAGES[-1], count=99)]
    place = ContestRunner(folder, wrong, EXTENT, RUNNER_CORES, lambda _: None)
    with pytest.raises(ClientError, match="wrong ones"):
        place.play(replace(PLAIN, entries=(Entry("ours"),)), 1)


def test_a_store_that_is_too_small_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If nothing stays in the cache, all answers are misses."""
    monkeypatch.setattr(runner, "WARMINGS", 1)
    place = ContestRunner(folder, PAGES, EXTENT, RUNNER_CORES, lambda _: None)
    with pytest.raises(ServiceError, match="does not keep"):
        place.play(replace(PLAIN, entries=(Entry("ours"),)), 1)


def test_a_scan_counts_what_readers_and_the_attacker_saw(folder: Path) -> None:
    seen = ScanRunner(folder, PAGES, RUNNER_CORES).play(0.3, wanted=500)
    assert seen.asked >= 500
    assert seen.undisturbed_hits == 1.0
    assert 0.9 < seen.attacked_hits <= 1.0
    assert 10 < seen.rss_start <= seen.rss_end
    assert seen.base_gain >= 0


RATIO = Ratio("ours", "baseline", "cpu_ns", "most", 1.08, "")
SCAN = Scan(0.999, 0.995, 1_000_001, 30.0, 50_000.0, 40.0, 50.0, 57.0, base_gain=2.0)


def versus_made(name: str, *cpu_ns: float) -> list[Measurement]:
    return [
        replace(QUIET, scenario=f"plain: {name}", round=number, cpu_ns=value)
        for number, value in enumerate(cpu_ns, 1)
    ]


def test_a_ratio_is_taken_in_each_round_and_its_median_counts() -> None:
    """The ratios of the rounds are 2, 1 and 1.5, so the median is 1.5."""
    verdict = judge(
        "plain",
        RATIO,
        versus_made("ours", 1_000, 2_000, 1_500) + versus_made("baseline", 500, 2_000, 1_000),
    )
    assert (verdict.value, verdict.spread, verdict.holds) == (1.5, (1.0, 2.0), False)
    assert verdict.name == "plain: cpu_ns of ours by baseline"


def test_a_round_in_which_a_side_was_disturbed_does_not_count() -> None:
    ours, limit = versus_made("ours", 1_000, 1_000), versus_made("baseline", 1_000, 100)
    limit[1] = replace(limit[1], others_share=0.5)
    verdict = judge("plain", RATIO, ours + limit)
    assert (verdict.value, verdict.holds) == (1.0, True)


def test_without_a_quiet_round_a_ratio_is_not_judged() -> None:
    limit = [replace(one, others_share=0.5) for one in versus_made("baseline", 1_000)]
    verdict = judge("plain", RATIO, versus_made("ours", 1_000) + limit)
    assert (verdict.value, verdict.holds) == (1.0, None)


def test_an_absent_peer_has_neither_figures_nor_a_verdict() -> None:
    result = sum_up(
        {"absent": {}}, [PLAIN], versus_made("ours", 1_000) + versus_made("baseline", 1_000)
    )
    assert [summary.name for summary in result.summaries] == ["plain: ours", "plain: baseline"]
    assert [verdict.name for verdict in result.verdicts] == ["plain: cpu_ns of ours by baseline"]
    assert len(result.rounds) == 2


@pytest.mark.parametrize(
    ("seen", "holds"),
    [
        (SCAN, [True, True]),
        (replace(SCAN, attacked_hits=0.988), [False, True]),
        (replace(SCAN, rss_end=57.1), [True, False]),
    ],
    ids=["good", "hits lost", "too large"],
)
def test_a_scan_may_cost_a_point_and_the_store(seen: Scan, holds: list[bool]) -> None:
    result = with_scan(sum_up({}, [], []), seen)
    assert [verdict.holds for verdict in result.verdicts] == holds
    assert result.about["scan"]["asked"] == 1_000_001


def test_contests_are_listed_and_unknown_ones_refused() -> None:
    told = CliRunner().invoke(main, ["--list"])
    assert {"pipelined", "scan"} <= {line.split()[0] for line in told.output.splitlines()}
    assert CliRunner().invoke(main, ["nothing"]).exit_code == 2


def test_submissions_to_waline_say_what_ours_say_and_are_unique() -> None:
    blog = pages(20)
    for theirs, (page, text) in zip(waline.submissions(blog, 1), comments(blog), strict=True):
        head, body = theirs.text.split(b"\r\n\r\n")
        fields = json.loads(body)
        assert f"Content-Length: {len(body)}".encode() in head.split(b"\r\n")
        assert (fields["url"], fields["comment"]) == (page.url, f"{text.message} {MARK}")
