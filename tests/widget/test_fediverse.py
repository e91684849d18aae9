"""Replying from one's own account on Mastodon: no request by the page, one field, remembered."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.accessibility import assert_accessible, save_picture
from tests.widget.browser import Answers, comment
from tests.widget.test_access import PICTURES

POST = "https://mastodon.example/@ann/1"
OPENED = "window.opened = []; window.open = (...given) => window.opened.push(given)"


@pytest.mark.parametrize(
    "typed", ["Oak.example", "@rosa@oak.example", "https://oak.example/@rosa", " oak.example/ "]
)
def test_the_post_opens_on_the_readers_server(
    page: Page,
    open_thread: Callable[..., Page],
    answers: Answers,
    announce: Callable[[], None],
    typed: str,
) -> None:
    answers.comments, answers.posts = [comment(1, "Yes.")], [POST]
    page.add_init_script(OPENED)
    page.set_viewport_size({"width": 360, "height": 700})
    open_thread()
    announce()
    page.get_by_role("button", name="Reply from your Mastodon account").click()
    field = page.get_by_role("textbox", name="Your server, such as mastodon.social")
    expect(field).to_be_focused()
    button = page.get_by_role("button", name="Open the post")
    for wrong in ("", "oak", "a b.example"):
        field.fill(wrong)
        button.click()
    assert page.evaluate("window.opened") == []
    field.fill(typed)
    button.click()
    uri = "https%3A%2F%2Fmastodon.example%2F%40ann%2F1"
    target = f"https://oak.example/authorize_interaction?uri={uri}"
    assert page.evaluate("window.opened") == [[target, "_blank", "noopener"]]
    save_picture(page, PICTURES / "fediverse.png")
    assert_accessible(page)
    assert all("oak.example" not in target for _, target in answers.requests)
    open_thread()
    page.clock.fast_forward(5_000)
    page.get_by_role("button", name="Reply from your Mastodon account").click()
    expect(field).to_have_value("oak.example")
