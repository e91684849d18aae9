// What only some comments have: code, tables, formulas, lists, footnotes, mentions, pictures

import { loadStylesheet } from "./common.js";

loadStylesheet("rich.css");

/** Make wide parts of a comment scroll by keys, and mentions of comments on later pages work. */
export function enrich(body, thread) {
  for (const wide of body.querySelectorAll("pre, table, math[display]")) wide.tabIndex = 0;
  body.addEventListener("click", ({ target }) => follow(thread, target));
}

function follow(thread, target) {
  const [, id] = /^#(commentsvc-\d+)$/.exec(target.closest("a")?.getAttribute("href")) ?? [];
  if (!id || document.getElementById(id)) return;
  thread.target = id;
  thread.seek();
}
