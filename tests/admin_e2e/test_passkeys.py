"""Passkeys in a real browser, with a virtual authenticator from the browser's DevTools."""

from playwright.sync_api import Browser, CDPSession, Page, expect

from tests.accessibility import assert_fine
from tests.admin_e2e.moderator_browser import (
    PASSWORD,
    PICTURES,
    sign_in,
    sign_out,
    tab_without_policy,
)
from tests.e2e.program import Service, command

DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def plug_in(page: Page) -> tuple[CDPSession, str]:
    """Add a virtual authenticator to the page's browser; return the DevTools session and its id."""
    tools = page.context.new_cdp_session(page)
    tools.send("WebAuthn.enable")
    made = tools.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})
    return tools, made["authenticatorId"]


def test_a_passkey_is_added_used_and_removed(chromium: Browser, service: Service) -> None:
    made = command("moderator", "add", "key", "--data", service.data, given=PASSWORD)
    assert made.code == 0, made
    origin = service.address.replace("127.0.0.1", "localhost")
    with tab_without_policy(chromium, origin) as page:
        tools, device = plug_in(page)
        sign_in(page, "key")
        add(page)
        assert_fine(page, PICTURES / "passkeys")
        add(page, again=True)  # the device already has a passkey of this account
        sign_out(page).click()
        assert_fine(page, PICTURES / "passkey-sign-in")
        enter(page, tools, device)
        page.goto("/moderation/passkeys")
        page.get_by_role("link", name="Remove My phone").click()
        opens = page.get_by_role("region", name="What opens this account")
        opens.get_by_label("Current password").fill(PASSWORD)
        assert_fine(page, PICTURES / "passkey-account")
        opens.get_by_role("button", name="Remove My phone").click()
        expect(page.get_by_role("status")).to_have_text("Removed.")
        sign_out(page).click()
        expect(page.get_by_label("Password")).to_be_visible()
        expect(page.get_by_role("button", name="passkey")).to_have_count(0)


def add(page: Page, *, again: bool = False) -> None:
    """Add a passkey on its page."""
    page.goto("/moderation/account")
    page.get_by_role("region", name="Passkeys").get_by_role("link").click()
    page.get_by_label("Its name in this list").fill("My phone")
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Add a passkey").click()
    if again:
        expect(page.get_by_role("alert")).to_be_visible()
    else:
        expect(page.get_by_role("status")).to_contain_text("You can sign in with this passkey")


def enter(page: Page, tools: CDPSession, device: str) -> None:
    """Sign in, after a first attempt in which the device does not verify its user."""
    known = {"authenticatorId": device}
    tools.send("WebAuthn.setUserVerified", {**known, "isUserVerified": False})
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert")).to_be_visible()
    tools.send("WebAuthn.setUserVerified", {**known, "isUserVerified": True})
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(sign_out(page)).to_be_visible()
