"""The formats that can be imported: one module each, with the name that `commentsvc import` takes.

To add one, write its module, with `recognises` and `parse` as `Format` has them, and add its name.
The tests then ask for its chapter of docs/migrating.md and for a file of it.
"""

from importlib import import_module
from typing import Final, Protocol, cast

from commentsvc.imports.records import ParseOptions, Records
from commentsvc.imports.sources.files import SourceFile

NAMES: Final = (
    "disqus",
    "wordpress",
    "isso",
    "remark42",
    "commento",
    "stacosys",
    "artalk",
    "waline",
    "valine",
    "twikoo",
    "cusdis",
    "giscus",
    "github",
    "staticman",
    "schnack",
    "blogger",
    "movabletype",
    "commentsvc",
)


class Format(Protocol):
    """The interface of the module of a format."""

    def recognises(self, source: SourceFile, head: bytes) -> str:
        """Return what shows that the file has this format; "" if it has not."""

    def parse(self, source: SourceFile, options: ParseOptions) -> Records:
        """Return the pages and comments of `source`. Raise ImportFailed."""


def load(name: str) -> Format:
    """Return the format of that name, which is one of `NAMES`; only then its libraries load."""
    return cast(Format, import_module(f"{__name__}.{name}"))
