"""The generic JSON for `isso import -t generic`.

Isso imports all comments as approved and without parents, so replies become top-level comments; WXR
keeps them. Texts are Markdown, as in Isso. Times are in UTC; Isso reads them in its own time zone.
"""

from collections.abc import Iterable

import msgspec

from commentsvc.exports.output import Output
from commentsvc.exports.records import CommentRecord
from commentsvc.exports.snapshot import Page
from commentsvc.exports.wordpress import NOBODY


def write(pages: Iterable[Page], output: Output) -> None:
    """Write one list of pages, with each comment on a line of its own."""
    encode = msgspec.json.encode
    output.put(b"[")
    for number, page in enumerate(pages):
        head = {"id": page.thread.url, "title": page.thread.title or page.thread.url}
        output.put((b",\n" if number else b"") + encode(head)[:-1] + b',"comments":')
        mark = b"[\n"
        for comment in page.comments:
            output.put_comment(mark + encode(_comment(comment)))
            mark = b",\n"
        output.put(b"\n]}")
    output.put(b"]\n")


def _comment(comment: CommentRecord) -> dict[str, str | int]:
    moment = comment.created
    return {
        "id": comment.id,
        "author": comment.author or NOBODY,
        "email": comment.email,
        "website": comment.author_site,
        "remote_addr": "0.0.0.0",  # noqa: S104 - no address to listen on: Isso's word for none
        "created": f"{moment[:10]} {moment[11:19]}",
        "text": comment.message,
    }
