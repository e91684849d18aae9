"""./run and config/bootstrap.sh: where they start, what they print and what they report."""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from loadtest.harness.running import free_port
from tests.e2e.program import PATIENCE, ROOT, environment, wait_for
from tests.e2e.test_manual import as_user
from tests.unit.database_fixture import opened

pytestmark = pytest.mark.sqlite_only("it is about scripts")

NOBODY = 65_534


class Demo:
    """A process of ./run, on `data` of its own or on the demo's."""

    def __init__(self, program: Path, data: Path | None, *words: str) -> None:
        if data:
            data.mkdir()
            words = ("--data", str(data), *words)
        self.process = subprocess.Popen(
            [program, *words],
            env=environment({}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def read(self) -> str:
        """Return what it prints until it has said its addresses, or ends."""
        lines = []
        for line in self.process.stdout or ():
            lines.append(line)
            if line.startswith("Moderation: "):
                return "".join(lines)
        pytest.fail("".join(lines) + self.process.communicate()[1])

    def close(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Return a stack of what must be closed at the end of the test."""
    with ExitStack() as stack:
        yield stack


def copy_of_run(folder: Path) -> Path:
    """Return the ./run of a copy of these sources, with this .venv, in a folder with a space."""
    copy = folder / "a copy"
    shutil.copytree(ROOT / "static", copy / "static")
    (copy / "config").mkdir()
    (copy / "config/bootstrap.sh").write_text("exit 0\n")
    (copy / ".venv").symlink_to(ROOT / ".venv")
    return Path(shutil.copy(ROOT / "run", copy / "run"))


def test_run_takes_another_port_where_its_own_is_taken_and_says_so(
    tmp_path: Path, stack: ExitStack
) -> None:
    taken = stack.enter_context(closing(socket.socket()))
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind(("127.0.0.1", 8080))
        taken.listen()
    except OSError:
        pass  # another program has the port, which is as good
    demo = stack.enter_context(closing(Demo(ROOT / "run", tmp_path / "data")))
    said = demo.read()
    [port] = re.findall(
        r"^Port 8080 is taken by another program, so this is port (\d+)\.$", said, re.M
    )
    assert f"approve --all --data {tmp_path / 'data'}\n" in said
    assert said.endswith(
        f"Blog: http://localhost:{port}/\nModeration: http://localhost:{port}/moderation\n"
    )


@pytest.mark.parametrize("form", ["--listen={}", "--listen {}"])
def test_run_by_a_link_prints_the_address_that_it_is_given(
    tmp_path: Path, stack: ExitStack, form: str
) -> None:
    port = free_port()
    (tmp_path / "link").symlink_to(ROOT / "run")
    words = form.format(f"127.0.0.1:{port}").split(" ")
    demo = stack.enter_context(closing(Demo(tmp_path / "link", tmp_path / "data", *words)))
    said = demo.read()
    assert f"http://localhost:{port}/moderation" in said
    assert "8080" not in said


def test_first_starts_at_once_in_a_path_with_a_space_all_show_the_demo(
    tmp_path: Path, stack: ExitStack
) -> None:
    program = copy_of_run(tmp_path)
    demos = [
        stack.enter_context(
            closing(Demo(program, tmp_path / f"data{number}", "--listen", "127.0.0.1:0"))
        )
        for number in range(4)
    ]
    for demo in demos:
        assert "The demo blog is built." in demo.read()
    left = {path.name for path in program.parent.joinpath("var").iterdir()}
    assert left == {"demo", "demo-built", "demo.lock", "hugo-cache", "hugo.log"}


def comments(port: str, url: str) -> list[dict[str, Any]]:
    address = f"http://127.0.0.1:{port}/api/comments?url={url}"
    with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
        found: list[dict[str, Any]] = json.load(answer)["data"]
    return found


def test_the_demo_begins_with_a_conversation_once(tmp_path: Path, stack: ExitStack) -> None:
    program = copy_of_run(tmp_path)
    data = program.parent / "var/data"
    for start in range(2):
        demo = Demo(program, None)
        with closing(demo):
            said = demo.read()
            [(port, url)] = re.findall(r"conversation: http://localhost:(\d+)(/posts/\S+)", said)
            found = comments(port, url)
            assert len(found) == 6 - start
            if not start:
                second = subprocess.run(
                    [program], env=environment({}), capture_output=True, text=True
                )
                assert (second.returncode, second.stdout) == (1, "")
                assert second.stderr.startswith(f"It is running already: http://127.0.0.1:{port} ")
            assert "owner" in {each.get("role") for each in found}
            assert "<code" in "".join(each["html"] for each in found)
            here = re.compile(rf'src="(http://localhost:{port}/images/\S+)"')
            # After another port, the texts are rendered anew in the background.
            wait_for(lambda: bool(here.search(str(comments(port, url)))), "a picture")  # noqa: B023 - it is called at once
            [picture] = here.findall(str(comments(port, url)))
            with urllib.request.urlopen(picture, timeout=PATIENCE) as answer:
                assert answer.headers["Content-Type"] == "image/webp"
            words: list[str | Path] = [ROOT / ".venv/bin/commentsvc", "list", "--data", data]
            listed = subprocess.run(words, env=environment({}), capture_output=True, check=True)
            assert listed.stdout.count(b"pending") == 1
            words[1:2] = ["delete", "8" if start else "7"]
            subprocess.run(words, env=environment({}), capture_output=True, check=True)
    with closing(Demo(program, tmp_path / "own")) as own:
        said = own.read()
        assert "conversation" not in said
        [port] = re.findall(r"localhost:(\d+)/moderation", said)
        assert comments(port, url) == []


def bootstrap(folder: Path, path: str, user: int | None = None) -> tuple[int, str]:
    """Run a copy of config/bootstrap.sh in `folder`; return its exit code and output."""
    (folder / "config").mkdir(exist_ok=True)
    for name in ("bootstrap.sh", "packages.sh", "backend.py"):
        shutil.copy(ROOT / "config" / name, folder / "config")
    for name in ("pyproject.toml", "meson.build", "meson.options"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "config/requirements", folder / "config/requirements")
    done = subprocess.run(
        ["/bin/sh", folder / "config/bootstrap.sh", "demo"],
        env={"PATH": path},
        user=user,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stderr


def test_files_that_root_left_are_told_in_one_sentence() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can leave files of somebody else's")
    with tempfile.TemporaryDirectory() as name:  # other users cannot enter the folders of pytest
        folder = Path(name)
        os.chown(folder, NOBODY, NOBODY)
        folder.chmod(0o755)
        (folder / "var/data").mkdir(parents=True, mode=0o755)
        code, said = bootstrap(folder, os.environ["PATH"], NOBODY)
        assert code == 1
        assert said.startswith("commentsvc: var belongs to somebody else, as after `sudo ./run`")
        assert said.endswith(f"run: sudo chown -R nobody '{folder}'\n")
        assert said.count("\n") == 1


@pytest.mark.parametrize("words", ["serve", "approve --all"])
def test_a_command_says_whose_files_it_cannot_write_after_a_run_as_root(words: str) -> None:
    """Regression: the import of a package that root had built ended in a traceback."""
    if os.geteuid() != 0:
        pytest.skip("only root can leave files of somebody else's")
    with tempfile.TemporaryDirectory() as name:
        with opened(Path(name)):
            pass
        command = [str(ROOT / ".venv/bin/commentsvc"), *words.split(), "--data", name]
        done = subprocess.run(
            as_user(NOBODY, command),
            env=environment({}),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(f"commentsvc: {name}")
    assert "belongs to root (uid 0, mode 0" in done.stderr
    assert done.stderr.count("\n") == 1


def without(folder: Path, *left_out: str, **stubs: str) -> str:
    """Return a PATH with the system's programs but for some, and with `stubs` that print texts."""
    programs = folder / "bin"
    programs.mkdir()
    for path in [*Path("/usr/bin").iterdir(), *Path("/bin").iterdir()]:
        new = programs / path.name
        if not path.name.startswith((*left_out, *stubs)) and not new.is_symlink():
            new.symlink_to(path)
    for name, text in stubs.items():
        (programs / name).write_text(f"#!/bin/sh\necho '{text}'\n")
        (programs / name).chmod(0o755)
    (folder / "sources").mkdir()
    return str(programs)


def test_another_system_than_linux_is_led_to_a_container_before_all_else(tmp_path: Path) -> None:
    code, said = bootstrap(tmp_path / "sources", without(tmp_path, "python", uname="Darwin"))
    assert code == 1
    assert said.startswith(
        "commentsvc: this is Darwin, and the program needs Linux; run it in a container: docker"
    )
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("stubs", "line"),
    [
        ({"dnf": ""}, "dnf install python3-devel gcc"),
        ({"pacman": ""}, "pacman -S python gcc"),
        ({}, ""),
    ],
)
def test_a_system_without_apt_is_told_what_it_needs_and_by_which_command(
    tmp_path: Path, stubs: dict[str, str], line: str
) -> None:
    path = without(tmp_path, "apt", "cc", "gcc", "x86_64-linux-gnu-gcc", "c89", "c99", **stubs)
    code, said = bootstrap(tmp_path / "sources", path)
    assert code == 1
    assert "a C compiler are needed, and this system has no apt" in said
    assert (
        f"Install them{f' (as root: {line})' if line else ''} and try again, or run it in" in said
    )
    assert "apt-get" not in said


def test_a_python_that_is_too_old_is_named_with_what_helps(tmp_path: Path) -> None:
    path = without(tmp_path, "python")
    old = Path(path, "python3")
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2"\n')
    old.chmod(0o755)
    code, said = bootstrap(tmp_path / "sources", path)
    assert code == 1
    assert said == (
        "commentsvc: Python 3.11 or newer is needed, and this machine has Python 3.9.2;"
        " Debian 12 and Ubuntu 24.04 are the first that bring one\n"
    )


def test_what_is_set_up_does_not_depend_on_ci() -> None:
    """Regression: `CI=true ./test` after `./test` did not install what only CI asked for."""
    script = (ROOT / "config/bootstrap.sh").read_text()
    assert not re.search(r"\bCI\b", script)


def test_a_part_that_reaches_its_limit_says_so_and_counts_what_passed(tmp_path: Path) -> None:
    """Regression: such a part counted one failure and none of the tests that had passed.

    The limit is that of `timeout`, whose clock is an alarm, which the slow test gives early.
    """
    (tmp_path / "test_slow.py").write_text(
        "import os, signal, time\ndef test_first(): pass\n"
        "def test_second():\n    os.kill(os.getppid(), signal.SIGALRM)\n    time.sleep(600)\n"
    )
    chosen = ["./test", "--rootdir", str(tmp_path), str(tmp_path / "test_slow.py")]
    limited = {**os.environ, "PART_LIMIT": "500"}
    done = subprocess.run(
        chosen, cwd=ROOT, env=limited, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "chosen reached its limit of 500 s" in done.stdout
    build_and_first = "2 passed, 1 failed, 0 skipped"
    assert done.stdout.splitlines()[-1] == build_and_first


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["--data", "x", "--help"]])
@pytest.mark.parametrize("name", ["run", "test"])
def test_a_script_tells_its_use_and_starts_nothing(
    tmp_path: Path, name: str, words: list[str]
) -> None:
    """Where it lies alone it could not start anything."""
    shutil.copy(ROOT / name, tmp_path)
    shown = subprocess.run(
        [tmp_path / name, *words], cwd="/", capture_output=True, text=True, check=True
    )
    assert "./" + name in shown.stdout
    assert shown.stdout.endswith(".\n")
    assert "#" not in shown.stdout
    assert "set -" not in shown.stdout
    assert not shown.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]
