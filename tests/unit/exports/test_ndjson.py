"""The NDJSON export: its lines, and the number of comments in it."""

import io

from commentsvc.exports import ndjson
from commentsvc.exports.output import BATCH, Output
from commentsvc.exports.records import CommentRecord, EndRecord, ThreadRecord


def comment(number: int, text: str = "Hi") -> CommentRecord:
    created = "2026-01-02T03:04:05.678Z"
    return CommentRecord(number, "blog", "/post/", "approved", created, text, f"<p>{text}</p>")


def test_each_record_is_a_line_without_what_is_usual() -> None:
    file = io.BytesIO()
    output = Output(file)
    ndjson.write([ThreadRecord("blog", "/post/"), comment(7, "Ä\n"), EndRecord()], output)
    output.flush()
    assert output.comments == 1
    assert file.getvalue().decode() == (
        '{"type":"thread","site":"blog","url":"/post/"}\n'
        '{"type":"comment","id":7,"site":"blog","url":"/post/","status":"approved",'
        '"created":"2026-01-02T03:04:05.678Z","message":"Ä\\n","html":"<p>Ä\\n</p>"}\n'
        '{"type":"end"}\n'
    )


def test_progress_is_told_in_pieces_that_add_up() -> None:
    advances: list[int] = []
    output = Output(io.BytesIO(), advances.append)
    ndjson.write((comment(number, "x" * (BATCH // 8)) for number in range(1, 21)), output)
    assert 2 < len(advances) < 20
    output.flush()
    assert sum(advances) == 20
