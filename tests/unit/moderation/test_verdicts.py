"""verdicts: what is told of stored comments."""

from pathlib import Path

from commentsvc.moderation import verdicts
from commentsvc.moderation.verdicts import StoredVerdict
from tests.unit.stored import add, opened


def test_a_verdict_is_told_with_its_reasons(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        plain = add(database).comment.id
        doubted = add(database, score=8, reasons="3 links (+5)\nthe same text (+3)").comment.id
        found = database.read_now(lambda reader: verdicts.find(reader, [plain, doubted, 77]))
        assert found == {doubted: StoredVerdict(8, ("3 links (+5)", "the same text (+3)"))}
        assert database.read_now(lambda reader: verdicts.find(reader, [])) == {}
