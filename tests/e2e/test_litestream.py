"""The shipped configuration of Litestream, run by its own program: replicate, lose, restore."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import find_program
from tests.e2e.program import PATIENCE, ROOT, Service, command, wait_for
from tests.e2e.test_backup import OPEN, Writing

pytestmark = pytest.mark.sqlite_only("Litestream is for SQLite")


def test_all_that_was_acknowledged_comes_back_from_the_replica(
    data: Path, tmp_path: Path, start: Callable[..., Service]
) -> None:
    program = find_program("litestream")
    shipped = (ROOT / "config/litestream.yml").read_text()
    text = re.sub(r"path: /srv/comments\b", f"path: {data}", shipped)
    text = re.sub(r"url: file:///.*", f"url: file://{tmp_path}/replica", text)
    (tmp_path / "litestream.yml").write_text(text)
    service = start(data, environ=OPEN | {"COMMENTSVC_DATABASE_CHECKPOINT_PAGES": "0"})
    with (tmp_path / "litestream.log").open("wb") as log:
        words = [program, "replicate", "-config", str(tmp_path / "litestream.yml")]
        litestream = subprocess.Popen(words, stdout=log, stderr=log)
    writing = Writing(service, "and so on " * 400)
    writing.start()
    try:
        file = data / "comments.sqlite3"
        wait_for(lambda: file.stat().st_size > 1 << 20, "a checkpoint, which Litestream makes")
    finally:
        writing.ending.set()
        writing.join()
        litestream.terminate()  # it still sends what it has not yet replicated
        assert litestream.wait(PATIENCE) == 0
    service.process.kill()
    service.wait()
    assert service.log.read_text() == ""

    subprocess.run(
        [*(program, "restore", "-config", tmp_path / "litestream.yml"),
         *("-o", tmp_path / "restored", data / "comments.sqlite3")],
        check=True,
    )  # fmt: skip
    shutil.rmtree(data)
    done = command("restore", "--data", data, tmp_path / "restored")
    assert done.out.startswith(f"restored {writing.acknowledged} comments"), done
    assert command("check", "--data", data).code == 0
