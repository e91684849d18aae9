"""Count the steps in which 200 waiting comments are decided: `python -m tests.moderation_steps`.

With words such as "keys" or "phone", only the tasks whose names have one of these are done.

A real service and Chromium. 180 comments are approved, 15 are spam, and 5 are deleted, each with a
look at it: its card has to be in the window. A step is a click or tap, a key, a scrolling by nine
tenths of the window, or a page that is loaded, the first one too. `decide` does it one comment
after the other; `in_bulk` decides the 20 exceptions so, and the rest at once.

What WordPress takes is counted by the same rules from its documentation and source, version 6: see
docs/moderating.md.
"""

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.admin_e2e.moderator_browser import PASSWORD, sign_in
from tests.conftest import FLAGS, chromium_program
from tests.e2e.program import command, rows, serving

NUMBER: Final = 200
SPAM: Final = 15
DELETED: Final = 5
PATIENCE_MS: Final = 60_000  # the machine may be busy
SETTINGS: Final = {"COMMENTSVC_SPAM_RATE_LIMIT": "off", "COMMENTSVC_SPAM_PENDING_LIMIT": "off"}
TEXTS: Final = (
    "Thank you, this is what I was looking for.",
    "I tried it with birch last winter. It took two weeks longer than you write, and the ends split"
    " although they were painted. Next time I will leave them longer and cut them off afterwards.",
    "Does the same hold for the small pieces, or do these dry too fast? Mine bend.",
)
# Whether a click on an element meets it
IS_ON_TOP: Final = """(element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    return element.contains(document.elementFromPoint(x + width / 2, y + height / 2));
}"""
# What becomes of the comments, the newest first, by their number.
VERBS: Final = ("Delete",) * DELETED + ("Spam",) * SPAM
KEYS: Final = {"Approve": "a", "Spam": "s", "Delete": "d"}


def verb(number: int) -> str:
    """Return what becomes of a comment: every tenth is none that is approved."""
    return VERBS[number // 10] if number % 10 == 9 else "Approve"


class Moderator:
    """A moderator at a page, and the steps that were taken."""

    def __init__(self, page: Page, *, touches: bool) -> None:
        self.steps = Counter[str]()
        self.page = page
        self._touches = touches
        page.on("load", lambda _page: self.steps.update(["page loads"]))

    def click(self, target: Locator) -> None:
        """Click or tap, after scrolling if it is not in the window, or below something."""
        self.bring(target)
        if not target.evaluate(IS_ON_TOP):
            self.steps["scrolls"] += 1
            self.page.evaluate("scrollBy({ top: innerHeight * 0.9, behavior: 'instant' })")
        self.steps["taps" if self._touches else "clicks"] += 1
        if self._touches:
            target.tap()
        else:
            target.click()

    def press(self, key: str) -> None:
        """Press a key."""
        self.steps["keys"] += 1
        self.page.keyboard.press(key)

    def bring(self, target: Locator) -> None:
        """Scroll until something is in the window as a whole."""
        window = self.page.viewport_size
        assert window
        for _ in range(100):
            box = target.bounding_box()
            assert box
            if (
                box["y"] >= 0
                and box["y"] + min(box["height"], window["height"]) <= window["height"]
            ):
                return
            far = window["height"] * (0.9 if box["y"] > 0 else -0.9)
            self.steps["scrolls"] += 1
            self.page.evaluate("far => scrollBy({ top: far, behavior: 'instant' })", far)
        raise AssertionError("it does not come into the window")

    def first(self) -> Locator:
        """Return the first comment that waits."""
        return self.page.locator(".comments .comment").first

    def decide(self, card: Locator, what: str) -> None:
        """Look at a comment, and press one of its buttons."""
        self.bring(card)
        decided = self.page.locator(f"#{card.get_attribute('id')}")
        self.click(card.get_by_role("button", name=what, exact=True))
        expect(decided).to_have_count(0, timeout=PATIENCE_MS)


def one_by_one(who: Moderator) -> None:
    """Decide each comment with its button."""
    for number in range(NUMBER):
        who.decide(who.first(), verb(number))


def by_keys(who: Moderator) -> None:
    """Decide each comment with a key; the first key goes to the first comment."""
    who.press("j")
    for number in range(NUMBER):
        decided = who.page.locator(f"#{who.first().get_attribute('id')}")
        who.press(KEYS[verb(number)])
        expect(decided).to_have_count(0, timeout=PATIENCE_MS)


def in_bulk(who: Moderator) -> None:
    """Decide the exceptions with their buttons, then select and approve all others."""
    page = who.page
    for number in range(NUMBER):
        if verb(number) != "Approve":
            card = page.locator(".comment").filter(has_text=f"Reader {NUMBER - number}:").first
            while not card.count():
                who.click(page.get_by_role("link", name="Older"))
            who.decide(card, verb(number))
    who.click(page.get_by_role("link", name=f"Select all {NUMBER - SPAM - DELETED}"))
    bulk = page.get_by_role("group", name="For the selected comments")
    who.click(bulk.get_by_role("button", name="Approve"))
    expect(page.get_by_text(f"{NUMBER - SPAM - DELETED} comments approved.")).to_be_visible(
        timeout=PATIENCE_MS
    )


def walk(
    browser: Browser, data: Path, task: Callable[[Moderator], None], width: int, height: int
) -> tuple[Counter[str], float]:
    """Return the steps and the seconds that a task takes with a new service."""
    with serving(data, SETTINGS) as service:
        for number in range(1, NUMBER + 1):
            text = f"Reader {number}: {TEXTS[number % len(TEXTS)]}"
            answer = service.submit(f"/post-{number % 7}/", text, author=f"Reader {number}")
            assert answer.status == 202, answer
        assert command("moderator", "add", "ann", "--data", data, given=PASSWORD).code == 0
        context = browser.new_context(
            base_url=service.address,
            viewport={"width": width, "height": height},
            has_touch=width < 500,
            is_mobile=width < 500,
        )
        page = context.new_page()
        sign_in(page)
        who = Moderator(page, touches=width < 500)
        began = time.monotonic()
        page.goto("/moderation/queue")
        task(who)
        took = time.monotonic() - began
        context.close()
        with rows(data) as database:
            found = database.execute("SELECT status, count(*) FROM comment GROUP BY status")
            assert dict(found.fetchall()) == {
                "approved": NUMBER - SPAM - DELETED,
                "spam": SPAM,
                "deleted": DELETED,
            }
    return who.steps, took


def main() -> None:
    """Print the steps of each task."""
    tasks = (
        ("mouse, one by one", one_by_one, 1280, 800),
        ("keys", by_keys, 1280, 800),
        ("phone, one by one", one_by_one, 360, 740),
        ("mouse, in bulk", in_bulk, 1280, 800),
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_program(playwright), args=FLAGS
        )
        chosen = [each for each in tasks if any(word in each[0] for word in sys.argv[1:] or [""])]
        for number, (name, task, width, height) in enumerate(chosen):
            steps, took = walk(browser, Path(folder) / str(number), task, width, height)
            said = ", ".join(f"{count} {what}" for what, count in sorted(steps.items()))
            print(f"{name}: {sum(steps.values())} steps ({said}), {took:.0f} s in the browser")
        browser.close()


if __name__ == "__main__":
    main()
