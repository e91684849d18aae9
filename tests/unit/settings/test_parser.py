"""Reading settings, and the errors that name a wrong one."""

from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from commentsvc.settings.parser import FILE_LIMIT, SHOWN, SettingsParser


class Oven(Struct, frozen=True):
    heat: Annotated[int, Meta(ge=50, le=300, description="a whole number from 50 to 300")] = 180
    modes: Annotated[tuple[str, ...], Meta(description="a list of modes")] = ("fan",)
    code: Annotated[str, Meta(min_length=4, description="4 characters", extra={"secret": True})] = (
        "0000"
    )


class Tray(Struct, frozen=True):
    name: Annotated[str, Meta(min_length=1, description="a name")] = "first"


def reading() -> SettingsParser:
    return SettingsParser(
        "BAKE_", {"oven": Oven, "tray": Tray}, repeated="tray", others=("BAKE_HOME",)
    )


def read_text(tmp_path: Path, text: str | bytes) -> SettingsParser:
    file = tmp_path / "bake.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    read = reading()
    read.read_file(file)
    return read


def test_nothing_given_builds_the_defaults() -> None:
    read = reading()
    assert read.build(Oven, read.tables["oven"]) == Oven()
    assert [read.build(Tray, table) for table in read.repeats] == [Tray()]
    assert read.problems == []


def test_a_file_gives_values(tmp_path: Path) -> None:
    read = read_text(tmp_path, '[oven]\nheat = 90\n[[tray]]\nname = "a"\n[[tray]]\nname = "b"\n')
    assert read.build(Oven, read.tables["oven"]).heat == 90
    assert [read.build(Tray, table).name for table in read.repeats] == ["a", "b"]


def test_a_variable_wins_over_the_file(tmp_path: Path) -> None:
    read = read_text(tmp_path, "[oven]\nheat = 90\n")
    read.read_environment({"BAKE_OVEN_HEAT": "100", "PATH": "/bin"})
    assert read.build(Oven, read.tables["oven"]).heat == 100


def test_a_variable_gives_a_list_with_commas() -> None:
    read = reading()
    read.read_environment({"BAKE_OVEN_MODES": "fan, grill,"})
    assert read.build(Oven, read.tables["oven"]).modes == ("fan", "grill")


def test_an_empty_variable_gives_an_empty_list() -> None:
    read = reading()
    read.read_environment({"BAKE_OVEN_MODES": ""})
    assert read.build(Oven, read.tables["oven"]).modes == ()


def test_a_variable_may_name_a_file_with_the_value(tmp_path: Path) -> None:
    (tmp_path / "code").write_text("hunter2\n")
    read = reading()
    read.read_environment({"BAKE_OVEN_CODE_FILE": str(tmp_path / "code")})
    assert read.build(Oven, read.tables["oven"]).code == "hunter2"


def test_a_value_file_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    read = reading()
    read.read_environment({"BAKE_OVEN_CODE_FILE": str(tmp_path / "none")})
    assert read.problems == [
        f"BAKE_OVEN_CODE_FILE is {tmp_path}/none, which cannot be read: "
        "No such file or directory. Name another file or unset it."
    ]


def test_a_variable_and_its_file_cannot_both_be_set() -> None:
    read = reading()
    read.read_environment({"BAKE_OVEN_CODE": "1234", "BAKE_OVEN_CODE_FILE": "/x"})
    assert read.problems == ["BAKE_OVEN_CODE and BAKE_OVEN_CODE_FILE are both set. Unset one."]


def test_a_variable_of_the_caller_is_left_to_it() -> None:
    read = reading()
    read.read_environment({"BAKE_HOME": "/x"})
    assert read.problems == []


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("BAKE_OVEN_HAET", "BAKE_OVEN_HEAT"),
        ("BAKE_OVNE_MODES_FILE", "BAKE_OVEN_MODES"),
        ("BAKE_HOMES", "BAKE_HOME"),
    ],
)
def test_an_unknown_variable_is_refused_with_the_nearest(variable: str, nearest: str) -> None:
    read = reading()
    read.read_environment({variable: "1"})
    assert read.problems == [
        f"{variable} is not a setting; the most similar one is {nearest}. Rename or unset it."
    ]


def test_what_kubernetes_says_of_a_service_is_passed_over() -> None:
    """The forms of https://kubernetes.io/docs/concepts/services-networking/service/."""
    read = reading()
    read.read_environment(
        {
            "BAKE_SERVICE_HOST": "10.0.0.11",
            "BAKE_SERVICE_PORT": "80",
            "BAKE_SERVICE_PORT_HTTP": "80",
            "BAKE_PORT": "tcp://10.0.0.11:80",
            "BAKE_PORT_80_TCP": "tcp://10.0.0.11:80",
            "BAKE_PORT_80_TCP_PROTO": "tcp",
            "BAKE_PORT_80_TCP_PORT": "80",
            "BAKE_PORT_80_TCP_ADDR": "10.0.0.11",
            "BAKE_CACHE_PORT": "tcp://10.0.0.12:6379",
        }
    )
    assert read.problems == []
    read.read_environment({"BAKE_PORT": "80"})
    assert len(read.problems) == 1


def test_a_repeated_section_is_not_reached_by_a_variable(tmp_path: Path) -> None:
    read = read_text(tmp_path, '[[tray]]\nname = "a"\n[[tray]]\nname = "b"\n')
    read.read_environment({"BAKE_TRAY_NAME": "c"})
    assert read.problems == [
        "BAKE_TRAY_NAME is set, but the file has 2 [[tray]]. Unset it and use the file."
    ]


def test_the_only_table_of_a_repeated_section_is_reached_by_a_variable() -> None:
    read = reading()
    read.read_environment({"BAKE_TRAY_NAME": "c"})
    assert read.build(Tray, read.repeats[0]).name == "c"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "[oven]\nhaet = 1",
            "oven.haet in {} is not a setting; the most similar one is oven.heat.",
        ),
        (
            "[[tray]]\nheat = 1",
            "tray.heat in {} is not a setting; the most similar one is oven.heat.",
        ),
        ("[ovne]\nheat = 1", "[ovne] in {} is not a section; the most similar one is [oven]."),
        ("oven = 3", "oven in {} is 3, but must be a section. Write [oven] on a line"),
        (
            "[tray]\nname = 'x'",
            "tray in {} is {{'name': 'x'}}, but must be a section. Write [[tray",
        ),
        ("tray = [1]", "tray in {} is [1], but must be a section. Write [[tray]] on a line"),
        ("[oven", "{} cannot be read as TOML: Expected ']' at the end of a table declaration"),
        (b"\xff", "{} cannot be read as TOML: 'utf-8' codec can't decode byte 0xff"),
        (b" " * (FILE_LIMIT + 1), "{} cannot be read as TOML: it is longer than 1048576 bytes"),
    ],
)
def test_a_fault_of_the_file_is_one_problem(
    tmp_path: Path, text: str | bytes, problem: str
) -> None:
    (found,) = read_text(tmp_path, text).problems
    assert found.startswith(problem.format(tmp_path / "bake.toml"))


def test_a_file_that_cannot_be_opened_is_one_problem(tmp_path: Path) -> None:
    read = reading()
    read.read_file(tmp_path / "none.toml")
    (problem,) = read.problems
    assert problem.startswith(f"{tmp_path}/none.toml cannot be read as TOML: No such file")


def test_a_wrong_value_is_named_with_what_is_allowed(tmp_path: Path) -> None:
    read = read_text(tmp_path, "[oven]\nheat = 20\n")
    assert read.build(Oven, read.tables["oven"]) == Oven()
    assert read.problems == [
        f"oven.heat in {tmp_path}/bake.toml is 20; "
        "allowed is a whole number from 50 to 300. Change it there."
    ]


def test_all_wrong_values_are_reported_at_once() -> None:
    read = reading()
    read.read_environment({"BAKE_OVEN_HEAT": "warm", "BAKE_OVEN_CODE": "1", "BAKE_X": ""})
    read.build(Oven, read.tables["oven"])
    assert len(read.problems) == 3


def test_a_secret_is_not_shown() -> None:
    read = reading()
    read.read_environment({"BAKE_OVEN_CODE": "abc"})
    read.build(Oven, read.tables["oven"])
    assert read.problems == [
        "BAKE_OVEN_CODE is not shown here; allowed is 4 characters. Change it there."
    ]


@given(st.text())
def test_a_wrong_value_is_shown_short_and_on_one_line(value: str) -> None:
    read = reading()
    read.read_environment({"BAKE_OVEN_HEAT": "x" + value})
    read.build(Oven, read.tables["oven"])
    (problem,) = read.problems
    assert len(problem) < SHOWN + 120
    assert problem.isprintable()
