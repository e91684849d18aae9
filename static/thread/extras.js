// What few threads have, each time that they are drawn

import { storage } from "../common.js";
import { linkHere } from "../rich.js";

/** Show likes and links to the moderation pages; mend links on a page with a base address. */
export function showExtras(thread) {
  const { likes, reposts } = thread.page;
  if (likes || reposts) import("./likes.js").then(({ showLikes }) => showLikes(thread));
  if (storage.get("moderator")) import("./moderate.js").then(({ addLinks }) => addLinks(thread));
  linkHere(thread.host);
}
