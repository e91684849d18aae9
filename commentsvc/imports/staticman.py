"""Staticman: a file for each comment, in YAML, JSON or as front matter, by page in folders.

The fields depend on the blog's form and `staticman.yml`; those of the common themes are known.
Import the folder that contains the pages' folders, such as ``data/comments``.
"""

import json
import re
from contextlib import suppress
from pathlib import PurePath
from typing import Final

import yaml

from commentsvc.imports import dates
from commentsvc.imports.encodings import to_utf8
from commentsvc.imports.files import SourceFile
from commentsvc.imports.json_source import Value
from commentsvc.imports.records import (
    ImportedComment,
    ImportedPage,
    InvalidInput,
    ParseOptions,
    Records,
)

NAME: Final = "staticman"
LIMIT: Final = 1024 * 1024  # bytes of a file
_ENDINGS: Final = (".yml", ".yaml", ".json", ".md")
_ID: Final = re.compile(rb"(?:^|[\s\"'{])_id[\"']?\s*:")  # the whole name of the field
_DIGEST: Final = re.compile("[0-9a-f]{40}").fullmatch  # a name that the first versions gave
_TEXTS: Final = ("message", "comment", "body", "content", "text")
_PARENTS: Final = ("_parent", "replying_to_uid", "reply_to", "replying_to", "replyTo", "parent_id")
_ROOT: Final = "comments"  # the folder of all pages
_FENCE: Final = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)  # around front matter
_NONE: Final = ("~", "null")  # in YAML
_DATES: Final = ("date", "timestamp", "created", "createdAt")


def recognises(source: SourceFile, head: bytes) -> str:
    """Return what shows that the file is from Staticman; "" if it is not."""
    path = PurePath(source.relative)
    if path.suffix not in _ENDINGS or source.packed != source.is_member:
        return ""
    if head.lstrip().startswith(b"["):  # several comments are of another system
        return ""
    has_text = head.startswith(b"---") or any(text.encode() in head for text in _TEXTS)
    if not has_text or len(head) >= LIMIT:
        return ""
    if _ID.search(head):
        return "its field _id"
    return "the digest that is its name" if _DIGEST(path.stem) else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    """Return the page and the comment of `source`. Raise ImportFailed."""
    try:
        data = source.read_all(LIMIT)
        fields = _fields(to_utf8(data)(data, True).decode())
    except (yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(error).split())[:120]
        options.skip(InvalidInput("line 1", f"this is no YAML or JSON ({reason})"))
        return
    folders = PurePath(source.relative).parent.parts
    if _ROOT in folders:  # as in a zip file of the whole folder
        folders = folders[folders.index(_ROOT) + 1 :]
    page = "/".join(folders)
    yield ImportedPage(page, f"/{page}/", "line 1")
    yield _comment(fields, page, PurePath(source.relative).stem, options)


def _fields(text: str) -> Value:
    """Return the fields of a file."""
    body = ""
    if text.lstrip().startswith("{"):
        with suppress(ValueError):  # it may be YAML all the same
            found = json.loads(text)
            return Value(found if isinstance(found, dict) else {})
    if _FENCE.match(text):
        _, text, *bodies = _FENCE.split(text, 2)
        body = "".join(bodies).strip()
    found = yaml.load(text, yaml.BaseLoader)  # noqa: S506 - texts only, no objects
    fields = found if isinstance(found, dict) else {}
    fields = {name: value for name, value in fields.items() if name in _TEXTS or value not in _NONE}
    return Value({"message": body} | fields if body else fields)


def _comment(fields: Value, page: str, name: str, options: ParseOptions) -> ImportedComment:
    number, date = fields.text("_id") or name, fields.text(*_DATES)
    email = fields.text("email", "mail")
    digest = email.lower() if dates.is_digest(email.lower()) else ""
    parent = fields.text(*_PARENTS)
    return ImportedComment(
        position="line 1",
        page=page,
        id=number,
        parent="" if parent in ("0", page) else parent,
        identity=f"{number} {date}",
        created=dates.moment(date, options.zone),
        text=fields.text(*_TEXTS),
        markup="markdown",
        author=fields.text("name", "author", "nickname"),
        email="" if digest else email,
        avatar=digest,
        site=fields.text("url", "website", "site", "link"),
        anchor=number,
    )
