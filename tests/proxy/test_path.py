"""The service is in a folder of the blog's host: all links and redirects stay in that folder."""

import gzip
import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urldefrag, urljoin

import pytest

from loadtest.proxies.configs import FOLDERS
from tests.proxy.client import Client
from tests.proxy.conftest import Begin, Network
from tests.proxy.proxies import BLOG, serving_blog
from tests.proxy.test_fronts import YEAR, max_age

FOLDER = "/comments"
PAGES = [
    "/moderation/sign-in",
    "/embed/thread?url=/post/&view=page",
    "/mail/comment?t=no",
]


@pytest.fixture(scope="module", params=FOLDERS)
def blog(request: pytest.FixtureRequest, begin: Begin) -> Iterator[Client]:
    """Return a client of each proxy that supports it."""
    front = begin(FOLDERS[request.param], host=BLOG)
    with serving_blog(front.values):
        yield front


def test_the_blog_is_served_beside_its_comments(blog: Client, networks: Network) -> None:
    assert blog.ask("GET", "/", host=BLOG).body == b"A blog"
    reader = blog._replace(source=next(networks))
    answer = reader.submit("/path/1/", FOLDER, BLOG, X_Forwarded_For="203.0.113.9")
    assert answer.status == 201
    assert reader.submit("/path/2/", FOLDER, BLOG, X_Forwarded_For="203.0.114.9").status == 429
    count = blog.ask("GET", f"{FOLDER}/api/comments/count?url=/path/1/", host=BLOG)
    assert count.json() == {"count": 1}
    assert max_age(count.headers["strict-transport-security"]) >= YEAR


@pytest.mark.parametrize("page", PAGES)
def test_all_that_a_page_leads_to_is_in_the_folder(blog: Client, page: str) -> None:
    html = blog.ask("GET", FOLDER + page, host=BLOG).body.decode()
    there = [unescape(link) for link in re.findall(r'(?:href|src|action)="([^"]*)"', html)]
    own = [urldefrag(urljoin(FOLDER + page, link)).url for link in there if ":" not in link]
    own = [link for link in own if link != "/post/"]  # the blog's own page
    assert own or "embed" not in page
    for link in own:
        assert link.startswith(f"{FOLDER}/")
        assert blog.ask("GET", link, host=BLOG).status != 404


def test_the_widget_comes_compressed(blog: Client) -> None:
    answer = blog.ask("GET", f"{FOLDER}/static/comments.js", host=BLOG, Accept_Encoding="gzip")
    assert b"customElements" in gzip.decompress(answer.body)


def test_it_is_left_by_no_redirect(blog: Client) -> None:
    for old in ("/web", "/web/login"):
        answer = blog.ask("GET", FOLDER + old, host=BLOG)
        page = urljoin(FOLDER + old, answer.headers["location"])
        assert page == f"{FOLDER}/web/moderation"
        assert blog.ask("GET", page, host=BLOG).status == 303


def test_its_description_knows_the_folder(blog: Client) -> None:
    document = f"{FOLDER}/openapi.json"
    [server] = blog.ask("GET", document, host=BLOG).json()["servers"]
    assert urljoin(document, server["url"]) == f"{FOLDER}/"


def test_a_posted_form_is_our_own(blog: Client, networks: Network) -> None:
    """The Origin of a form in the folder is the host's, as in the Host field."""
    reader = blog._replace(source=next(networks))
    answer = reader.ask(
        "POST",
        f"{FOLDER}/embed/thread",
        b"url=/post/&author=Ann&message=Good",
        BLOG,
        Content_Type="application/x-www-form-urlencoded",
        Origin=f"https://{BLOG}",
    )
    assert answer.status == 201
