"""Signing in and out in a real browser, which applies its own rules for cookies and origins."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.accessibility import assert_fine
from tests.admin_e2e.moderator_browser import (
    PASSWORD,
    PICTURES,
    at_each_width,
    sign_in,
    sign_out,
    tab_without_policy,
    tell,
)
from tests.e2e.program import Service
from tests.widget.browser import Blog, serve


def test_a_moderator_signs_in_by_the_keyboard_and_out_again(page: Page, service: Service) -> None:
    page.goto("/moderation/account")
    expect(page).to_have_url(f"{service.address}/moderation/sign-in?to=account")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type("ann")
    page.keyboard.press("Tab")
    page.keyboard.type("a wrong password")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Wrong name or password")
    expect(page.get_by_label("Name")).to_have_value("ann")
    expect(page.get_by_label("Password")).to_be_focused()
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{service.address}/moderation/account")
    sign_out(page).click()
    expect(page).to_have_url(f"{service.address}/moderation/sign-in")
    page.go_back()
    page.reload()
    expect(page.get_by_label("Password")).to_be_visible()


def test_the_cookies_are_out_of_reach_of_scripts(moderation: Page) -> None:
    assert moderation.evaluate("document.cookie") == ""
    cookies = moderation.context.cookies()
    assert {cookie["name"] for cookie in cookies} == {
        "__Host-commentsvc",
        "__Host-commentsvc-known",
    }
    for cookie in cookies:
        assert cookie["httpOnly"]
        assert cookie["secure"]
        assert cookie["sameSite"] == "Strict"
        assert cookie["path"] == "/"


def test_without_scripts_all_is_the_same(chromium: Browser, service: Service) -> None:
    context = chromium.new_context(base_url=service.address, java_script_enabled=False)
    page = context.new_page()
    sign_in(page)
    page.get_by_role("link", name="My account", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("ann")
    sign_out(page).click()
    expect(page.get_by_label("Password")).to_be_visible()
    context.close()


def attack(page: Page, service: Service, token: str) -> None:
    """Send the sign-out form from the page that is open."""
    page.evaluate(
        """([action, token]) => {
            const form = document.createElement("form");
            form.method = "post";
            form.action = action;
            const field = document.createElement("input");
            field.name = "csrf_token";
            field.value = token;
            form.append(field);
            document.body.append(form);
            form.submit();
        }""",
        [f"{service.address}/moderation/sign-out", token],
    )


def test_the_blogs_pages_can_do_nothing_with_a_moderators_cookie(
    moderation: Page, service: Service, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The blog is on another port of the same host, which a browser regards as the same site.

    So the cookie is sent with its requests. In this test the page even knows the CSRF token.
    """
    token = moderation.locator("input[name=csrf_token]").first.get_attribute("value") or ""
    folder = tmp_path_factory.mktemp("blog")
    (folder / "index.html").write_text("<!DOCTYPE html><title>Blog</title><p>Hi")
    with serve(folder) as blog:
        assert isinstance(blog, Blog)
        other = moderation.context.new_page()
        other.goto(blog.origin)
        with other.expect_response("**/moderation/sign-out") as caught:
            attack(other, service, token)
        assert caught.value.status == 403
        sent = caught.value.request.all_headers()
        assert "__Host-commentsvc=" in sent["cookie"], "the browser did send the cookie"
        other.wait_for_url("**/moderation/sign-out")
        read = """async (url) => {
            try { await (await fetch(url, {credentials: "include"})).text(); return "read" }
            catch { return "refused" }
        }"""
        other.goto(blog.origin)
        assert other.evaluate(read, f"{service.address}/moderation/account") == "refused"
    moderation.reload()
    expect(sign_out(moderation)).to_be_visible()


def test_a_link_from_another_site_finds_the_moderator_signed_in(
    moderation: Page, service: Service, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A web mailer is such a site: the first request has no cookie (SameSite=Strict)."""
    folder = tmp_path_factory.mktemp("mailer")
    address = f"{service.address}/moderation/account"
    (folder / "index.html").write_text(f'<!DOCTYPE html><title>Mail</title><a href="{address}">x')
    with serve(folder) as mailer:
        moderation.goto(mailer.origin.replace("127.0.0.1", "localhost"))
        moderation.get_by_role("link").click()
        expect(moderation.get_by_role("heading", level=1)).to_have_text("Account of ann")


@at_each_width
def test_everybody_can_use_the_pages(chromium: Browser, service: Service, width: int) -> None:
    with tab_without_policy(chromium, service.address, width) as page:
        page.goto("/moderation/sign-in")
        assert_fine(page, PICTURES / "sign-in", [width])
        tell(page, "x" * 40, "x")
        expect(page.get_by_role("alert")).to_be_visible()
        assert_fine(page, PICTURES / "sign-in-wrong", [width])
        sign_in(page)
        page.goto("/moderation/account?done=password")
        assert_fine(page, PICTURES / "account-done", [width])
