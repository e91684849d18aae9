"""Helpers for browser tests of the moderation pages."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

import pytest
from playwright.sync_api import Browser, Locator, Page, StorageState, expect

PASSWORD = "correct horse battery"

Scheme = Literal["light", "dark"]


def screenshots(*more: int) -> pytest.MarkDecorator:
    """Run a test in each colour `scheme`, at the `width` of phone, desktop and each of `more`."""
    seen = list(itertools.product(get_args(Scheme), (360, 1280, *more)))
    return pytest.mark.parametrize(("scheme", "width"), seen)


@contextmanager
def compare_screenshots(
    chromium: Browser, origin: str, scheme: Scheme, width: int, kept: StorageState | None = None
) -> Iterator[Page]:
    """Open a tab without our policy, since axe adds styles; `kept` are the cookies."""
    context = chromium.new_context(
        base_url=origin,
        bypass_csp=True,
        color_scheme=scheme,
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
