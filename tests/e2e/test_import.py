"""An import while readers and submitters use the service; it is killed and started again."""

import itertools
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

from tests.e2e.program import ROOT, command, database, environment, rows, serving, wait_for
from tests.e2e.readers import reading

PAGES, COMMENTS = 40, 1_000
SETTINGS = {"COMMENTSVC_SPAM_RATE_LIMIT": "off", "COMMENTSVC_MODERATION_POLICY": "none"}
# What a comment looks like, without its number.
ROWS = (
    "SELECT t.url, c.source, p.source, c.status, c.created_at, c.author, i.anchor, i.key"
    " FROM comment AS c JOIN thread AS t ON t.id = c.thread_id"
    " JOIN imported_comment AS i ON i.comment_id = c.id"
    " LEFT JOIN comment AS p ON p.id = c.parent_id ORDER BY i.key"
)


def export(path: Path) -> None:
    """Write a Disqus export in which each third comment is a reply, sometimes to a later one."""
    parts = ['<disqus xmlns="http://disqus.com" xmlns:dsq="http://disqus.com/disqus-internals">']
    parts += [
        f'<thread dsq:id="{page}"><link>https://blog.example/{page}/</link></thread>'
        for page in range(PAGES)
    ]
    for number in range(COMMENTS):
        page = number % PAGES
        parent = (number * 7 + page) % COMMENTS // PAGES * PAGES + page
        answers = f'<parent dsq:id="{parent}"/>' if number % 3 == 0 and parent != number else ""
        parts.append(
            f'<post dsq:id="{number}"><message>&lt;p&gt;Number {number}&lt;/p&gt;</message>'
            f"<createdAt>2020-01-01T{number % 24:02}:{number % 60:02}:00Z</createdAt>"
            f"<isSpam>{'true' if number % 50 == 0 else 'false'}</isSpam>"
            f'<author><name>Ann</name></author><thread dsq:id="{page}"/>{answers}</post>'
        )
    path.write_text("".join([*parts, "</disqus>"]))


def imported(data: Path) -> list[tuple[object, ...]]:
    """Return all imported comments."""
    with closing(rows(data)) as reading:
        found: list[tuple[object, ...]] = reading.execute(ROWS).fetchall()
        return found


def test_a_killed_import_beside_readers_is_continued_and_is_as_one(tmp_path: Path) -> None:
    data, once, file = tmp_path / "data", tmp_path / "once", tmp_path / "disqus.xml"
    export(file)
    once.mkdir()
    assert command("import", "disqus", file, "--data", once).code == 0
    words = ("import", "disqus", file, "--data", data)
    acknowledged: list[int] = []
    ending = threading.Event()
    with serving(data, SETTINGS) as service:

        def submit() -> None:
            for number in itertools.count():
                if ending.is_set():
                    return
                answer = service.submit("/0/", f"Meanwhile {number}")
                acknowledged.append(answer.status)

        with reading(2, service.connection) as readers:
            writer = threading.Thread(target=submit)
            writer.start()
            try:
                killed = subprocess.Popen(
                    [sys.executable, "-m", "commentsvc", *map(str, words)],
                    cwd=ROOT,
                    env=environment(database(data)),
                    stdout=subprocess.DEVNULL,
                )
                wait_for(lambda: len(imported(data)) > 0, "the first comments")
                killed.send_signal(signal.SIGKILL)
                killed.wait()
                assert imported(data), "usually a part; on a busy machine the kill may come late"
                assert command(*words).code == 0
            finally:
                ending.set()
                writer.join()
        assert readers.failures == []
        assert readers.answered > 0
        assert service.count("/1/") == sum(
            row[0] == "/1/" and row[3] == "approved" for row in imported(once)
        ), "no stale answer is kept"
        assert set(acknowledged) == {201}
    assert len(imported(data)) == COMMENTS
    assert imported(data) == imported(once)
    assert command("check", "--data", data).code == 0
