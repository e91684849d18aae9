"""Helpers for browser tests of the moderation pages."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, StorageState, expect

from tests.accessibility import WIDTHS

PASSWORD = "correct horse battery"
PICTURES = Path(__file__).parents[2] / "build" / "pictures" / "pages"


at_each_width = pytest.mark.parametrize("width", WIDTHS)


@contextmanager
def tab_without_policy(
    chromium: Browser, origin: str, width: int = WIDTHS[0], kept: StorageState | None = None
) -> Iterator[Page]:
    """Open a tab without our policy, since axe adds styles; `kept` are the cookies."""
    context = chromium.new_context(
        base_url=origin,
        bypass_csp=True,
        reduced_motion="reduce",  # texts that are still fading in have too little contrast
        viewport={"width": width, "height": 740},
        storage_state=kept,
    )
    yield context.new_page()
    context.close()


def sign_in(page: Page, name: str = "ann", password: str = PASSWORD) -> None:
    """Sign in with the form."""
    page.goto("/moderation")
    tell(page, name, password)
    expect(sign_out(page)).to_be_visible()


def tell(page: Page, name: str, password: str = PASSWORD) -> None:
    """Fill in a name and a password, and send the form."""
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def sign_out(page: Page) -> Locator:
    """Return the sign-out button, which every page for moderators has."""
    return page.get_by_role("banner").get_by_role("button", name="Sign out")
