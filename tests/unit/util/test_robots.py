"""robots.txt as RFC 9309 describes it, and files that parsers of others have misread."""

from functools import partial

import pytest

from commentsvc.util import robots
from tests.unit.processor_time import assert_quick

BLOG = "https://blog.example"


def allowed(text: str, *paths: str) -> list[str]:
    rules = robots.parse(text, "commentsvc")
    return [path for path in paths if rules.allow(BLOG + path)]


@pytest.mark.parametrize(
    ("text", "paths", "expected"),
    [
        ("", ["/", "/a"], ["/", "/a"]),
        ("User-agent: *\nDisallow:", ["/a"], ["/a"]),
        ("User-agent: *\nDisallow: /", ["/", "/a?b"], []),
        ("User-agent: *\nDisallow: /a", ["/a", "/ab", "/a/b", "/b", "/A"], ["/b", "/A"]),
        # a byte order mark, other ends of lines, spaces, comments
        ("\ufeffUser-agent: *\nDisallow: /a", ["/a"], []),
        ("User-agent: *\r\rDisallow: /a", ["/a"], []),
        ("USER-AGENT : * # all\n disallow : /a # no", ["/a"], []),
        # groups: an empty line ends none, several belong together, the named one alone counts
        ("User-agent: *\n\nDisallow: /a", ["/a"], []),
        ("User-agent: *\nUser-agent: other\nDisallow: /a", ["/a"], []),
        ("User-agent: commentsvc\nDisallow: /a\n\nUser-agent: commentsvc\nDisallow: /b",
         ["/a", "/b"], []),
        ("User-agent: CommentSvc/1.0\nDisallow: /a\nUser-agent: *\nDisallow: /b",
         ["/a", "/b"], ["/b"]),
        ("User-agent: comments\nDisallow: /", ["/a"], ["/a"]),
        ("User-agent: *\nCrawl-delay: 10\n\nUser-agent: bad\nDisallow: /", ["/a"], []),
        ("Disallow: /a\nUser-agent: *\nDisallow: /b", ["/a", "/b"], ["/a"]),
        # the longest rule counts, and of two the one that allows
        ("User-agent: *\nDisallow: /\nAllow: /posts/", ["/a", "/posts/b"], ["/posts/b"]),
        ("User-agent: *\nAllow: /p\nDisallow: /posts", ["/posts", "/page"], ["/page"]),
        ("User-agent: *\nDisallow: /a\nAllow: /a", ["/a"], ["/a"]),
        # the query, wildcards, the end
        ("User-agent: *\nDisallow: /?p=", ["/?p=1", "/?q=1", "/"], ["/?q=1", "/"]),
        ("User-agent: *\nDisallow: /*?", ["/a?b=1", "/a"], ["/a"]),
        ("User-agent: *\nDisallow: /*.pdf$", ["/a.pdf", "/a.pdfs", "/.pdf"], ["/a.pdfs"]),
        ("User-agent: *\nDisallow: /a*b*c$", ["/abc", "/aXbYc", "/abcd"], ["/abcd"]),
        ("User-agent: *\nDisallow: /aba*aba$", ["/aba", "/abaaba"], ["/aba"]),
        ("User-agent: *\nDisallow: /a$", ["/a", "/ab"], ["/ab"]),
        ("User-agent: *\nDisallow: *", ["/a"], []),
        # one spelling of an address
        ("User-agent: *\nDisallow: /b\xfccher/", ["/b%C3%BCcher/", "/b%c3%bccher/"], []),
        ("User-agent: *\nDisallow: /%7Erosa", ["/~rosa", "/%7erosa"], []),
        ("User-agent: *\nDisallow: /a%2fb", ["/a/b", "/a%2Fb"], ["/a/b"]),
    ],
)  # fmt: skip
def test_the_rules_are_those_of_the_standard(
    text: str, paths: list[str], expected: list[str]
) -> None:
    assert allowed(text, *paths) == expected


def test_sitemaps_belong_to_no_group() -> None:
    text = "Sitemap: https://b.example/a.xml\nUser-agent: x\nsitemap:/b.xml\nDisallow: /"
    assert robots.parse(text, "commentsvc").sitemaps == ("https://b.example/a.xml", "/b.xml")


@pytest.mark.parametrize(
    "line",
    ["Disallow: /" + "a*" * 900, "Disallow: /" + "*a" * 900 + "$", "Disallow: /" + "%" * 1_900],
)
def test_a_hostile_file_takes_little_time(line: str) -> None:
    rules = robots.parse("User-agent: *\n" + f"{line}\n" * 260, "commentsvc")
    assert_quick(partial(rules.allow, f"{BLOG}/{'a' * 2_000}b"), 200)
