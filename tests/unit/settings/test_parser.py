"""Reading settings, and the errors that name a wrong one."""

from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from commentsvc.settings.parser import FILE_LIMIT, SHOWN, SettingsParser


class Oven(Struct, frozen=True):
    heat: Annotated[int, Meta(ge=50, le=300, description="a whole number from 50 to 300")] = 180
    modes: Annotated[tuple[str, ...], Meta(description="a list of modes")] = ("fan",)
    light: Annotated[bool, Meta(description="true or false")] = False
    door: Annotated[Literal["open", "shut"], Meta(description='"open" or "shut"')] = "shut"
    code: Annotated[str, Meta(min_length=4, description="4 characters", extra={"secret": True})] = (
        "0000"
    )


class Tray(Struct, frozen=True):
    name: Annotated[str, Meta(min_length=1, description="a name")] = "first"


HEAT = "allowed is a whole number from 50 to 300"
LIGHT = "allowed is true or false"
DOOR = 'allowed is "open" or "shut"'
VARIABLE = ":2: This line sets a variable of the environment. Write KEY = VALUE, or move it there."
CONFLICT = ":2: This line marks a merge conflict. Keep one of the two sides, without such lines."
OTHER = (
    " is no settings file in TOML. Name another one with --config, or let `commentsvc init` write"
    " one."
)


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
    assert read.problems == [f"{variable} is no setting. Did you mean {nearest}?"]


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
        ("[oven]\nhaet = 1", ":2: oven.haet is no setting. Did you mean oven.heat?"),
        (
            "[[tray]]\nheat = 1",
            ":2: tray.heat is no setting. Did you mean oven.heat? Put the line below [oven].",
        ),
        ("[oven]\nzzz = 1", ":2: oven.zzz is no setting. docs/configuring.md lists all."),
        ("[oven.knob]\na = 1", ":1: oven.knob is no setting. docs/configuring.md lists all."),
        ("[ovne]\nheat = 1", ":1: [ovne] is no section. Did you mean [oven]?"),
        ("[zz]", ":1: [zz] is no section. docs/configuring.md lists them."),
        ("oven = 3", ":1: oven is a section. Write [oven] on a line, then its settings."),
        ("tray = [1]", ":1: tray is a section. Write [[tray]] on a line, then its settings."),
        (
            "\nheat = 90",
            ":2: heat stands before the first section. Did you mean oven.heat?"
            " Put the line below [oven].",
        ),
        ("\n[tray]\nname = 'x'", ":2: write [[tray]]: there is one for each."),
        ("[[oven]]\nheat = 90", ":1: write [oven]: there is only one."),
        ("[[tray]]\n[tray]\n", ":2: write [[tray]]: there is one for each."),
        ("[oven", ":1: a section begins with [oven], and nothing else on its line."),
        ("[oven]]", ":1: a section begins with [oven], and nothing else on its line."),
        ("[oven] heat = 90", ":1: a section begins with [oven], and nothing else on its line."),
        ("[[tray]", ":1: a section begins with [[tray]], and nothing else on its line."),
        (
            "[oven]\nheat = 90\n[[tray]]\n[oven]\nmodes = ['fan']",
            ":4: [oven] begins already at line 1: put these lines there.",
        ),
        (
            "[oven]\nheat = 90\n\nheat = 91",
            ":4: oven.heat stands already at line 2: keep one of the two.",
        ),
        ("[oven]\nheat: 90", ":2: heat stands without a =. Write heat = and its value."),
        ("[oven]\nheat 90", ":2: heat stands without a =. Write heat = and its value."),
        ("[oven]\nheat", ":2: heat has no value. Write [heat] for a section, or KEY = VALUE."),
        (
            "[oven]\n// hot",
            ":2: This line is no setting. Write KEY = VALUE, or # before a comment.",
        ),
        (
            "[oven]\ntray = {name = 'x'}",
            ":2: oven.tray is no setting. Write [[tray]] on a line, then its settings.",
        ),
        (
            "[oven]\nBAKE_OVEN_HEAT = 90",
            ":2: oven.BAKE_OVEN_HEAT is no setting. Did you mean oven.heat? Put the line below"
            " [oven].",
        ),
        ("[oven]\nexport BAKE_OVEN_HEAT=90", VARIABLE),
        ("[oven]\nset BAKE_OVEN_HEAT=90", VARIABLE),
        ("[oven]\n<<<<<<< HEAD\n", CONFLICT),
        ("[oven]\n=======\n", CONFLICT),
        ("[oven]\n>>>>>>> of-mine\n", CONFLICT),
        (b"[oven]\nheat = 9\xff", " cannot be read: line 2 is not UTF-8. Save the file as UTF-8."),
        ("[oven]".encode("utf-16"), " cannot be read: it is UTF-16. Save it as UTF-8."),
        (b"SQLite format 3\x00", " cannot be read: it is no text."),
        (
            b" " * (FILE_LIMIT + 1),
            " cannot be read: it is longer than 1048576 bytes, so it is something else.",
        ),
        ('{"oven": {"heat": 90}}', OTHER),
        ("# YAML\noven:\n  heat: 90\n", OTHER),
        ("<oven/>", OTHER),
        ("hot\n" * 21, OTHER),
    ],
)
def test_a_fault_of_the_file_is_one_problem(
    tmp_path: Path, text: str | bytes, problem: str
) -> None:
    assert read_text(tmp_path, text).problems == [f"{tmp_path}/bake.toml{problem}"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("heat = 20", f"heat is 20; {HEAT}. Write for example heat = 180"),
        ('heat = "90"', f'heat is "90"; {HEAT}. Write heat = 90'),
        ("heat = 090", f"heat is 090, which is no TOML; {HEAT}. Write for example heat = 180"),
        ("heat =", f"heat has no value; {HEAT}. Write for example heat = 180"),
        ("heat = 2026-01-01", f'heat is "2026-01-01"; {HEAT}. Write for example heat = 180'),
        ('modes = "fan"', 'modes is "fan"; allowed is a list of modes. Write modes = ["fan"]'),
        (
            "modes = fan, grill # both",
            "modes is fan, grill, which is no TOML; allowed is a list of modes."
            ' Write modes = ["fan", "grill"]',
        ),
        (
            'modes = ["fan" "grill"',
            'modes is ["fan" "grill", which is no TOML; allowed is a list of modes.'
            ' Write modes = ["fan", "grill"]',
        ),
        ("light = True", f"light is True, which is no TOML; {LIGHT}. Write light = true"),
        ('light = "false"', f'light is "false"; {LIGHT}. Write light = false'),
        ('door = "opne"', f'door is "opne"; {DOOR}. Write door = "open"'),
        ("door = “shut”", f'door is “shut”, which is no TOML; {DOOR}. Write door = "shut"'),
        ('door = "shut', f'door is "shut, which is no TOML; {DOOR}. Write door = "shut"'),
        (
            'door = "open" // at noon',
            f'door is "open" // at noon, which is no TOML; {DOOR}. Write door = "open"',
        ),
        ("heat => 90", f"heat is > 90, which is no TOML; {HEAT}. Write heat = 90"),
        ("heat == 90", f"heat is = 90, which is no TOML; {HEAT}. Write heat = 90"),
        ("heat = null", f"heat is null, which is no TOML; {HEAT}. Write for example heat = 180"),
        ("heat = 90;", f"heat is 90;, which is no TOML; {HEAT}. Write heat = 90"),
        ("heat = 90,", f"heat is 90,, which is no TOML; {HEAT}. Write heat = 90"),
        ("heat = 90 -- C", f"heat is 90 -- C, which is no TOML; {HEAT}. Write heat = 90"),
        ("code = 12345", 'code is not shown here; allowed is 4 characters. Write code = "…"'),
        ("code = ab'cd", 'code is no TOML; allowed is 4 characters. Write code = "…"'),
        ("code = 'a'", "code is not shown here; allowed is 4 characters. Change it there."),
    ],
)
def test_a_wrong_value_is_named_with_what_to_write(tmp_path: Path, line: str, problem: str) -> None:
    read = read_text(tmp_path, f"[oven]\n{line}\n")
    assert read.build(Oven, read.tables["oven"]) == Oven()
    assert read.problems == [f"{tmp_path}/bake.toml:2: oven.{problem}"]


def test_one_wrong_line_does_not_hide_the_others(tmp_path: Path) -> None:
    text = "[oven]\nheat = hot\n[[tray]]\nname = \n[oven]\ncoed = 1\nmodes = ['fan'\nlight = 2\n"
    read = read_text(tmp_path, text)
    read.build(Oven, read.tables["oven"])
    lines = [problem.split(":")[1] for problem in read.problems]
    assert sorted(lines) == ["2", "4", "5", "6", "7", "8"]


def test_a_file_that_windows_wrote_is_read(tmp_path: Path) -> None:
    read = read_text(tmp_path, b"\xef\xbb\xbf[oven]\r\nheat = 90\r\n")
    assert read.build(Oven, read.tables["oven"]).heat == 90


def test_a_file_that_is_not_there_is_one_problem(tmp_path: Path) -> None:
    read = reading()
    read.read_file(tmp_path / "none.toml")
    read.read_file(tmp_path)
    assert read.problems == [
        f"There is no file {tmp_path}/none.toml. Name another one with --config, or write it:"
        f" commentsvc init --config {tmp_path}/none.toml",
        f"{tmp_path} is a folder. Name the settings file in it: {tmp_path}/commentsvc.toml",
    ]


def test_a_wrong_variable_is_named_with_what_to_set() -> None:
    read = reading()
    read.read_environment({"BAKE_OVEN_HEAT": "hot", "BAKE_OVEN_DOOR": "opne"})
    read.build(Oven, read.tables["oven"])
    assert read.problems == [
        f'BAKE_OVEN_HEAT is "hot"; {HEAT}. Write for example BAKE_OVEN_HEAT=180',
        f'BAKE_OVEN_DOOR is "opne"; {DOOR}. Write BAKE_OVEN_DOOR=open',
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
    assert len(problem) < SHOWN + 150
    assert problem.isprintable()
