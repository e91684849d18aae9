"""Small exports of other systems, made for the tests, and a function that reads one."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from commentsvc.imports import detect, formats
from commentsvc.imports.records import (
    ImportedComment,
    ImportedPage,
    InvalidInput,
    ParseOptions,
    Record,
)
from commentsvc.imports.sources import files

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
<wp:author><wp:author_id>3</wp:author_id><wp:author_login>tom</wp:author_login></wp:author>
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
<wp:comment_user_id>3</wp:comment_user_id><wp:comment_type></wp:comment_type><wp:comment_parent>0</wp:comment_parent></wp:comment>
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
    """Read the file at `path`; with `faults`, go on after broken parts and note them."""

    def skip(problem: InvalidInput) -> None:
        if faults is None:
            raise problem
        faults.append(str(problem))

    options = ParseOptions(ZoneInfo(zone), skip, skip)
    found = files.sources([path])
    chosen, _ = detect.choose(name, found)
    return [record for source in found for record in formats.load(chosen).parse(source, options)]


def comments(records: Sequence[Record]) -> list[ImportedComment]:
    return [record for record in records if isinstance(record, ImportedComment)]


def pages(records: Sequence[Record]) -> list[ImportedPage]:
    return [record for record in records if isinstance(record, ImportedPage)]


Write = Callable[[str], Path]


REMARK42 = "\n".join(
    json.dumps(line, separators=(",", ":"))
    for line in (
        {
            "version": 1,
            "users": [{"id": "github_1", "blocked": {"status": False}, "verified": True}],
            "posts": [{"url": "https://blog.example/a/", "read_only": True}],
        },
        {
            "id": "b1",
            "pid": "a1",
            "text": "<p>An <em>answer</em></p>\n",
            "orig": "An *answer*",
            "user": {"name": "Bob", "id": "github_1", "picture": "", "admin": False},
            "locator": {"site": "blog", "url": "https://blog.example/a/"},
            "score": -2,
            "votes": {"github_2": False},
            "time": "2013-05-01T12:00:01.123456789+02:00",
            "edit": {"time": "2013-05-01T10:00:03Z", "summary": ""},
            "title": "A",
        },
        {
            "id": "a1",
            "pid": "",
            "text": "",
            "user": {"name": "deleted", "id": "deleted"},
            "locator": {"site": "blog", "url": "https://blog.example/a/"},
            "score": 0,
            "time": "2013-05-01T10:00:00Z",
            "delete": True,
        },
        {
            "id": "c1",
            "pid": "",
            "pin": True,
            "text": "<p>imported</p>",
            "orig": "",
            "user": {"name": "Cy", "id": "x", "admin": True},
            "locator": {"site": "blog", "url": "https://blog.example/b/"},
            "score": 0,
            "time": "2013-05-01T10:00:00Z",
            "imported": True,
        },
    )
)

COMMENTO = json.dumps(
    {
        "version": 1,
        "comments": [
            {
                "commentHex": "c1",
                "domain": "blog.example",
                "url": "/a/",
                "commenterHex": "u1",
                "markdown": "One",
                "html": "",
                "parentHex": "root",
                "score": 3,
                "state": "approved",
                "creationDate": "2013-05-01T10:00:00.5Z",
                "direction": 0,
                "deleted": False,
            },
            {
                "commentHex": "c2",
                "domain": "http://blog.example",
                "url": "/a/",
                "commenterHex": "anonymous",
                "markdown": "[deleted]",
                "parentHex": "c1",
                "state": "approved",
                "creationDate": "2013-05-01T10:00:01Z",
            },
            {
                "commentHex": "c3",
                "host": "blog.example",
                "path": "/b/",
                "commenterHex": "0000",
                "markdown": "Three",
                "parentHex": "0000",
                "state": "unapproved",
                "creationDate": "2013-05-01T10:00:02Z",
            },
        ],
        "commenters": [
            {
                "commenterHex": "u1",
                "email": "ann@blog.example",
                "name": "Ann",
                "link": "undefined",
                "isModerator": True,
            },
            {"commenterHex": "u1", "email": "other@blog.example", "name": "Other"},
        ],
    }
)

COMENTARIO = json.dumps(
    {
        "version": 3,
        "pages": [{"id": "p1", "path": "/a/", "title": "A", "isReadonly": True}],
        "comments": [
            {
                "id": "c1",
                "pageId": "p1",
                "markdown": "One",
                "html": "<p>One</p>",
                "score": 1,
                "isApproved": True,
                "isPending": False,
                "isDeleted": False,
                "isSticky": True,
                "createdTime": "2013-05-01T10:00:00.000Z",
                "editedTime": "2013-05-01T10:00:05.000Z",
                "userCreated": "u1",
            },
            {
                "id": "c2",
                "parentId": "c1",
                "pageId": "p1",
                "markdown": "Two",
                "isApproved": False,
                "isPending": True,
                "createdTime": "2013-05-01T10:00:01.000Z",
                "userCreated": "00000000-0000-0000-0000-000000000000",
                "authorName": "Guest",
            },
            {
                "id": "c3",
                "pageId": "p1",
                "markdown": "",
                "isApproved": True,
                "isDeleted": True,
                "createdTime": "2013-05-01T10:00:02.000Z",
            },
        ],
        "commenters": [
            {
                "id": "u1",
                "email": "ann@blog.example",
                "name": "Ann",
                "isModerator": True,
                "websiteUrl": "https://ann.example/",
            }
        ],
    }
)

ARTALK = json.dumps(
    [
        {
            "id": "5",
            "rid": "0",
            "content": "One",
            "is_pending": "false",
            "is_pinned": "true",
            "badge_name": "Admin",
            "vote_up": "4",
            "vote_down": "1",
            "created_at": "2013-05-01 12:00:00 +0200",
            "nick": "Ann",
            "email": "ann@blog.example",
            "link": "",
            "page_key": "/a/",
            "page_title": "A",
            "page_admin_only": "false",
            "site_name": "blog",
            "site_urls": "https://blog.example,http://localhost",
        },
        {
            "id": "6",
            "rid": "5",
            "content": "Two",
            "is_pending": "true",
            "created_at": "2013-05-01 10:00:01 +0000",
            "nick": "Bob",
            "page_key": "https://blog.example/b/",
            "page_admin_only": "true",
        },
    ]
)

WALINE = json.dumps(
    {
        "type": "waline",
        "version": 1,
        "time": 1,
        "tables": ["Comment", "Counter", "Users"],
        "data": {
            "Comment": [
                {
                    "objectId": "o1",
                    "comment": "One",
                    "insertedAt": "2013-05-01T10:00:00.000Z",
                    "link": "https://ann.example",
                    "mail": "ann@blog.example",
                    "nick": "Ann",
                    "status": "approved",
                    "like": 2,
                    "sticky": True,
                    "user_id": "u1",
                    "url": "/a/",
                },
                {
                    "objectId": "o2",
                    "comment": "Two",
                    "insertedAt": {"__type": "Date", "iso": "2013-05-01T10:00:01.000Z"},
                    "nick": "Bob",
                    "pid": "o1",
                    "rid": "o1",
                    "status": "waiting",
                    "url": "/a/",
                },
            ],
            "Counter": [],
            "Users": [{"objectId": "u1", "type": "administrator"}, {"objectId": "", "type": ""}],
        },
    }
)

CUSDIS = json.dumps(
    {
        "pages": [
            {
                "id": "p1",
                "slug": "a",
                "url": "https://blog.example/a/",
                "title": "A",
                "projectId": "x",
            },
            {"id": "p2", "slug": "/b/", "url": None, "title": None, "projectId": "x"},
        ],
        "comments": [
            {
                "id": "c1",
                "pageId": "p1",
                "created_at": "2013-05-01T10:00:00",
                "deletedAt": None,
                "by_email": "ann@blog.example",
                "by_nickname": "Ann",
                "moderatorId": "u1",
                "content": "One",
                "approved": True,
                "parentId": None,
            },
            {
                "id": "c2",
                "pageId": "p2",
                "created_at": 1367402401000,
                "by_nickname": "Bob",
                "content": "Two",
                "approved": False,
                "parentId": "c1",
            },
        ],
    }
)

GISCUS = json.dumps(
    {
        "data": {
            "repository": {
                "discussions": {
                    "pageInfo": {"hasNextPage": True},
                    "nodes": [
                        {
                            "number": 7,
                            "title": "a/",
                            "body": "# a/\n\n[https://blog.example/a/](https://blog.example/a/)",
                            "locked": True,
                            "comments": {
                                "nodes": [
                                    {
                                        "id": "DC_1",
                                        "databaseId": 101,
                                        "author": {
                                            "login": "ann",
                                            "url": "https://github.com/ann",
                                        },
                                        "authorAssociation": "OWNER",
                                        "body": "One",
                                        "createdAt": "2013-05-01T10:00:00Z",
                                        "lastEditedAt": "2013-05-01T10:00:09Z",
                                        "upvoteCount": 2,
                                        "replies": {
                                            "nodes": [
                                                {
                                                    "id": "DC_2",
                                                    "author": None,
                                                    "bodyHTML": "<p>Two</p>",
                                                    "createdAt": "2013-05-01T10:00:01Z",
                                                    "isMinimized": True,
                                                    "minimizedReason": "SPAM",
                                                }
                                            ]
                                        },
                                    }
                                ]
                            },
                        }
                    ],
                }
            }
        }
    }
)

STANZA = """_id: 3a7f
_parent: {parent}
name: Ann
email: 0123456789abcdef0123456789ABCDEF
url: ''
message: |-
  One
  *two*
date: {date}
"""

TWIKOO = json.dumps(
    [
        {
            "_id": "t1",
            "uid": "u1",
            "nick": "Ann",
            "mail": "ann@blog.example",
            "mailMd5": "0123456789abcdef0123456789abcdef",
            "link": "https://ann.example",
            "ua": "Mozilla/5.0",
            "ip": "192.0.2.1",
            "master": True,
            "url": "/posts/%E8%B8%A9/",
            "href": "https://blog.example/posts/%E8%B8%A9/?from=feed#t0",
            "comment": "<p>One<br>two &amp; <strong>three</strong></p>",
            "pid": None,
            "rid": None,
            "isSpam": False,
            "created": 1367402400000,
            "updated": 1367402400000,
            "like": ["u2", "u3"],
            "top": True,
        },
        {
            "_id": {"$oid": "t2"},
            "nick": "Bob",
            "mail": "",
            "mailMd5": "0123456789ABCDEF0123456789ABCDEF",
            "link": "",
            "master": False,
            "url": "/posts/%E8%B8%A9/",
            "href": "http://localhost:4000/",
            "comment": "<p>Two</p>",
            "pid": "t1",
            "rid": "t1",
            "isSpam": True,
            "created": {"$numberLong": "1367402401000"},
            "updated": 1367402401000,
        },
    ]
)

VALINE = json.dumps(
    {
        "results": [
            {
                "nick": "Ann",
                "mail": "ann@blog.example",
                "link": "https://ann.example",
                "ua": "Mozilla/5.0",
                "ip": "192.0.2.1",
                "QQAvatar": "",
                "url": "/a/",
                "comment": "<p>One <em>two</em></p>\n",
                "insertedAt": {"__type": "Date", "iso": "2013-05-01T10:00:00.000Z"},
                "ACL": {"*": {"read": True}},
                "objectId": "v1",
                "createdAt": "2014-05-01T10:00:00.000Z",
                "updatedAt": "2014-05-01T10:00:00.000Z",
            },
            {
                "nick": "Anonymous",
                "mail": "",
                "link": "",
                "url": "/a/",
                "pid": "v1",
                "rid": "v1",
                "isSpam": True,
                "comment": '<a class="at" href="#v1">@Ann</a> , <p>Two</p>',
                "objectId": "v2",
                "createdAt": "2013-05-01T10:00:01.000Z",
            },
        ]
    }
)

GITHUB = json.dumps(
    {
        "data": {
            "repository": {
                "issue": {
                    "id": "I_7",
                    "number": 7,
                    "title": "posts/a/",
                    "url": "https://github.com/ann/blog/issues/7",
                    "body": "# posts/a/\n\nAbout https://other.example/x.\n\n"
                    "[https://blog.example/posts/a/](https://blog.example/posts/a/)",
                    "locked": True,
                    "closed": True,
                    "labels": {"nodes": [{"name": "comments"}]},
                    "comments": {
                        "totalCount": 2,
                        "nodes": [
                            {
                                "id": "IC_101",
                                "databaseId": 101,
                                "url": "https://github.com/ann/blog/issues/7#issuecomment-101",
                                "author": {"login": "ann", "url": "https://github.com/ann"},
                                "authorAssociation": "OWNER",
                                "body": "> said\n\nOne",
                                "createdAt": "2013-05-01T10:00:00Z",
                                "lastEditedAt": "2013-05-01T10:00:09Z",
                                "isMinimized": False,
                                "reactionGroups": [
                                    {"content": "THUMBS_UP", "reactors": {"totalCount": 3}},
                                    {"content": "THUMBS_DOWN", "reactors": {"totalCount": 1}},
                                    {"content": "HEART", "reactors": {"totalCount": 0}},
                                ],
                            },
                            {
                                "id": "IC_102",
                                "databaseId": 102,
                                "author": None,
                                "body": "Two",
                                "createdAt": "2013-05-01T10:00:01Z",
                                "isMinimized": True,
                                "minimizedReason": "SPAM",
                            },
                        ],
                    },
                }
            }
        }
    }
)

GITHUB_ISSUES = [
    {
        "url": "https://api.github.com/repos/ann/blog/issues/7",
        "comments_url": "https://api.github.com/repos/ann/blog/issues/7/comments",
        "html_url": "https://github.com/ann/blog/issues/7",
        "id": 7007,
        "node_id": "I_7",
        "number": 7,
        "title": "A | Ann's blog",
        "user": {"login": "ann", "html_url": "https://github.com/ann"},
        "labels": [{"id": 1, "name": "Gitalk"}, {"id": 2, "name": "/posts/a/"}],
        "state": "open",
        "locked": False,
        "comments": 2,
        "body": "https://blog.example/posts/a/ \n\n About https://other.example/x.",
        "reactions": {"total_count": 0},
    },
    {
        "url": "https://api.github.com/repos/ann/blog/issues/8",
        "comments_url": "https://api.github.com/repos/ann/blog/issues/8/comments",
        "html_url": "https://github.com/ann/blog/pull/8",
        "number": 8,
        "title": "change/x",
        "pull_request": {"url": "https://api.github.com/repos/ann/blog/pulls/8"},
        "body": "https://blog.example/not-this/",
    },
]
GITHUB_COMMENTS = [
    {
        "url": "https://api.github.com/repos/ann/blog/issues/comments/101",
        "html_url": "https://github.com/ann/blog/issues/7#issuecomment-101",
        "issue_url": "https://api.github.com/repos/ann/blog/issues/7",
        "id": 101,
        "node_id": "IC_101",
        "user": {"login": "ann", "html_url": "https://github.com/ann", "url": "https://api.x"},
        "created_at": "2013-05-01T10:00:00Z",
        "updated_at": "2013-05-01T10:00:09Z",
        "author_association": "OWNER",
        "body": "> said\n\nOne",
        "reactions": {"total_count": 5, "+1": 3, "-1": 1, "laugh": 0, "heart": 1},
    },
    {
        "url": "https://api.github.com/repos/ann/blog/issues/comments/102",
        "html_url": "https://github.com/ann/blog/issues/7#issuecomment-102",
        "issue_url": "https://api.github.com/repos/ann/blog/issues/7",
        "id": 102,
        "user": None,
        "created_at": "2013-05-01T10:00:01Z",
        "updated_at": "2013-05-01T10:00:01Z",
        "author_association": "NONE",
        "body": "Two",
    },
    {
        "html_url": "https://github.com/ann/blog/pull/8#issuecomment-103",
        "issue_url": "https://api.github.com/repos/ann/blog/issues/8",
        "id": 103,
        "user": {"login": "ci[bot]"},
        "created_at": "2013-05-01T10:00:02Z",
        "body": "Tests pass.",
    },
]

BLOGGER = """<?xml version='1.0' encoding='UTF-8'?>
<feed xmlns='http://www.w3.org/2005/Atom' xmlns:gd='http://schemas.google.com/g/2005'
 xmlns:thr='http://purl.org/syndication/thread/1.0' xmlns:app='http://purl.org/atom/app#'>
<id>tag:blogger.com,1999:blog-5.archive</id><title type='text'>B</title>
<entry><id>tag:blogger.com,1999:blog-5.template</id>
<category scheme='http://schemas.google.com/g/2005#kind'
 term='http://schemas.google.com/blogger/2008/kind#template'/><content>t</content></entry>
<entry><id>tag:blogger.com,1999:blog-5.post-70</id><published>2013-05-01T10:00:00.000+02:00</published>
<category scheme='http://schemas.google.com/g/2005#kind'
 term='http://schemas.google.com/blogger/2008/kind#post'/>
<category scheme='http://www.blogger.com/atom/ns#' term='a label'/>
<title type='text'>A &amp; B</title>
<content type='html'>&lt;p&gt;post&lt;/p&gt;</content>
<link rel='replies' type='text/html' href='http://blog.example/2013/05/a.html#comment-form'/>
<link rel='alternate' type='text/html' href='http://blog.example/2013/05/a.html' title='A'/>
<link rel='self' href='http://www.blogger.com/feeds/5/posts/default/70'/></entry>
<entry><id>tag:blogger.com,1999:blog-5.post-102</id><published>2013-05-01T12:00:01.000+02:00</published>
<category scheme='http://schemas.google.com/g/2005#kind'
 term='http://schemas.google.com/blogger/2008/kind#comment'/><title type='text'>Two...</title>
<content type='html'>Two&lt;br /&gt;&#13;
b &lt;a href="https://x.example/" rel="nofollow"&gt;x&lt;/a&gt;</content>
<link rel='related' href='http://www.blogger.com/feeds/5/70/comments/default/101'/>
<link rel='alternate' type='text/html' href='http://blog.example/2013/05/a.html?showComment=1#c102'/>
<author><name>Bob</name><uri>http://www.blogger.com/profile/9</uri>
<email>noreply@blogger.com</email></author>
<thr:in-reply-to href='http://blog.example/2013/05/a.html'
 ref='tag:blogger.com,1999:blog-5.post-70' type='text/html'/></entry>
<entry><id>tag:blogger.com,1999:blog-5.post-101</id><published>2013-05-01T12:00:00.000+02:00</published>
<category scheme='http://schemas.google.com/g/2005#kind'
 term='http://schemas.google.com/blogger/2008/kind#comment'/>
<content type='html'>This comment has been removed by the author.</content>
<author><name>Ann</name></author><thr:in-reply-to ref='tag:blogger.com,1999:blog-5.post-70'/>
<gd:extendedProperty name='blogger.contentRemoved' value='true'/></entry>
</feed>
"""

TAKEOUT = """<?xml version='1.0' encoding='utf-8'?>
<feed xmlns='http://www.w3.org/2005/Atom' xmlns:blogger='http://schemas.google.com/blogger/2018'>
<id>tag:blogger.com,1999:blog-5</id><title>B</title>
<entry><id>tag:blogger.com,1999:blog-5.post-102</id>
<blogger:parent>tag:blogger.com,1999:blog-5.post-70</blogger:parent>
<blogger:inReplyTo>tag:blogger.com,1999:blog-5.post-101</blogger:inReplyTo>
<blogger:type>COMMENT</blogger:type><blogger:status>LIVE</blogger:status>
<author><name>Bob</name><uri>http://www.blogger.com/profile/9</uri>
<blogger:type>BLOGGER</blogger:type></author>
<title/><content type='html'>Two&lt;br&gt;b &lt;a href="https://x.example/"&gt;x&lt;/a&gt;</content>
<published>2013-05-01T10:00:01Z</published><blogger:trashed/></entry>
<entry><id>tag:blogger.com,1999:blog-5.post-101</id>
<blogger:parent>tag:blogger.com,1999:blog-5.post-70</blogger:parent><blogger:inReplyTo/>
<blogger:type>COMMENT</blogger:type><blogger:status>EMPTIED</blogger:status>
<author><name>Ann</name><uri/><blogger:type>ANONYMOUS</blogger:type></author>
<content type='html'/><published>2013-05-01T10:00:00Z</published><blogger:trashed/></entry>
<entry><id>tag:blogger.com,1999:blog-5.post-103</id>
<blogger:parent>tag:blogger.com,1999:blog-5.post-70</blogger:parent><blogger:inReplyTo/>
<blogger:type>COMMENT</blogger:type><blogger:status>SPAM_REPORTED</blogger:status>
<author><name>Eve</name></author><content type='html'>Buy</content>
<published>2013-05-01T10:00:02Z</published></entry>
<entry><id>tag:blogger.com,1999:blog-5.post-70</id><blogger:type>POST</blogger:type>
<blogger:status>LIVE</blogger:status><title>A &amp; B</title>
<content type='html'>&lt;p&gt;post&lt;/p&gt;</content>
<published>2013-05-01T08:00:00Z</published>
<blogger:filename>/2013/05/a.html</blogger:filename></entry>
</feed>
"""

MOVABLETYPE = """AUTHOR: ann
TITLE: A & B: Hello
BASENAME: a_b_hello
STATUS: Publish
ALLOW COMMENTS: 1
CONVERT BREAKS: __default__
DATE: 05/01/2013 08:00:00 AM
-----
BODY:
COMMENT: this is the post
-----
EXTENDED BODY:

-----
KEYWORDS:

-----
COMMENT:
AUTHOR: Bob
EMAIL: bob@blog.example
IP: 192.0.2.1
URL: https://bob.example/
DATE: 05/01/2013 12:00:00 PM
One
two

-----
URL: three
-----
COMMENT:
AUTHOR: Cyd
EMAIL:
URL:
SECRET: 1
PASS: x
DATE: 05/01/2013 13:00:00
Hidden
-----
PING:
TITLE: A ping
URL: https://ping.example/
DATE: 05/02/2013 12:00:00 AM
Not a comment
-----
--------
AUTHOR: ann
TITLE: Second one
UNIQUE URL: https://blog.example/second/
ALLOW COMMENTS: 2
DATE: 12/31/2013 11:59:59 PM
-----
BODY:
x
-----
COMMENT:
AUTHOR: Dee
DATE: 01/01/2014 12:00:01 AM
Last
-----
--------
"""
