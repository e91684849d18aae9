"""Tables as text, with the comments of Waline."""

from pathlib import Path

import pytest

from commentsvc.imports.records import ImportFailed
from tests.unit.imports.import_samples import comments, parsed
from tests.unit.imports.test_detect import MAY_2013, WALINE_CSV, written


def test_a_table_has_a_bounded_number_of_columns(tmp_path: Path) -> None:
    """Each row would take time for all of them."""
    text = "comment,nick,url,insertedAt" + ",a" * 100_000 + "\n" + "a\n" * 10_000
    with pytest.raises(ImportFailed, match="more than 1000 columns"):
        parsed(written(tmp_path, "waline.csv", text))


def test_paragraphs_in_csv_are_kept_and_a_broken_row_is_named(tmp_path: Path) -> None:
    text = WALINE_CSV.replace('"One"', '"One, ""1""\n\n1b"')
    first, _ = comments(parsed(written(tmp_path, "a.csv", text)))
    assert first.text == 'One, "1"\n\n1b'
    faults: list[str] = []
    last = "o3,,Three,,,,,,,,,,/a/\r\n"
    broken = written(tmp_path, "b.csv", text.replace("Two", "x" * 200_000) + last)
    assert [each.id for each in comments(parsed(broken, faults=faults))] == ["o1", "o3"]
    assert faults == ["line 5: the CSV is invalid (field larger than field limit (131072))"]


def test_tabs_stand_between_values_without_quotes(tmp_path: Path) -> None:
    names, row, _ = WALINE_CSV.replace('"', "").replace(",", "\t").split("\r\n", 2)
    text = f"{names}\n{row}\n".replace("One", 'One "1\\n\\\\n\\tb')
    [comment] = comments(parsed(written(tmp_path, "a.tsv", text)))
    assert comment.text == 'One "1\n\\n\tb'


def test_a_value_may_be_an_object_of_a_database(tmp_path: Path) -> None:
    date = '"{""__type"":""Date"",""iso"":""2013-05-01T10:00:00.000Z""}"'
    text = WALINE_CSV.replace("2013-05-01T10:00:00.000Z", date).replace("Two", '"{""$x"": [}"')
    first, second = comments(parsed(written(tmp_path, "a.csv", text)))
    assert (first.created, second.text) == (MAY_2013, '{"$x": [}')
