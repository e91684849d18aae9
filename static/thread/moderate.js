// Links to the moderation pages, for a browser that once followed a link from there to the blog

import { base, h, loadMessages, storage } from "../common.js";

/** Show the links in this browser from now on; remove that request from `thread.target`. */
export function begin(thread) {
  storage.set("moderator", true);
  storage.set("extras", true);
  thread.target = thread.target.split("?")[0];
  history.replaceState(null, "", location.href.split("#")[0] + "#" + thread.target);
  addLinks(thread);
}

/** Add a link to each comment of `thread` that has none. The moderation pages check the access. */
export async function addLinks(thread) {
  const texts = await loadMessages(thread.host, "-form");
  for (const actions of thread.host.querySelectorAll("article > .commentsvc-actions")) {
    if (actions.querySelector("[href]")) continue;
    const { commentId } = actions.closest(".commentsvc-comment");
    const href = `${base}moderation/comment?id=${commentId}#answer`;
    actions.append(h("a.link", { href, rel: "noopener" }, texts.moderate));
  }
}
