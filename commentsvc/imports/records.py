"""What a parser makes of a file: pages and comments, in the order in which the file has them.

A parser knows its format alone. It gives texts as the file has them, says what they are, and where
they stand; urls, duplicates, parents and statuses are settled by `stage`, for all formats alike.

    ImportFailed     the file cannot be imported; the text says why, and where
      InvalidInput   one place of it cannot be read
"""

from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeAlias
from zoneinfo import ZoneInfo

import msgspec

# What a text is; in html_lines a line break is one, and a blank line begins a paragraph.
Markup: TypeAlias = Literal["html", "html_lines", "markdown", "text"]
# What becomes of a comment.
Fate: TypeAlias = Literal["approved", "pending", "spam", "deleted"]

TEXT_LIMIT: Final = 200_000  # characters of a comment; longer ones are left out
SHORT_LIMIT: Final = 200  # characters of a name; longer ones are cut


class ImportFailed(Exception):
    """The file cannot be imported; the text is one sentence for the operator."""


class InvalidInput(ImportFailed):
    """What stands at `position` cannot be read."""

    def __init__(self, position: str, problem: str) -> None:
        super().__init__(f"{position}: {problem}")
        self.position = position
        self.problem = problem


class ImportedPage(msgspec.Struct, frozen=True, gc=False):
    """A page, or thread, of the source. `key` is what its comments name it by.

    `site` is the name of the site that it is of, where the source knows our sites.
    """

    key: str
    url: str
    position: str
    title: str = ""
    closed: bool = False
    site: str = ""


class ImportedComment(msgspec.Struct, frozen=True, gc=False):
    """A comment of the source.

    `page` is the key of its page; `id` and `parent` are the source's, `parent` is "" on the first
    level. `created`, `published` and `edited` are Unix milliseconds; `created` is None where there
    is no date that can be read, `published` where it is the same. `identity` is what tells the
    comment from all others of this source, again in the next export. `avatar` is the MD5 digest of
    the address, where the source has no more.
    With a `drop`, the reason, only the place of the comment is kept, where it is answered.
    `anchor` is what links to the comment name it by there, without #. `account` is what the source
    calls the author's account, `is_admin` whether it marks the author as one who runs the blog;
    `is_pinned` whether the comment stands first on its page.
    `ours` is the whole line of a comment of our own export, from which the rest is read, and `html`
    its HTML. It knows the author's `role`, what a moderator was told (`reasons`, a line each), and
    whether one has approved it.
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
    status: Fate = "approved"
    published: int | None = None
    edited: int | None = None
    votes: int = 0
    drop: str = ""
    anchor: str = ""
    account: str = ""
    is_admin: bool = False
    is_pinned: bool = False
    html: str = ""
    ours: bytes = b""
    role: str = ""
    reasons: str = ""
    is_decided: bool = False


class OtherRecord(msgspec.Struct, frozen=True, gc=False):
    """A line of our own export that is no comment."""

    line: bytes


class ParseOptions(msgspec.Struct, frozen=True):
    """What a parser may need to know besides the file.

    `zone` is that of moments without one. `skip` is told of each place that cannot be read, and
    raises InvalidInput where the import is to stop there.
    """

    zone: ZoneInfo
    skip: Callable[[InvalidInput], None]


Record: TypeAlias = ImportedPage | ImportedComment | OtherRecord
Records: TypeAlias = Iterator[Record]
