"""Reading TOML with lines: the values are those of Python, and errors do not hide each other."""

import json
import tomllib
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from commentsvc.settings import toml_file
from commentsvc.settings.toml_file import Block

KEYS = st.sampled_from(["a", "b-c", "d_e", "f1"])
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("=[]#'\"\\\n"))
PLAIN = st.integers(-9, 9) | st.booleans() | TEXTS
VALUES = PLAIN | st.lists(PLAIN, max_size=3)
TABLES = st.dictionaries(KEYS, VALUES, max_size=3)
FILES = st.lists(st.tuples(st.sampled_from(["one", "two", "three"]), TABLES), max_size=4)


def written(value: object, *, over_lines: bool) -> str:
    if isinstance(value, list) and over_lines:
        return (
            "[\n"
            + "".join(f"    {json.dumps(each, ensure_ascii=False)},  # x = 1\n" for each in value)
            + "]"
        )
    return json.dumps(value, ensure_ascii=False)


@given(FILES, st.booleans())
def test_values_are_those_of_python_and_lines_are_right(
    sections: list[tuple[str, dict[str, object]]], over_lines: bool
) -> None:
    lines: list[str] = []
    expected = []
    for name, table in sections:
        lines.append(f"[[{name}]] # a comment")
        for key, value in table.items():
            expected.append((name, key, len(lines) + 1))
            lines += f"{key} = {written(value, over_lines=over_lines)}".split("\n")
        lines.append("# no = value")
    text = "\n".join(lines)
    blocks, faults = toml_file.read(text)
    assert faults == []
    assert by_name(blocks) == tomllib.loads(text)
    assert sorted(expected) == sorted(
        (block.name, key, block.lines[key]) for block in blocks for key in block.values
    )


@given(FILES)
def test_a_wrong_line_hides_no_value(sections: list[tuple[str, dict[str, object]]]) -> None:
    text = "".join(
        f"[[{name}]]\n"
        + "".join(
            f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items()
        )
        for name, table in sections
    )
    blocks, faults = toml_file.read(text + "wrong\n")
    assert len(faults) == 1
    assert by_name(block for block in blocks if block.name) == tomllib.loads(text)


def by_name(blocks: Iterable[Block]) -> dict[str, object]:
    document: dict[str, list[object]] = {}
    for block in blocks:
        document.setdefault(block.name, []).append(block.values)
    return dict(document)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    _, faults = toml_file.read(text)
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assert faults
    else:
        assert faults == []


def test_dotted_keys_and_inline_tables_name_their_section() -> None:
    blocks, _ = toml_file.read('a.x = 1\nb = {y = 2}\n"c"."z" = 3\n')
    assert {block.name: block.values for block in blocks} == {
        "a": {"x": 1},
        "b": {"y": 2},
        "c": {"z": 3},
    }


def test_a_line_that_looks_like_a_section_in_a_text_is_none() -> None:
    text = '[a]\nx = """\n[b]\ny = 1\n"""\n'
    (block,), faults = toml_file.read(text)
    assert (block.name, block.values, faults) == ("a", {"x": "[b]\ny = 1\n"}, [])
