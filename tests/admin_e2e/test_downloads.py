"""Downloading in a real browser: a file whose length nobody knows when it begins."""

import json
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.admin_e2e.moderator_browser import PASSWORD
from tests.e2e.program import Service


def test_an_owner_downloads_everything(moderation: Page, service: Service, tmp_path: Path) -> None:
    service.submit("/downloads/", "Oak")
    moderation.goto("/moderation/settings")
    moderation.get_by_role("link", name="Download everything").click()
    expect(moderation.get_by_role("heading", level=1)).to_have_text("Downloads")
    moderation.get_by_label("Current password").fill(PASSWORD)
    with moderation.expect_download() as begun:
        moderation.get_by_role("button", name="Download").click()
    file = tmp_path / "file"
    begun.value.save_as(file)
    assert begun.value.suggested_filename.endswith(".ndjson")
    lines = [json.loads(line) for line in file.read_bytes().splitlines()]
    assert [lines[0]["type"], lines[-1]["type"]] == ["header", "end"]
    assert "Oak" in [line["message"] for line in lines if line["type"] == "comment"]


def test_a_wrong_password_is_said_on_the_page(moderation: Page) -> None:
    moderation.goto("/moderation/downloads")
    moderation.get_by_label("Current password").fill("another")
    moderation.get_by_role("button", name="Download").click()
    expect(moderation.get_by_role("alert")).to_contain_text("This is not your current password.")
