// The page's colours; keeps text readable on a blog that sets no colour for it: it would be black

import { h } from "../common.js";

/** Return the components of a CSS colour in sRGB from 0 to 1, and its opacity. */
export function srgb(probe, color) {
  probe.style.setProperty("color", `color(from ${color} srgb r g b / alpha)`, "important");
  const [red, green, blue, alpha = 1] = getComputedStyle(probe).color.match(/-?[\d.]+(?:e-?\d+)?/g).map(Number);
  return [red, green, blue, alpha];
}

/** Return the relative luminance of a colour (WCAG 2.2). */
export function luminance(color) {
  const [red, green, blue] = color.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Return the luminance of what is behind an element; the page's `Canvas` is behind all. */
export function behind(element, probe) {
  for (let node = element; node; node = node.parentElement) {
    const color = srgb(probe, getComputedStyle(node).backgroundColor);
    if (color[3] >= 0.5) return luminance(color);
  }
  return withProbe(document.documentElement, "i", (root) => luminance(srgb(root, "Canvas")));
}

/**
 * Call `use` now, and when the blog's colours may have changed, until `signal` is aborted. Older
 * browsers cannot compute with colours: there it is not called.
 */
export function watch(use, signal) {
  if (!CSS.supports("color", "color(from red srgb r g b)")) return;
  let frame = 0;
  const update = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      use();
    });
  };
  const observer = new MutationObserver(update);
  // A blog's theme switch changes an attribute, and colours may change after a transition
  for (const node of [document.documentElement, document.body]) {
    observer.observe(node, { attributes: true });
  }
  // Others change a stylesheet, which may have to be loaded
  observer.observe(document.head, { attributes: true, childList: true, characterData: true, subtree: true });
  document.head.addEventListener("load", update, { capture: true, signal });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update, { signal });
  document.addEventListener("transitionend", update, { signal });
  signal?.addEventListener("abort", () => observer.disconnect());
  use();
}

/** Return what `use` returns of an element that is in `element` for a moment. */
export function withProbe(element, tag, use) {
  const probe = h(tag, { href: "#" });
  probe.style.setProperty("transition", "none", "important");
  element.append(probe);
  const result = use(probe);
  probe.remove();
  return result;
}

/**
 * Make the text of `element` light while its background is dark, until `signal` is aborted; set a
 * missing line height.
 */
export function keepContrast(element, signal) {
  if (signal.aborted) return;
  if (getComputedStyle(element).lineHeight == "normal") element.style.lineHeight = "1.5";
  watch(() => {
    const isDark = withProbe(element, "i", (probe) => behind(element, probe)) < 0.13;
    element.style.color = isDark ? "#eee" : "";
  }, signal);
}
