"""The detection of the format of files."""

from typing import Final

from commentsvc.imports import formats
from commentsvc.imports.records import ImportFailed
from commentsvc.imports.sources import strangers
from commentsvc.imports.sources.files import SourceFile

AUTO: Final = "auto"


def choose(name: str, sources: list[SourceFile]) -> tuple[str, str]:
    """Return `name`, or with `AUTO` the name of the files' format, and what showed it.

    Raise ImportFailed, also if a file has another format than `name`.
    """
    found: dict[str, str] = {}
    for source in sources:
        head = source.head()
        if name == AUTO and not head.strip():
            raise ImportFailed(f"{source.name} contains no text.")
        seen = {
            each: reason
            for each in formats.NAMES
            if (reason := formats.load(each).recognises(source, head))
        }
        is_alone = name == AUTO or len(sources) == 1  # formats pass over what is beside theirs
        if not seen and is_alone and (what := strangers.describe(head)):
            raise ImportFailed(f"{source.name} is no export of comments. {what}")
        if name != AUTO:
            _refuse(source, seen, name)
        elif len(seen) != 1:
            known = ", ".join(formats.NAMES)
            raise ImportFailed(
                f"{source.name} is not recognised. Name its format, one of: {known}."
                if not seen
                else f"{source.name} could be of {' or of '.join(seen)}. Name its format."
            )
        found |= seen
    if name != AUTO:
        return name, ""
    if len(found) != 1:
        raise ImportFailed(f"The files are of {' and '.join(found)}. Import one after the other.")
    [(name, reason)] = found.items()
    return name, reason


def _refuse(source: SourceFile, seen: dict[str, str], name: str) -> None:
    """Raise ImportFailed if the file has another format than `name`."""
    if seen and name not in seen:
        [(other, reason), *_] = seen.items()
        raise ImportFailed(
            f"{source.name} is of {other}, not of {name}: {reason}. Use: commentsvc import {other}"
        )
