"""What a test of the moderation pages has in its hands."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

import pytest
from playwright.sync_api import Browser, Locator, Page, StorageState, expect

PASSWORD = "correct horse battery"

Scheme = Literal["light", "dark"]


def looks(*more: int) -> pytest.MarkDecorator:
    """Every `scheme`, at a phone's and a desk's `width` and at `more`."""
    seen = list(itertools.product(get_args(Scheme), (360, 1280, *more)))
    return pytest.mark.parametrize(("scheme", "width"), seen)


@contextmanager
def looked_at(
    chromium: Browser, origin: str, scheme: Scheme, width: int, kept: StorageState | None = None
) -> Iterator[Page]:
    """A tab for axe, which adds styles of its own; `kept` are the cookies that the browser has."""
    context = chromium.new_context(
        base_url=origin,
        bypass_csp=True,
        color_scheme=scheme,
        reduced_motion="reduce",  # what has not yet faded in has little contrast
        viewport={"width": width, "height": 740},
        storage_state=kept,
    )
    yield context.new_page()
    context.close()


def sign_in(page: Page, name: str = "ann", password: str = PASSWORD) -> None:
    """Sign in by the form."""
    page.goto("/moderation")
    tell(page, name, password)
    expect(sign_out(page)).to_be_visible()


def tell(page: Page, name: str, password: str = PASSWORD) -> None:
    """Send the form, with a name and a password."""
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def sign_out(page: Page) -> Locator:
    """The button that every page for moderators has."""
    return page.get_by_role("banner").get_by_role("button", name="Sign out")
