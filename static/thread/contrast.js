// Follows changes of the page's colours; keeps text readable on a blog that sets no colour for it

import { h } from "../common.js";

const hosts = new Set();
let isWatching = false;

/** Return the luminance of what is behind an element (WCAG 2.2); the page's `Canvas` is behind all. */
function behind(element) {
  const colors = [];
  for (let node = element; node; node = node.parentElement) colors.push(getComputedStyle(node).backgroundColor);
  // One that is hardly opaque hides nothing
  const shown = colors.find((color) => !/[,/] 0(\.[0-4]\d*)?\)$/.test(color)) ?? "Canvas";
  const probe = h("i");
  probe.style.setProperty("color", `color(from ${shown} xyz y y y)`, "important");
  document.documentElement.append(probe);
  const light = getComputedStyle(probe).color.split(" ")[1];
  probe.remove();
  return Number(light);
}

/** Let the accent of a thread follow the blog's links for good. */
export async function keepAccent(host) {
  const { followLinks } = await import("./accent.js");
  followLinks(host);
  hosts.add(host);
  if (isWatching) return;
  isWatching = true;
  watch(() => {
    for (const each of hosts) each.querySelector(":scope > .commentsvc-thread") ? followLinks(each) : hosts.delete(each);
  });
}

/** Call `use` when the blog's colours may have changed, until `signal` is aborted. */
function watch(use, signal) {
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
}

/**
 * Make the text of `element` light while its background is dark, until `signal` is aborted; set a
 * missing line height.
 */
export function keepContrast(element, signal) {
  if (signal.aborted) return;
  if (getComputedStyle(element).lineHeight == "normal") element.style.lineHeight = "1.5";
  if (!CSS.supports("color", "color(from red xyz y y y)")) return;
  const update = () => (element.style.color = behind(element) < 0.13 ? "#eee" : "");
  update();
  watch(update, signal);
}
