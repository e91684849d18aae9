"""Threads that a build has put into the page: what the widget requests, shows and keeps."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, Response, Route, expect

from loadtest.harness.running import free_port
from tests.conftest import invalid_html
from tests.e2e.program import Service, command, wait_for
from tests.widget.browser import POST, build_blog

Start = Callable[..., Service]
Build = Callable[[], Service]

OPEN = {"COMMENTSVC_MODERATION_POLICY": "none", "COMMENTSVC_SPAM_RATE_LIMIT": "off"}


@pytest.fixture
def build(start: Start, hugo: str, tmp_path: Path) -> Build:
    """A service with three comments, one of them a reply, and a blog that was built with them."""

    def build() -> Service:
        address = f"127.0.0.1:{free_port()}"
        public = {
            "COMMENTSVC_SERVER_PUBLIC_URL": f"http://{address}"
        }  # where prerendered forms lead
        service = start(listen=address, **OPEN, **public)
        for text, more in (("One", {}), ("[Two](#top)", {}), ("Three", {"parent": 1})):
            assert service.submit(POST, text, **more).status == 201
        environ: Mapping[str, str] = {
            "HUGO_PARAMS_COMMENTSVC_BUILD": "true",
            "HUGO_CACHEDIR": str(tmp_path / "cache"),
            "HUGO_SECURITY_HTTP_URLS": ".*",
        }
        build_blog(hugo, service.address, tmp_path / "blog", **environ)
        return service

    return build


@pytest.fixture
def lists(tab: Page) -> list[tuple[bool, int]]:
    """Return for each requested list whether it was for newer comments, and how many there were."""
    lists: list[tuple[bool, int]] = []

    def note(response: Response) -> None:
        parts = urlsplit(response.url)
        if parts.path == "/api/comments" and response.request.method == "GET":
            lists.append(("since" in parse_qs(parts.query), len(response.json()["data"])))

    tab.on("response", note)
    return lists


def opened(tab: Page) -> list[str]:
    """Open the post and wait for the widget; return the texts that it shows."""
    tab.goto(POST)
    tab.locator("comment-thread").scroll_into_view_if_needed()
    expect(tab.get_by_role("link", name="Atom feed")).to_be_visible()
    return tab.locator(".commentsvc-body").all_inner_texts()


def assert_asked(tab: Page, lists: list[tuple[bool, int]], *since: bool) -> None:
    """Check which lists were requested; they are recorded a little later than the page has them."""
    wait_for(lambda: tab.evaluate("true") and len(lists) >= len(since), "the lists")
    assert [newer for newer, _ in lists] == [*since]


def change(service: Service, *arguments: str, given: str = "") -> None:
    """Moderate with the command line."""
    done = command(*arguments, "--data", service.data, given=given)
    assert done.code == 0, done


def test_only_what_is_newer_is_asked_for(
    build: Build, tab: Page, lists: list[tuple[bool, int]]
) -> None:
    service = build()
    assert opened(tab) == ["One", "Three", "Two"]
    # Comments of the last minute are requested again: an older one may have been stored later.
    assert_asked(tab, lists, True)
    service.submit(POST, "Four")
    assert opened(tab) == ["One", "Three", "Two", "Four"]
    expect(tab.get_by_role("heading", name="4 comments")).to_be_visible()
    expect(tab.locator("#commentsvc-1 #commentsvc-3")).to_be_visible()
    expect(tab.locator("#commentsvc-3").get_by_role("button", name="Reply")).to_be_visible()
    assert_asked(tab, lists, True, True)


def test_the_html_of_a_built_thread_is_valid(build: Build, tmp_path: Path) -> None:
    build()
    assert not invalid_html(
        {POST: (tmp_path / "blog" / POST.strip("/") / "index.html").read_text()}
    )


def test_what_a_build_has_is_not_sent_again(
    build: Build, tab: Page, lists: list[tuple[bool, int]], tmp_path: Path
) -> None:
    build()
    page = tmp_path / "blog" / POST.strip("/") / "index.html"
    built = page.read_text()
    [moment] = {part.split('"')[0] for part in built.split('data-since="')[1:]}
    page.write_text(built.replace(moment, "2099-01-01T00:00:00Z"))  # as if it was long ago
    assert opened(tab) == ["One", "Three", "Two"]
    assert_asked(tab, lists, True)
    assert lists == [(True, 0)]
    expect(tab.locator("#commentsvc-1 .commentsvc-author").first).to_have_text("Ann")
    expect(tab.locator("#commentsvc-2 time")).to_have_attribute("datetime", re.compile("Z$"))
    link = tab.locator("#commentsvc-2 .commentsvc-body a")
    expect(link).to_have_attribute("href", "#top")  # built with the address of its page


def test_what_was_changed_or_deleted_since_is_shown_as_it_is(
    build: Build, tab: Page, lists: list[tuple[bool, int]]
) -> None:
    service = build()
    change(service, "edit", "2", given="Second")
    service.request(
        "POST",
        "/api/comments/2/votes",
        b'{"vote": 1, "voter": "somebody"}',
        Content_Type="application/json",
    )
    assert opened(tab) == ["One", "Three", "Second"]
    expect(tab.locator("#commentsvc-2 .commentsvc-votes")).to_have_text("1")
    change(service, "delete", "1")
    assert sorted(opened(tab)) == ["Second", "Three"]
    assert_asked(tab, lists, True, True, False)


def test_where_more_has_changed_than_an_answer_tells_the_list_is_asked_for(
    build: Build, tab: Page, lists: list[tuple[bool, int]]
) -> None:
    service = build()
    for number in (1, 2):
        path = f"/api/comments/{number}/votes"
        service.request(
            "POST", path, b'{"vote":1,"voter":"somebody"}', Content_Type="application/json"
        )

    def shorten(route: Route) -> None:
        """Ask for so few as if too many comments had changed."""
        route.continue_(url=route.request.url.replace("limit=100", "limit=1"))

    tab.route("**/api/comments?*since=*", shorten)
    assert opened(tab) == ["One", "Three", "Two"]
    assert_asked(tab, lists, True, False)
    expect(tab.locator("#commentsvc-1 .commentsvc-votes").first).to_have_text("1")
    expect(tab.locator("#commentsvc-2 .commentsvc-votes")).to_have_text("1")


def open_early(tab: Page) -> Callable[[], None]:
    """Open the post before the widget's script has loaded; return a function that lets it load."""
    held: list[Route] = []
    tab.route("**/static/comments.js", lambda route: held.append(route))
    with tab.expect_request("**/static/comments.js"):
        tab.goto(POST, wait_until="commit")
    return lambda: held.pop().continue_()


def test_what_was_typed_before_the_widget_came_is_kept(build: Build, tab: Page) -> None:
    build()
    go_on = open_early(tab)
    tab.get_by_label("Name").fill("Rosa")
    tab.get_by_label("Comment").press_sequentially("Typed early")
    expect(tab.get_by_role("link", name="Atom feed")).to_have_count(0)
    go_on()
    expect(tab.get_by_role("link", name="Atom feed")).to_be_visible()
    field = tab.get_by_label("Comment")
    expect(field).to_have_value("Typed early")
    expect(tab.get_by_label("Name")).to_have_value("Rosa")
    expect(field).to_be_focused()
    tab.keyboard.type(", and on")
    tab.unroute_all()
    opened(tab)
    expect(field).to_have_value("Typed early, and on")


def test_a_draft_and_what_was_typed_are_both_kept(build: Build, tab: Page) -> None:
    build()
    opened(tab)
    tab.get_by_label("Comment").fill("A draft")
    go_on = open_early(tab)
    tab.get_by_label("Comment").fill("Typed early")
    go_on()
    expect(tab.get_by_role("link", name="Atom feed")).to_be_visible()
    expect(tab.get_by_label("Comment")).to_have_value("A draft\n\nTyped early")


def test_what_was_typed_is_kept_where_the_page_has_closed_meanwhile(
    build: Build, tab: Page
) -> None:
    service = build()
    change(service, "thread", "close", POST)
    go_on = open_early(tab)
    tab.get_by_label("Comment").fill("Typed early")
    go_on()
    expect(tab.get_by_role("link", name="Atom feed")).to_be_visible()
    expect(tab.get_by_label("Comment")).to_have_value("Typed early")
    tab.get_by_label("Name").fill("Rosa")
    tab.get_by_role("button", name="Send comment").click()
    expect(tab.get_by_role("alert").last).to_contain_text("no longer accepts comments")
    expect(tab.get_by_label("Comment")).to_have_value("Typed early")


def test_comments_of_data_files_are_there_without_the_service_and_give_way_to_it(
    start: Start, hugo: str, tab: Page, tmp_path: Path
) -> None:
    service = start(**OPEN)
    for text, more in (("One", {}), ("Two", {}), ("Three", {"parent": 1})):
        assert service.submit(POST, text, **more).status == 201
    change(service, "export", "--hugo", str(tmp_path / "files/talk"))
    environ = {"HUGO_DATADIR": str(tmp_path / "files"), "HUGO_PARAMS_COMMENTSVC_DATA": "talk"}
    build_blog(hugo, service.address, tmp_path / "blog", **environ)
    service.submit(POST, "Four")
    assert opened(tab) == ["One", "Three", "Two", "Four"]
    expect(tab.locator("#commentsvc-1 #commentsvc-3")).to_be_visible()
    service.close()
    tab.goto(POST)
    expect(tab.get_by_role("heading", name="3 comments")).to_be_visible()
    assert tab.locator(".commentsvc-body").all_inner_texts() == ["One", "Three", "Two"]
    expect(tab.locator("#commentsvc-1 #commentsvc-3")).to_be_visible()
