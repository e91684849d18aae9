"""Small exports of other systems, made for the tests, and how to read one."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from commentsvc.imports import detect, files
from commentsvc.imports.records import (
    ImportedComment,
    ImportedPage,
    InvalidInput,
    ParseOptions,
    Record,
)

DISQUS = """<?xml version="1.0" encoding="utf-8"?>
<disqus xmlns="http://disqus.com" xmlns:dsq="http://disqus.com/disqus-internals">
<thread dsq:id="1"><id>a</id><link>https://blog.example/a/?utm_source=x</link>
<title>A &amp; B</title>
<isClosed>false</isClosed><isDeleted>false</isDeleted></thread>
<thread dsq:id="2"><id /><link>http://www.blog.example/a/</link><isClosed>true</isClosed></thread>
<thread dsq:id="3"><id /></thread>
<post dsq:id="12"><id /><message><![CDATA[<p>An answer.</p>]]></message>
<createdAt>2013-05-02T10:00:00Z</createdAt><isDeleted>false</isDeleted><isSpam>false</isSpam>
<author><name>Bob</name><isAnonymous>false</isAnonymous><username>bob</username></author>
<thread dsq:id="1" /><parent dsq:id="11" /></post>
<post dsq:id="11"><message /><createdAt>2013-05-01T10:00:00Z</createdAt>
<isDeleted>true</isDeleted><isSpam>false</isSpam>
<author><name>Ann</name><email>ann@blog.example</email></author><thread dsq:id="1" /></post>
<post dsq:id="13"><message><![CDATA[<p>Buy <b>now</b></p><script>x</script>]]></message>
<createdAt>2013-05-03T10:00:00Z</createdAt><isDeleted>false</isDeleted><isSpam>true</isSpam>
<author><name>Spam</name></author><thread dsq:id="2" /></post>
<post dsq:id="14"><message>gone</message><createdAt>2013-05-03T10:00:00Z</createdAt>
<isDeleted>true</isDeleted><isSpam>false</isSpam><author><name>C</name></author>
<thread dsq:id="2" /></post>
<post dsq:id="15"><message>lost</message><createdAt>2013-05-03T10:00:00Z</createdAt>
<author><name>D</name></author><thread dsq:id="99" /></post>
</disqus>
"""

WORDPRESS = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:wp="http://wordpress.org/export/1.2/"><channel>
<item><title>Hello &amp;amp; more</title><link>https://blog.example/hello/</link>
<wp:comment_status>closed</wp:comment_status><wp:post_type>post</wp:post_type>
<wp:comment><wp:comment_id>5</wp:comment_id>
<wp:comment_author><![CDATA[Tom &amp; Tim]]></wp:comment_author>
<wp:comment_author_email>tom@blog.example
</wp:comment_author_email><wp:comment_author_url>https://tom.example/</wp:comment_author_url>
<wp:comment_date>2014-01-01 12:00:00</wp:comment_date>
<wp:comment_date_gmt>2014-01-01 11:00:00</wp:comment_date_gmt>
<wp:comment_content><![CDATA[One
two <em>three</em>

New paragraph]]></wp:comment_content><wp:comment_approved>1</wp:comment_approved>
<wp:comment_type></wp:comment_type><wp:comment_parent>0</wp:comment_parent></wp:comment>
<wp:comment><wp:comment_id>6</wp:comment_id><wp:comment_author>Pinger</wp:comment_author>
<wp:comment_date>2014-01-02 12:00:00</wp:comment_date>
<wp:comment_date_gmt>0000-00-00 00:00:00</wp:comment_date_gmt>
<wp:comment_content>[...]</wp:comment_content><wp:comment_approved>1</wp:comment_approved>
<wp:comment_type>pingback</wp:comment_type><wp:comment_parent>0</wp:comment_parent></wp:comment>
<wp:comment><wp:comment_id>7</wp:comment_id><wp:comment_author></wp:comment_author>
<wp:comment_date>2014-01-03 12:00:00</wp:comment_date>
<wp:comment_date_gmt>0000-00-00 00:00:00</wp:comment_date_gmt>
<wp:comment_content>Held&nbsp;back</wp:comment_content><wp:comment_approved>0</wp:comment_approved>
<wp:comment_type>comment</wp:comment_type><wp:comment_parent>5</wp:comment_parent></wp:comment>
</item></channel></rss>
"""

ISSO_JSON = json.dumps(
    [
        {
            "id": "/a/",
            "title": "A",
            "comments": [
                {
                    "id": 0,
                    "author": "Ann",
                    "email": "ann@blog.example",
                    "website": "",
                    "remote_addr": "0.0.0.0",
                    "created": "2015-06-01 12:00:00",
                    "text": "Some *text*",
                },
                {
                    "id": 0,
                    "author": "Bob",
                    "email": "",
                    "website": "",
                    "remote_addr": "0.0.0.0",
                    "created": "2015-06-01 12:00:01",
                    "text": "More",
                },
            ],
        }
    ]
)


def parsed(
    path: Path, name: str = detect.AUTO, zone: str = "UTC", faults: list[str] | None = None
) -> list[Record]:
    """Read the file at `path`; with `faults`, go on where it is broken, and note where."""

    def skip(problem: InvalidInput) -> None:
        if faults is None:
            raise problem
        faults.append(str(problem))

    options = ParseOptions(ZoneInfo(zone), skip)
    found = files.sources([path])
    chosen, _ = detect.choose(name, found)
    return [record for source in found for record in chosen.parse(source, options)]


def comments(records: Sequence[Record]) -> list[ImportedComment]:
    return [record for record in records if isinstance(record, ImportedComment)]


def pages(records: Sequence[Record]) -> list[ImportedPage]:
    return [record for record in records if isinstance(record, ImportedPage)]


Write = Callable[[str], Path]
