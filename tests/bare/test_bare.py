"""./run on a bare Debian 12: it installs everything, shows the demo, and starts again offline."""

import re
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.bare.system import System, copy_sources


@contextmanager
def running(bare: System, *, offline: bool = False) -> Iterator[tuple[str, str]]:
    """Start the demo; return what it printed until it listened, and its address."""
    with bare.start("./run", "--listen", "127.0.0.1:0", offline=offline) as process:
        try:
            said = []
            for line in process.stdout or ():
                said.append(line)
                if found := re.match(r"commentsvc listens on (http://\S+)$", line):
                    yield "".join(said), found[1]
                    return
            pytest.fail("".join(said))
        finally:
            process.kill()


def test_run_installs_what_it_needs_and_serves_the_demo(debian: System) -> None:
    with running(debian) as (said, address):
        assert "installing with apt: python3-venv python3-dev gcc libc6-dev" in said
        with urllib.request.urlopen(f"{address}/") as page:
            assert b"Slow Bench" in page.read()
        with urllib.request.urlopen(f"{address}/api/comments/count?url=/posts/") as count:
            assert count.read() == b'{"count":0}'


def test_run_starts_again_without_a_network_and_leaves_nothing_in_tmp(debian: System) -> None:
    with running(debian, offline=True) as (said, _):
        assert "installing" not in said
    assert not [*(debian.root / "tmp").iterdir()]


def test_an_unreachable_network_is_told_in_few_lines(debian: System) -> None:
    copy_sources(debian.root / "root/new")
    process = debian.start("../new/run", offline=True)
    said, _ = process.communicate()
    assert process.returncode == 1
    assert "Is this machine online?" in said.splitlines()[-1]
