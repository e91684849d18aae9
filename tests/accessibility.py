"""Judge pages with axe, and save pictures of them for people to look at."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from axe_playwright_python.base import AXE_SCRIPT, AxeResults

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Also judge what WCAG 2.2 (2.5.8) says of the size of targets, which axe leaves out by itself.
TARGET_SIZES: Final[dict[str, object]] = {"rules": {"target-size": {"enabled": True}}}
# Where only the colours are others than in the page that was judged before.
CONTRAST: Final[dict[str, object]] = {"runOnly": ["color-contrast"]}
WIDTHS: Final = (360, 1280)  # of phones and desktops
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
FITS: Final = "document.documentElement.scrollWidth <= innerWidth"

# Text that is still fading in has too little contrast, also where another scheme was just chosen:
# the frames that follow may begin to fade, and scripts may change colours again. (A tab whose clock
# is stopped calls no requestAnimationFrame.) Only what is wrong is described and sent, which halves
# the time that axe takes.
RUN: Final = """async ([context, options]) => {
  const frame = () => new Promise((seen) => {
    const observer = new ResizeObserver(() => (observer.disconnect(), seen()));
    observer.observe(document.documentElement);
  });
  const ends = ({ playState, effect }) =>
    playState == "running" && effect.getComputedTiming().endTime < Infinity;
  for (let left = 20; left; left--) {
    await frame();
    await frame();
    const running = document.getAnimations().filter(ends);
    if (!running.length) break;
    await Promise.allSettled(running.map(({ finished }) => finished));
  }
  const { violations } = await axe.run(context, { ...options, resultTypes: ["violations"] });
  return { violations };
}"""
IS_THERE: Final = "typeof axe == 'object'"


def violations(
    page: "Page", options: dict[str, object] | None = None, context: dict[str, object] | None = None
) -> str:
    """Return what axe says against a page; "" if that is nothing.

    `options` and `context` are those of `axe.run`.
    """
    if not page.evaluate(IS_THERE):
        page.evaluate(AXE_SCRIPT)
    results = AxeResults(page.evaluate(RUN, [context or {"exclude": []}, options or {}]))
    return results.generate_report() if results.violations_count else ""


def assert_accessible(
    page: "Page",
    options: dict[str, object] | None = None,
    context: dict[str, object] | None = None,
) -> None:
    """Check that axe has nothing to say against a page that has loaded."""
    page.wait_for_load_state()
    found = violations(page, options, context)
    assert not found, found


def assert_fine(page: "Page", picture: Path, widths: Sequence[int] = WIDTHS) -> None:
    """Check a page in light and dark at each width: with axe, and that nothing is wider.

    A picture of each is saved beside `picture`.
    """
    for width in widths:
        page.set_viewport_size({"width": width, "height": 740})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            save_picture(page, picture.with_name(f"{picture.name}-{scheme}-{width}.png"))
            assert_accessible(page, CONTRAST if scheme == "dark" else TARGET_SIZES)
        assert page.evaluate(FITS), f"it is wider than {width} pixels"


def save_picture(page: "Page", path: Path) -> None:
    """Save a picture of the whole page, unless this is CI, where nobody looks at it."""
    if os.environ.get("CI") != "true":
        page.screenshot(path=path, full_page=True)
