"""The archives of seed corpora belong to the targets, and are reproducible on every machine."""

import zipfile
from pathlib import Path

import pytest

from tests.fuzz import seed_corpus
from tests.fuzz.seed_corpus import HERE, TARGETS


def test_each_target_has_its_archive_and_each_archive_its_target() -> None:
    sources = {path.stem for path in HERE.glob("fuzz_*.c")}
    archives = {path.name.removesuffix("_seed_corpus.zip") for path in HERE.glob("*.zip")}
    assert sources == archives == {*TARGETS}


def entries(path: Path) -> list[tuple[object, ...]]:
    """Return what an archive says of its inputs, in their order."""
    with zipfile.ZipFile(path) as file:
        return [
            (it.filename, it.CRC, it.date_time, it.create_system, it.external_attr, it.extra)
            for it in file.infolist()
        ]


@pytest.mark.parametrize("target", TARGETS)
def test_an_archive_is_what_its_inputs_make_in_any_order(target: str, tmp_path: Path) -> None:
    inputs = seed_corpus.read(target)
    seed_corpus.write(tmp_path / "again.zip", dict([*inputs.items()][::-1]))
    assert entries(tmp_path / "again.zip") == entries(seed_corpus.archive(target))


def test_an_added_input_is_held_once_and_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seed_corpus, "HERE", tmp_path)
    monkeypatch.setattr(seed_corpus, "BUILD", tmp_path / "build")
    target, file = TARGETS[0], tmp_path / "found"
    seed_corpus.write(seed_corpus.archive(target), {"get": b"GET / HTTP/1.1\r\n"})
    file.write_bytes(b"\0new")
    (tmp_path / "same").write_bytes(b"\0new")
    seed_corpus.main("add", target, str(file), str(tmp_path / "same"))
    seed_corpus.main("add", target, str(file))
    assert seed_corpus.read(target) == {"found": b"\0new", "get": b"GET / HTTP/1.1\r\n"}
    unpacked = seed_corpus.unpack(target)
    (unpacked / "stale").touch()
    held = {path.name: path.read_bytes() for path in seed_corpus.unpack(target).iterdir()}
    assert held == seed_corpus.read(target)


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(SystemExit, match="no fuzz target body"):
        seed_corpus.main("add", "body", "x")
