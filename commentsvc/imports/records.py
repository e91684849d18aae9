"""The records that parsers make: pages and comments, in the order of the file.

A parser only knows its format. It returns texts as they are in the file, with their markup and
their position; `staging` handles urls, duplicates, parents and statuses, in the same way for all
formats.

    ImportFailed     the file cannot be imported; the text says why, and where
      InvalidInput   one part of it cannot be read
"""

from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeAlias
from zoneinfo import ZoneInfo

import msgspec

from commentsvc.markup.html_to_markdown import Markup

# The status of an imported comment.
ImportStatus: TypeAlias = Literal["approved", "pending", "spam", "deleted"]

TEXT_LIMIT: Final = 200_000  # characters of a comment; longer ones are left out
# Begins a `parent` that is a number: the id of a comment, or where the ids of the source are no
# numbers, the index of a comment on the first level of its page, from 1, in the order of the files.
COUNTED: Final = "#"
DIGITS: Final = 5  # the most of such a number
SHORT_LIMIT: Final = 200  # characters of a name; longer ones are cut


class ImportFailed(Exception):
    """The file cannot be imported; the text is one sentence for the operator."""


class InvalidInput(ImportFailed):
    """The part of a file at `position` cannot be read."""

    def __init__(self, position: str, problem: str) -> None:
        super().__init__(f"{position}: {problem}")
        self.position = position
        self.problem = problem


class ImportedPage(msgspec.Struct, frozen=True, gc=False):
    """A page, or thread, of the source. `key` is its identifier in the comments of its file,
    or of all files if it begins with //.

    `site` is the name of its site, if the source knows our sites; `reactions` are the numbers of
    reactions by emoji.
    """

    key: str
    url: str
    position: str
    title: str = ""
    closed: bool = False
    site: str = ""
    reactions: dict[str, int] = {}


class ImportedComment(msgspec.Struct, frozen=True, gc=False):
    """A comment of the source.

    `page` is the key of its page; `id` and `parent` are the source's, and `parent` is "" on the
    first level (see also `COUNTED`). `created`, `published` and `edited` are Unix milliseconds;
    `created` is None if there is no readable date, `published` if it is the same. `identity`
    distinguishes the comment from all others of this source, also in its next export. `avatar` is
    the MD5 digest of the address, if the source has no more. `reactions` are numbers by emoji.

    With a `drop`, which is the reason, only an empty comment is kept, if it has replies.
    `anchor` is the fragment of links to the comment in the source, without #. `account` is the
    author's account in the source, `is_admin` whether the source marks the author as an
    administrator; `is_pinned` whether the comment is pinned. `note` says in the report what does
    not come along.

    For a comment of our own export, `ours` is its whole line, from which the rest is read, `html`
    its HTML, `role` the author's role, `permalink` the address of a reply from elsewhere, `reasons`
    the verdict (a line each), and `is_decided` whether a moderator has approved it. `reader` is the
    issuer and the subject of a reader who signed in, `lang` the tag of the comment's language.
    """

    position: str
    page: str
    id: str
    parent: str
    identity: str
    created: int | None
    text: str
    markup: Markup
    author: str = ""
    email: str = ""
    avatar: str = ""
    site: str = ""
    status: ImportStatus = "approved"
    published: int | None = None
    edited: int | None = None
    votes: int = 0
    reactions: dict[str, int] = {}
    drop: str = ""
    anchor: str = ""
    account: str = ""
    is_admin: bool = False
    is_pinned: bool = False
    note: str = ""
    html: str = ""
    ours: bytes = b""
    role: str = ""
    permalink: str = ""
    reasons: str = ""
    is_decided: bool = False
    reader: tuple[str, str] | None = None
    lang: str = ""


class OtherRecord(msgspec.Struct, frozen=True, gc=False):
    """A line of our own export that is not a comment; `site` is "" if it is of all sites."""

    line: bytes
    site: str = ""


class ParseOptions(msgspec.Struct, frozen=True):
    """What a parser needs besides the file.

    `zone` is the time zone of dates without one. `skip` is called for each invalid part, and raises
    InvalidInput if the import must stop there. `ignore` is called for what does not come along, and
    only notes it for the report.
    """

    zone: ZoneInfo
    skip: Callable[[InvalidInput], None]
    ignore: Callable[[InvalidInput], None]


Record: TypeAlias = ImportedPage | ImportedComment | OtherRecord
Records: TypeAlias = Iterator[Record]
