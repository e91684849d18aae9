// The accent: the colour of the blog's links. Check boxes are light or dark as the page is

import { h } from "../common.js";

/**
 * Return the relative luminance of a CSS colour (WCAG 2.2), which `probe` gets; NaN if it is not
 * opaque, or the browser cannot compute with colours.
 */
function luminance(probe, color) {
  const computed = `color(from ${color} xyz y y y / alpha)`;
  if (!CSS.supports("color", computed)) return NaN;
  probe.style = `transition: none; color: ${computed} !important`;
  const [, light, , , slash] = getComputedStyle(probe).color.split(" ");
  return slash ? NaN : +light;
}

/**
 * Give a thread the colour of the blog's links as its accent, where that was chosen and can be read:
 * on #f0f0f0 below dark text, on #2c2c2c below light text.
 */
export function followLinks({ style, firstChild: thread }) {
  style.removeProperty("--commentsvc-accent");
  style.removeProperty("--commentsvc-on-accent");
  const probe = h("a", { href: "#" });
  thread.append(probe);
  const own = getComputedStyle(probe);
  const { color } = own;
  const accent = own.getPropertyValue("--commentsvc-accent");
  const [link, text, usual] = [color, "currentColor", "LinkText"].map((each) => luminance(probe, each));
  probe.remove();
  if (isNaN(text)) return;
  const isDark = text > 0.3;
  thread.style.colorScheme = isDark ? "dark" : "light";
  const isRead = isDark ? link > 0.29 : link < 0.155;
  if (isRead && link != text && link != usual && accent.includes("currentColor")) {
    style.setProperty("--commentsvc-accent", color);
    style.setProperty("--commentsvc-on-accent", isDark ? "#000" : "#fff");
  }
}
