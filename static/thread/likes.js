// How often the page was liked and shared on other sites

import { h } from "../common.js";

/** Show it next to the heading of `thread`. */
export function showLikes(thread) {
  const heading = thread.host.querySelector(".commentsvc-heading");
  const { likes, reposts } = thread.page;
  const totals = [likes && `♥ ${likes}`, reposts && `↻ ${reposts}`].filter(Boolean).join(" ");
  heading.querySelector("span")?.remove();
  if (totals) heading.append(h("span", {}, ` ${totals}`));
}
