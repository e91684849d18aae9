"""The XML export format of Disqus, which most comment systems import.

Among them are Commento, Comentario, Cusdis, Isso and Remark42. Texts are HTML. Pending comments are
left out, since not all of these programs check `isApproved`.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from commentsvc.exports.contents import Page, address
from commentsvc.exports.output import Output
from commentsvc.exports.records import CommentRecord
from commentsvc.exports.wordpress import NOBODY
from commentsvc.exports.xml_text import cdata, element
from commentsvc.markup.markdown import absolute
from commentsvc.model import CLOSED

_HEAD: Final = b"""\
<?xml version="1.0" encoding="UTF-8"?>
<disqus xmlns="http://disqus.com" xmlns:dsq="http://disqus.com/disqus-internals">
"""
_TAIL: Final = b"</disqus>\n"


def write(pages: Iterable[Page], origins: Mapping[str, str], output: Output) -> None:
    """Write a thread for each page, and its posts; links begin with the origin of the site.

    The ids of threads and of posts are independent, so a thread and a post may have the same
    number.
    """
    output.put(_HEAD)
    for number, page in enumerate(pages, 1):
        url = address(page.thread, origins)
        parts = (
            f'<thread dsq:id="{number}">\n',
            element("id", page.thread.url),
            element("link", url),
            element("title", page.thread.title or page.thread.url),
            "<message/>\n",
            element("createdAt", _moment(page.first)),
            element("isClosed", _truth(page.thread.state == CLOSED)),
            "<isDeleted>false</isDeleted>\n</thread>\n",
        )
        output.put("".join(parts).encode())
        for comment in page.comments:
            output.put_comment(_post(comment, number, url).encode())
    output.put(_TAIL)


def _post(comment: CommentRecord, thread: int, url: str) -> str:
    parts = (
        f'<post dsq:id="{comment.id}">\n<id/>\n',
        cdata("message", absolute(comment.html, url).strip()),
        element("createdAt", _moment(comment.created)),
        "<isDeleted>false</isDeleted>\n<isApproved>true</isApproved>\n<isSpam>false</isSpam>\n",
        "<author>\n",
        element("name", comment.author or NOBODY),
        element("email", comment.email),
        "<isAnonymous>true</isAnonymous>\n</author>\n",
        f'<thread dsq:id="{thread}"/>\n',
        f'<parent dsq:id="{comment.parent}"/>\n' if comment.parent else "",
        "</post>\n",
    )
    return "".join(parts)


def _moment(moment: str) -> str:
    return f"{moment[:19]}Z"


def _truth(is_true: bool) -> str:
    return "true" if is_true else "false"
