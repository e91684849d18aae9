"""GitHub issues: the comments of utterances and Gitalk, one issue for each page.

The file is what `gh api` writes, for either interface: GraphQL's issues with their comments, or
REST's lists of issues and of comments, one after the other. See `giscus` for the rest. Also read
are the files of GitHub's archives of a repository, which name people and issues by address, and
those of python-github-backup, which has the comments of REST in the issue.

utterances ends the text of an issue with a link to the page, Gitalk begins it with the address;
otherwise a title or label without a space is the page's path. Other issues are left out.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from commentsvc.imports.formats.giscus import DiscussionParser
from commentsvc.imports.records import ImportedComment, InvalidInput, ParseOptions, Records
from commentsvc.imports.sources import json_files
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.json_files import Value

_LISTED: Final = frozenset({"issue_url", "issue"})  # a comment names its issue
_DEPTH: Final = 20  # levels of objects around the issues
_URL: Final = r"(https?://[^\s<>()\[\]\"']+)"
_FIRST: Final = re.compile(rf"\s*<?{_URL}").match
_LAST: Final = re.compile(rf"(?:^|[\s(<\[]){_URL}[)>\]]?\s*\Z").search
_ISSUE: Final = re.compile(r"([^/]+/[^/]+/(?:issues|pull)/\d+)(?:$|#)").search
_OF_REST: Final = (b'"issue_url"', b'"comments_url"')
_OF_ARCHIVE: Final = re.compile(rb'"type"\s*:\s*"issue(?:_comment)?"').search
_OF_GRAPHQL: Final = re.compile(
    rb'"issues?"\s*:|"(?:html_)?url"\s*:\s*"https://[^"]+/issues/\d+'
).search


def recognises(_source: SourceFile, head: bytes) -> str:
    """Return what shows that the file has issues; "" if it has none."""
    if head.lstrip()[:1] not in (b"{", b"[") or b'"body"' not in head or b'"discussion' in head:
        return ""
    is_ours = (b'"comments"' in head and _OF_GRAPHQL(head)) or _OF_ARCHIVE(head)
    return "its issues" if is_ours or any(name in head for name in _OF_REST) else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    parser = _IssueParser(options)
    for value in _values(source, options):
        for found in _found(value, 0):
            if not _LISTED.isdisjoint(found.fields):
                yield parser.listed_comment(found)
            elif not found.fields.get("pull_request"):
                yield from parser.page(found)
                for comment in found.objects("comment_data"):
                    yield parser.listed_comment(comment)
    parser.close()


def _values(source: SourceFile, options: ParseOptions) -> Iterator[Any]:  # Any: JSON
    """Yield the values of the file; lists of REST, which are long, object by object."""
    head = source.head().lstrip()
    if any(name in head for name in _OF_REST) and head[1:].lstrip().startswith(b"{"):
        return (value.fields for value in json_files.items(source, "item", options.skip))
    return json_files.documents(source, options.skip)


def _found(value: Any, depth: int) -> Iterator[Value]:  # Any: JSON
    """Yield the issues and the comments of REST in `value`."""
    if isinstance(value, dict) and _is_ours(value):
        yield Value(value)
    elif isinstance(value, dict | list) and depth < _DEPTH:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _found(each, depth + 1)


def _is_ours(value: dict[str, Any]) -> bool:  # Any: JSON
    is_archived = value.get("type") in ("issue", "issue_comment") and "url" in value
    return is_archived or "issue_url" in value or {"title", "number"} <= value.keys()


def _labels(issue: Value) -> list[Value]:
    return issue.objects("labels") or issue.object("labels").objects("nodes")


class _IssueParser(DiscussionParser):
    """Makes records of issues and their comments."""

    noun = "issue"
    anchor = "issuecomment-"

    def __init__(self, options: ParseOptions) -> None:
        super().__init__(options)
        self._stated: dict[str, int] = {}  # comments by issue, as REST's list of issues counts them
        self._listed = Counter[str]()

    def listed_comment(self, comment: Value) -> ImportedComment:
        """Return a comment of REST's list, which names its issue."""
        key = self.key(Value({"url": comment.text("issue_url", "issue")}))
        self._listed[key] += 1
        return self.comment(comment, key, "", "list of comments")

    def comment(self, comment: Value, page: str, parent: str, position: str) -> ImportedComment:
        """Return a comment, which has the same id from both interfaces."""
        if user := comment.text("user"):  # its address
            comment = Value(comment.fields | {"user": {"login": user.rpartition("/")[2]}})
        found = super().comment(comment, page, parent, position)
        number = found.anchor.removeprefix(self.anchor) or found.id
        date = comment.text("createdAt", "created_at")
        return msgspec.structs.replace(found, id=number, identity=f"{number} {date}")

    def close(self) -> None:
        super().close()
        for key, number in self._stated.items() if self._listed else ():
            if number > (found := self._listed[key]):
                note = f"GitHub has more comments than the {found} in the file"
                self.options.ignore(InvalidInput(key.removeprefix("//"), note))

    def key(self, issue: Value) -> str:
        match = _ISSUE(issue.text("html_url", "url"))
        key = f"//github.com/{match[1]}" if match else issue.text("id", "number")
        if number := issue.number("comments"):
            self._stated[key] = number
        return key

    def address(self, issue: Value) -> str:
        body = issue.text("body")
        if link := _FIRST(body) or _LAST(body):
            return link[1].rstrip(".,")
        labels = [label.text("name") for label in _labels(issue)]
        names = (issue.text("title"), *(name for name in labels if "/" in name))
        name = next((name for name in names if name and not re.search(r"\s", name)), "")
        if not name or "://" in name:
            return name
        return "/" if name == "index" else f"/{name.lstrip('/')}"

    def is_closed(self, issue: Value) -> bool:
        return issue.flag("locked")  # people can go on in one that is closed
