// Keeps text readable on a blog that sets no colour for it: it would be black, also on a dark page

/** Return the lightness of a computed colour from 0 to 1; undefined if it is transparent. */
function lightness(color) {
  const [first, second, third, alpha = 1] = color.match(/[\d.]+/g).map(Number);
  if (alpha < 0.5) return undefined;
  if (!color.startsWith("rgb")) return first; // oklch() and oklab() begin with the lightness
  return (0.2126 * first + 0.7152 * second + 0.0722 * third) / 255;
}

/**
 * Make the text of `element` light while its background is dark, until `signal` is aborted; set a
 * missing line height.
 */
export function keepContrast(element, signal) {
  if (signal.aborted) return;
  if (getComputedStyle(element).lineHeight == "normal") element.style.lineHeight = "1.5";
  const system = matchMedia("(prefers-color-scheme: dark)");
  const observer = new MutationObserver(update);

  function update() {
    let behind;
    for (let node = element; node && behind === undefined; node = node.parentElement) {
      behind = lightness(getComputedStyle(node).backgroundColor);
    }
    element.style.color = behind < 0.4 ? "#eee" : "";
  }

  // A blog's theme switch changes an attribute, and colours may change after a transition
  for (const node of [document.documentElement, document.body]) {
    observer.observe(node, { attributes: true });
  }
  system.addEventListener("change", update, { signal });
  document.addEventListener("transitionend", update, { signal });
  signal.addEventListener("abort", () => observer.disconnect());
  update();
}
