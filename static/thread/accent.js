// The accent: the colour of the blog's links. Check boxes are light or dark as the page is

import { behind, luminance, srgb, watch, withProbe } from "./contrast.js";

const hosts = new Set();
let isWatching = false;

const contrast = (one, other) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);

/** Give a thread the colour of the blog's links as its accent, where that can be read. */
export function followLinks(host) {
  hosts.add(host);
  if (isWatching) return update(host);
  isWatching = true;
  watch(() => hosts.forEach(update));
}

function update(host) {
  const thread = host.querySelector(".commentsvc-thread");
  if (!host.isConnected || !thread) return hosts.delete(host);
  const background = withProbe(thread, "i", (probe) => behind(thread, probe));
  thread.style.colorScheme = background > 0.179 ? "light" : "dark";
  const { style } = host;
  style.removeProperty("--commentsvc-accent");
  style.removeProperty("--commentsvc-on-accent");
  // The blog has chosen an accent itself
  if (!getComputedStyle(thread).getPropertyValue("--commentsvc-accent").includes("currentColor")) return;
  const link = withProbe(thread, "a", (probe) => getComputedStyle(probe).color);
  const text = getComputedStyle(thread).color;
  withProbe(thread, "i", (probe) => {
    const color = srgb(probe, link);
    // Neither a browser's blue nor the colour of texts was chosen for links
    const isChosen = ["LinkText", text].every((other) => String(srgb(probe, other)) != String(color));
    const light = luminance(color);
    if (!isChosen || color[3] < 1 || contrast(light, background) < 4.5) return;
    style.setProperty("--commentsvc-accent", link);
    style.setProperty("--commentsvc-on-accent", light > 0.179 ? "#000" : "#fff");
  });
}
