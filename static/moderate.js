// Links to the moderation pages, for a browser that has come from there to the blog

import { base, h, storage } from "./common.js";

/** Show the links from now on, in this browser; `thread.target` says so, and then no more. */
export function begin(thread) {
  storage.set("moderator", true);
  thread.target = thread.target.split("?")[0];
  history.replaceState(null, "", "#" + thread.target);
  addLinks(thread);
}

/** Add a link to each comment of `thread` that has none. The pages ask who comes, not this. */
export function addLinks(thread) {
  for (const actions of thread.querySelectorAll("article > .commentsvc-actions")) {
    if (actions.querySelector("[href]")) continue;
    const { commentId } = actions.closest(".commentsvc-comment");
    const href = `${base}moderation/comment?id=${commentId}#answer`;
    actions.append(h("a.link", { href, rel: "noopener" }, thread.messages.moderate));
  }
}
