"""The formats that can be imported, and the detection of a file's format."""

from typing import Final, Protocol

from commentsvc.imports.formats import (
    artalk,
    commento,
    cusdis,
    disqus,
    giscus,
    isso,
    native,
    remark42,
    schnack,
    stacosys,
    staticman,
    waline,
    wordpress,
)
from commentsvc.imports.records import ImportFailed, ParseOptions, Records
from commentsvc.imports.sources.files import SourceFile

AUTO: Final = "auto"


class Format(Protocol):
    """The interface of the module of a format."""

    NAME: str

    def recognises(self, source: SourceFile, head: bytes) -> str:
        """Return what shows that the file has this format; "" if it has not."""

    def parse(self, source: SourceFile, options: ParseOptions) -> Records:
        """Return the pages and comments of `source`. Raise ImportFailed."""


_MODULES: Final[tuple[Format, ...]] = (
    disqus,
    wordpress,
    isso,
    remark42,
    commento,
    stacosys,
    artalk,
    waline,
    cusdis,
    giscus,
    staticman,
    schnack,
    native,
)
FORMATS: Final[dict[str, Format]] = {module.NAME: module for module in _MODULES}


def choose(name: str, sources: list[SourceFile]) -> tuple[Format, str]:
    """Return the format of that name, or with `AUTO` that of the files, and what showed it.

    Raise ImportFailed.
    """
    if name != AUTO:
        return FORMATS[name], ""
    found: dict[str, str] = {}
    for source in sources:
        head = source.head()
        if not head.strip():
            raise ImportFailed(f"{source.name} contains no text.")
        seen = {
            each: reason
            for each, module in FORMATS.items()
            if (reason := module.recognises(source, head))
        }
        if len(seen) != 1:
            known = ", ".join(FORMATS)
            raise ImportFailed(
                f"{source.name} is not recognised. Name its format, one of: {known}."
                if not seen
                else f"{source.name} could be of {' or of '.join(seen)}. Name its format."
            )
        found |= seen
    if len(found) != 1:
        raise ImportFailed(f"The files are of {' and '.join(found)}. Import one after the other.")
    [(name, reason)] = found.items()
    return FORMATS[name], reason
