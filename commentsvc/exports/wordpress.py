"""WXR, the export format of WordPress, which Disqus, Isso, Remark42 and WordPress import.

The namespace is that of WXR 1.0, with `dsq:thread_identifier`, as Disqus describes it in "Custom
XML Import Format"; the others read it too. Texts are HTML. All times are in UTC.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from commentsvc.exports.contents import Page, address
from commentsvc.exports.output import Output
from commentsvc.exports.records import CommentRecord
from commentsvc.exports.xml_text import cdata, element
from commentsvc.markup.markdown import absolute
from commentsvc.model import APPROVED, CLOSED

_HEAD: Final = b"""\
<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"
  xmlns:content="http://purl.org/rss/1.0/modules/content/"
  xmlns:dsq="http://www.disqus.com/"
  xmlns:dc="http://purl.org/dc/elements/1.1/"
  xmlns:wp="http://wordpress.org/export/1.0/">
<channel>
<wp:wxr_version>1.0</wp:wxr_version>
"""
_TAIL: Final = b"</channel>\n</rss>\n"
NOBODY: Final = "Anonymous"  # for a comment without a name, as in an anonymous export


def write(pages: Iterable[Page], origins: Mapping[str, str], output: Output) -> None:
    """Write an item for each page; its link begins with the origin of its site."""
    output.put(_HEAD)
    for number, page in enumerate(pages, 1):
        url = address(page.thread, origins)
        head = (
            "<item>\n",
            element("title", page.thread.title or page.thread.url),
            element("link", url),
            "<content:encoded></content:encoded>\n",
            element("dsq:thread_identifier", page.thread.url),
            element("wp:post_id", str(number)),
            element("wp:post_date", _moment(page.first)),
            element("wp:post_date_gmt", _moment(page.first)),
            element("wp:comment_status", "closed" if page.thread.state == CLOSED else "open"),
            element("wp:status", "publish"),
            element("wp:post_type", "post"),
        )
        output.put("".join(head).encode())
        for comment in page.comments:
            output.put_comment(_comment(comment, url).encode())
        output.put(b"</item>\n")
    output.put(_TAIL)


def _comment(comment: CommentRecord, url: str) -> str:
    moment = _moment(comment.created)
    return "".join(
        (
            "<wp:comment>\n",
            element("wp:comment_id", str(comment.id)),
            element("wp:comment_author", comment.author or NOBODY),
            element("wp:comment_author_email", comment.email),
            element("wp:comment_author_url", comment.author_site),
            "<wp:comment_author_IP>0.0.0.0</wp:comment_author_IP>\n",
            element("wp:comment_date", moment),
            element("wp:comment_date_gmt", moment),
            cdata("wp:comment_content", absolute(comment.html, url).strip()),
            element("wp:comment_approved", "1" if comment.status == APPROVED else "0"),
            "<wp:comment_type></wp:comment_type>\n",
            element("wp:comment_parent", str(comment.parent or 0)),
            "</wp:comment>\n",
        )
    )


def _moment(moment: str) -> str:
    return f"{moment[:10]} {moment[11:19]}"
