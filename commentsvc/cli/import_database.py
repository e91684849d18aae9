"""The database of the service, as `imports.importer` reads and writes it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from commentsvc.cli import client
from commentsvc.cli.client import Writer
from commentsvc.db.connection import Snapshot
from commentsvc.runtime.control_commands import (
    BeginImport,
    FinishImport,
    StoreImported,
    StoreImportedRecords,
    UndoImport,
)

P = ParamSpec("P")
T = TypeVar("T")


class ImportCommands:
    """Writes an import by commands for the server, or for this process: an `ImportWriter`."""

    def __init__(self, writer: Writer, sites: Sequence[str]) -> None:
        """Take the names of the sites of the settings, which a new database does not know yet."""
        self._writer = writer
        self._sites = tuple(sites)

    @property
    def is_alone(self) -> bool:
        return self._writer.is_alone

    def begin(self, source: str, names: str, digest: bytes) -> int:
        [run] = self._writer.write(BeginImport(source, names, digest, self._sites)).changed
        return run

    def store(self, run: int, staging: Path, first: int, last: int) -> None:
        self._writer.write(StoreImported(run, str(staging), first, last))

    def store_others(self, run: int, staging: Path, numbers: tuple[int, int], site: str) -> None:
        self._writer.write(StoreImportedRecords(run, str(staging), *numbers, site))

    def finish(self, run: int) -> None:
        self._writer.write(FinishImport(run))

    def remove(self, run: int, before: int, most: int) -> tuple[int, int]:
        """Take back a part of an import; return how many comments, and the next `before`."""
        done = self._writer.write(UndoImport(run, before, most))
        return done.moved, done.changed[0] if done.changed else 0


class ImportDatabase:
    """The database of the service in the folder `data`: the `ServiceDatabase` of an import."""

    def __init__(self, data: Path, sites: Sequence[str] = ()) -> None:
        self._data = data
        self._sites = sites

    def prepare(self) -> None:
        client.ensure_database(self._data)

    def read(
        self, work: Callable[Concatenate[Snapshot, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return client.read_snapshot(self._data, work, *args, **kwargs)

    @contextmanager
    def writing(self) -> Iterator[ImportCommands]:
        """Yield the writer; until the block ends, no server starts if none runs."""
        with Writer(self._data) as writer:
            yield ImportCommands(writer, self._sites)
