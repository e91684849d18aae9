"""Staticman: a file for each comment, in YAML, JSON or as front matter, by page in folders.

The fields depend on the blog's form and `staticman.yml`; those of the common themes are known. A
reply names the id of a comment, or its number among the comments of the page's first level, in the
order of the files' names (`replying_to`, as in Minimal Mistakes): `COUNTED` says how to tell.
Import the folder that contains the pages' folders, such as ``data/comments``. Other programs also
write TOML, or all comments of a page as a list into a file with the name of the page.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from pathlib import PurePath
from typing import Any, Final

import yaml

from commentsvc.imports import dates
from commentsvc.imports.records import (
    COUNTED,
    DIGITS,
    ImportedComment,
    ImportedPage,
    InvalidInput,
    ParseOptions,
    Records,
)
from commentsvc.imports.sources.encodings import to_utf8
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.json_files import Value

LIMIT: Final = 1024 * 1024  # bytes of a file
_ENDINGS: Final = (".yml", ".yaml", ".json", ".toml", ".md")
_ID: Final = re.compile(rb"(?:^|[\s\"'{])_id[\"']?\s*[:=]")  # the whole name of the field
_DIGEST: Final = re.compile("[0-9a-f]{40}").fullmatch  # a name that the first versions gave
_TEXTS: Final = ("message", "comment", "body", "content", "text")
# The names of the field for the parent, in lower case and without hyphens and underscores, the most
# exact first. `_parent` is what a reader subscribes to: a comment, or in most themes the page.
PARENTS: Final = (
    "replyingtouid",
    "replyingtoid",
    "replytouid",
    "replytoid",
    "replyuid",
    "replyid",
    "replyto",
    "replyingto",
    "inreplytoid",
    "inreplyto",
    "answerto",
    "parentcommentid",
    "parentcomment",
    "commentparent",
    "parentuid",
    "parentid",
    "parent",
    "replythread",
    "_parent",
)
_NUMBER: Final = re.compile(rf"[1-9][0-9]{{,{DIGITS - 1}}}").fullmatch  # of a comment on its page
_ROOT: Final = "comments"  # the folder of all pages
_FENCE: Final = re.compile(r"^(?:---|\+\+\+)[ \t]*\r?$", re.MULTILINE)  # around front matter
_NONE: Final = ("~", "null")  # in YAML
# The names that common configurations give to files, and the fields that a comment has there.
_FILE: Final = re.compile(r"(?:comment|entry)-?[0-9]{10,}").fullmatch
_FIELDS: Final = re.compile(rb"^(?:name|author|date|timestamp)\s*[:=]", re.MULTILINE)
_LIST: Final = re.compile(  # of comments in YAML
    rb"\s*-[ \t]+(?=(?:\S.*\n[ \t]+){0,20}(?:name|author)[ \t]*:)"
    rb"(?=(?:\S.*\n[ \t]+){0,20}(?:date|timestamp)[ \t]*:)"
).match
_AUTHOR: Final = re.compile(  # as a table in YAML or TOML
    rb"^(?:author:[ \t]*\n[ \t]+(?:\w+:.*\n[ \t]+){0,9}name:|\[author\]$)", re.MULTILINE
).search
_OF_AUTHOR: Final = ("name", "email", "mail", "url", "website", "site", "link")
_DATES: Final = ("date", "timestamp", "created", "createdAt")


def recognises(source: SourceFile, head: bytes) -> str:
    path = PurePath(source.relative)
    if path.suffix not in _ENDINGS or source.packed != source.is_member:
        return ""
    if head.lstrip().startswith(b"[") or _has_several(head):  # as files of other systems
        return ""
    is_front_matter = head.startswith((b"---", b"+++"))
    has_text = is_front_matter or any(text.encode() in head for text in _TEXTS)
    if not has_text or len(head) >= LIMIT:
        return ""
    if _ID.search(head):
        return "its field _id"
    if _DIGEST(path.stem):
        return "the digest that is its name"
    if _has_author(head):
        return "its author"
    if _LIST(head):
        return "its list of comments"
    return "its name and fields" if _FILE(path.stem) and _FIELDS.search(head) else ""


def _has_several(head: bytes) -> bool:
    """Return whether a file has several JSON objects, or one in which others are."""
    try:
        found = json.loads(head)
    except (ValueError, RecursionError) as error:
        return "Extra data" in str(error)
    return isinstance(found, dict) and any(isinstance(each, list) for each in found.values())


def _has_author(head: bytes) -> bool:
    """Return whether a file is an object or table with the author as another one."""
    try:
        found = json.loads(head)
    except (ValueError, RecursionError):
        return _AUTHOR(head) is not None
    author = found.get("author") if isinstance(found, dict) else None
    return isinstance(author, dict) and "name" in author


def parse(source: SourceFile, options: ParseOptions) -> Records:
    """Return the page and the comments of `source`. Raise ImportFailed."""
    path = PurePath(source.relative)
    try:
        data = source.read_all(LIMIT)
        found = _content(to_utf8(data)(data, True).decode(), is_toml=path.suffix == ".toml")
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        reason = " ".join(str(error).split())[:120]
        options.skip(InvalidInput("line 1", f"this is no YAML, JSON or TOML ({reason})"))
        return
    entries = found if isinstance(found, list) else [found]
    folders = (path.with_suffix("") if entries is found else path.parent).parts
    if _ROOT in folders:  # as in a zip file of the whole folder
        folders = folders[folders.index(_ROOT) + 1 :]
    page = "/".join(folders)
    yield ImportedPage(page, f"/{page}/", "line 1")
    for number, fields in enumerate(entries, 1):
        if isinstance(fields, dict):
            name = str(number) if entries is found else path.stem
            yield _comment(_texts(fields), page, (f"comment {number}", name), options)
        else:  # such as the text of a README.md
            options.ignore(InvalidInput(f"comment {number}", "this has no fields"))


def _content(text: str, *, is_toml: bool) -> Any:  # Any: YAML, JSON or TOML
    """Return the content of a file: the fields of a comment, or a list of them."""
    body = ""
    if text.lstrip().startswith("{"):
        with suppress(ValueError):  # it may be YAML all the same
            return json.loads(text)
    if fence := _FENCE.match(text):
        is_toml = fence[0].startswith("+")
        _, text, *bodies = _FENCE.split(text, 2)
        body = "".join(bodies).strip()
    if is_toml:
        found: Any = tomllib.loads(text.replace("\r\n", "\n"))
    else:
        found = yaml.load(text, yaml.BaseLoader)  # noqa: S506 - texts only, no objects
    return {"message": body} | found if body and isinstance(found, dict) else found


def _texts(fields: Mapping[str, Any]) -> Value:  # Any: as above
    """Return the fields that have a value, with those of the author, and TOML's dates as texts."""
    if isinstance(author := fields.get("author"), dict):
        of_author = {name: author[name] for name in _OF_AUTHOR if name in author}
        fields = {**fields, "author": "", **of_author}
    return Value(
        {
            name: value.isoformat() if isinstance(value, date) else value
            for name, value in fields.items()
            if name in _TEXTS or value not in _NONE
        }
    )


def _parent(fields: Value, page: str) -> str:
    """Return the id of a comment's parent or its number, "" if there is none."""
    texts = {_alike(name): text for name in fields.fields if (text := fields.text(name))}
    parents = (texts.get(name, "") for name in PARENTS)
    no_parents = ("", "0", page, page.rpartition("/")[2])
    return next((found for found in parents if found not in no_parents and "/" not in found), "")


def _alike(name: str) -> str:
    """Return the name of a field as `PARENTS` has it."""
    return name if name == "_parent" else re.sub("[-_ ]", "", name).lower()


def _comment(
    fields: Value, page: str, named: tuple[str, str], options: ParseOptions
) -> ImportedComment:
    """Return a comment; `named` is its position, and its id if it has none."""
    position, name = named
    number, created = fields.text("_id", "id") or name, fields.text(*_DATES)
    email = fields.text("email", "mail")
    digest = email.lower() if dates.is_digest(email.lower()) else ""
    parent = _parent(fields, page)
    return ImportedComment(
        position=position,
        page=page,
        id=number,
        parent=COUNTED + parent if _NUMBER(parent) else parent,
        identity=f"{number} {created}",
        created=dates.moment(created, options.zone),
        text=fields.text(*_TEXTS),
        markup="markdown",
        author=fields.text("name", "author", "nickname"),
        email="" if digest else email,
        avatar=digest,
        site=fields.text("url", "website", "site", "link"),
        anchor=number,
    )
