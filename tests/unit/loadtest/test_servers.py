"""loadtest/servers: the servers that ours is compared with."""

import json
import os
from pathlib import Path

import pytest

from loadtest.data.blog import pages
from loadtest.harness.bench import comments
from loadtest.harness.running import free_ports
from loadtest.harness.scenario import MARK
from loadtest.servers import waline
from loadtest.servers.competitors import COMPETITORS, Question, our_batch
from loadtest.servers.peer import Answer

RIVAL = {competitor.name: competitor for competitor in COMPETITORS}


def test_each_answer_is_read_as_its_server_writes_it() -> None:
    assert RIVAL["sanic"].count("/a/").read(b'{"count":3}\n') == [3]
    assert RIVAL["isso"].count("/a/").read(b"[3]") == [3]
    assert our_batch(["/a/", "/b/"]).read(b'{"counts":{"/b/":2,"/a/":1}}') == [1, 2]


def test_a_body_goes_with_its_length() -> None:
    text = Question("/x", lambda _: [], "POST", b"[1]").text("localhost")
    assert text.startswith(b"POST /x HTTP/1.1\r\nHost: localhost\r\n")
    assert text.endswith(b"Content-Length: 3\r\n\r\n[1]")
    assert Question("/x", lambda _: []).text("h") == b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n"


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


def test_the_system_gives_a_free_port_to_nobody_else() -> None:
    """Otherwise a client's connection may have it before the server that it is for."""
    lowest, _ = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    ports = free_ports()
    assert len(set(ports)) == 2
    assert all(port < int(lowest) for port in ports)


def test_submissions_to_waline_say_what_ours_say_and_are_unique() -> None:
    blog = pages(20)
    for theirs, (page, text) in zip(waline.submissions(blog, 1), comments(blog), strict=True):
        head, body = theirs.text.split(b"\r\n\r\n")
        fields = json.loads(body)
        assert f"Content-Length: {len(body)}".encode() in head.split(b"\r\n")
        assert (fields["url"], fields["comment"]) == (page.url, f"{text.message} {MARK}")
