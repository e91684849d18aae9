"""Replies from elsewhere, in the whole program: from the blog's own page to the comment."""

import json
from pathlib import Path

from tests.e2e.program import Service, serving, wait_for
from tests.unit.other_site import Page, other_site

URL = "/wet-wood/"
SHOWN = (
    f"/api/comments?url={URL}",
    f"/embed/thread?url={URL}",
    "/feed.atom",
    f"/comments?url={URL}",
)


# Strangers never reach this machine; the other site of this test is on it.
PATCH = """
from commentsvc.util import http_client, ip_ranges
http_client.STRANGER_PORTS = range(1, 65_536)
http_client.is_local = ip_ranges.has_local = lambda _address: False
"""


def strangers_on_this_machine(folder: Path) -> Path:
    """Return the folder of a module that Python imports at its start, which has PATCH."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(PATCH)
    return folder


def test_what_came_from_elsewhere_stays_when_the_network_is_cut(tmp_path: Path) -> None:
    with other_site() as site:
        post = site.url("/@ann/1")
        toot = {
            "id": "2",
            "visibility": "public",
            "content": "It rained",
            "account": {"acct": "bo"},
        }
        answers = {
            "/api/v1/statuses/1": {"favourites_count": 4},
            "/api/v1/statuses/1/context": {"descendants": [toot]},
        }
        site.pages.update(
            {
                path: Page(json.dumps(body), type="application/json")
                for path, body in answers.items()
            }
        )
        site.pages[URL] = Page(f'<comment-thread url="{URL}" data-social-posts="{post}">')
        site.pages["/sitemap.xml"] = Page(f"<urlset><url><loc>{site.url(URL)}</loc></url></urlset>")
        settings = {
            "COMMENTSVC_MODERATION_POLICY": "none",
            "COMMENTSVC_HOOKS_ALLOWED_NETWORKS": "127.0.0.0/8",
            "COMMENTSVC_MENTIONS_ALLOWED_NETWORKS": "127.0.0.0/8",
            "PYTHONPATH": str(strangers_on_this_machine(tmp_path / "patch")),
            "COMMENTSVC_SITE_ORIGINS": site.url(""),
            "COMMENTSVC_SITE_SOCIAL_SITEMAP": site.url("/sitemap.xml"),
            "COMMENTSVC_SITE_WEBMENTIONS": "true",
        }
        with serving(tmp_path / "data", settings, kind=Service) as service:
            # The likes are stored last, after the replies.
            wait_for(lambda: "likes" in service.request("GET", SHOWN[0]).json(), "the likes")
            before = [service.request("GET", target) for target in SHOWN]
            [shown] = before[0].json()["data"]
            assert (shown["content"], shown["permalink"]) == ("It rained", site.url("/@bo/2"))
            site.shutdown()
            site.server_close()
            mention = f"source={site.url('/reply/')}&target={site.url(URL)}".encode()
            form = "application/x-www-form-urlencoded"
            sent = service.request("POST", "/webmention", mention, Content_Type=form)
            assert sent.status == 202
            wait_for(lambda: "not taken as a mention" in service.log.read_text(), "the failed look")
            after = [service.request("GET", target) for target in SHOWN]
            assert [each.body for each in after] == [each.body for each in before]
