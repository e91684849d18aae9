"""Two-factor sign-in in a real browser: set up an app, use it, and switch it off."""

import base64
import time
from collections.abc import Callable

from playwright.sync_api import Browser, Page, expect

from commentsvc.auth import totp
from tests.accessibility import assert_fine
from tests.admin_e2e.moderator_browser import (
    PASSWORD,
    PICTURES,
    at_each_width,
    sign_out,
    tab_without_policy,
    tell,
)
from tests.e2e.program import Service, command

STEP = 30  # seconds that a code is valid (RFC 6238, 5.2)


def code(secret: str, step: int = 0) -> str:
    """Return the code that an app shows now, or `step` codes later."""
    word = base64.b32decode(secret + "=" * (-len(secret) % 8))
    return totp.code(word, int(time.time()) // STEP + step)


def begin(page: Page, name: str) -> None:
    """Send the name and the password."""
    page.goto("/moderation/sign-in")
    tell(page, name)


@at_each_width
def test_everybody_can_use_codes_of_an_app(chromium: Browser, service: Service, width: int) -> None:
    name = f"mo-{width}"
    made = command("moderator", "add", name, "--data", service.data, given=PASSWORD)
    assert made.code == 0, made
    with tab_without_policy(chromium, service.address, width) as page:

        def check(state: str) -> None:
            assert_fine(page, PICTURES / f"factor-{state}", [width])

        secret, recovery = set_up(page, name, check)
        use(page, name, check, secret, recovery)


def set_up(page: Page, name: str, check: Callable[[str], None]) -> tuple[str, str]:
    """Set up an app; return the key that the page shows, and a recovery code."""
    begin(page, name)
    expect(sign_out(page)).to_be_visible()
    page.goto("/moderation/factor")
    page.get_by_role("button", name="Set up an app").click()
    secret = page.locator(".key").inner_text()
    check("key")
    page.get_by_label("Code from the app").fill("000000")
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Ask for codes from now on").click()
    expect(page.get_by_role("alert")).to_be_visible()
    check("wrong-code")
    page.get_by_label("Code from the app").fill(code(secret))
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Ask for codes from now on").click()
    expect(page.locator(".codes li")).to_have_count(10)
    recovery = page.locator(".codes li").all_inner_texts()
    assert len(set(recovery)) == 10
    check("recovery-codes")
    sign_out(page).click()
    expect(page.get_by_label("Password")).to_be_visible()
    return secret, recovery[0]


def use(page: Page, name: str, check: Callable[[str], None], secret: str, recovery: str) -> None:
    """Sign in with a recovery code, then switch two-factor sign-in off with a code of the app."""
    begin(page, name)
    field = page.get_by_label("code")
    expect(field).to_be_visible()
    expect(sign_out(page)).not_to_be_visible()
    check("code")
    field.fill(recovery)
    page.get_by_role("button").first.click()
    expect(sign_out(page)).to_be_visible()
    page.goto("/moderation/factor")
    expect(page.get_by_text("9 recovery codes are left")).to_be_visible()
    check("in-use")
    page.get_by_label("Code, or recovery code").fill(code(secret, 1))
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Stop asking for codes").click()
    expect(page.get_by_role("button", name="Set up an app")).to_be_visible()
