// A comment in a list of <latest-comments> or <comment-search>: its beginning, which leads to it

import { h, showRelativeTime } from "./common.js";

export function excerptItem(messages, { author, excerpt, link, title, published }) {
  const time = h("time.date", { dateTime: published });
  showRelativeTime(messages, time);
  const head = h("span.meta", {}, h("bdi.author", {}, author), time);
  const text = h("a", { href: link, dir: "auto" }, excerpt || "…");
  return h("li", {}, head, text, h("span.hint", { dir: "auto" }, title));
}
