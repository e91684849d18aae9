"""The detection of the format of files."""

from typing import Final

from commentsvc.imports import formats
from commentsvc.imports.records import ImportFailed
from commentsvc.imports.sources.files import SourceFile

AUTO: Final = "auto"


def choose(name: str, sources: list[SourceFile]) -> tuple[str, str]:
    """Return `name`, or with `AUTO` the name of the files' format, and what showed it.

    Raise ImportFailed.
    """
    if name != AUTO:
        return name, ""
    found: dict[str, str] = {}
    for source in sources:
        head = source.head()
        if not head.strip():
            raise ImportFailed(f"{source.name} contains no text.")
        seen = {
            each: reason
            for each in formats.NAMES
            if (reason := formats.load(each).recognises(source, head))
        }
        if len(seen) != 1:
            known = ", ".join(formats.NAMES)
            raise ImportFailed(
                f"{source.name} is not recognised. Name its format, one of: {known}."
                if not seen
                else f"{source.name} could be of {' or of '.join(seen)}. Name its format."
            )
        found |= seen
    if len(found) != 1:
        raise ImportFailed(f"The files are of {' and '.join(found)}. Import one after the other.")
    [(name, reason)] = found.items()
    return name, reason
