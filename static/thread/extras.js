// What few threads have, each time that they are drawn

import { storage } from "../common.js";
import { linkHere } from "../rich.js";

/**
 * Let the owner's badge have the colour of links; show likes, reactions, links to the moderation
 * pages, and buttons for texts that are `cut` since they are long; mend links on a page with a base
 * address.
 */
export function showExtras(thread, cut) {
  const { likes, reposts, emoji } = thread.page;
  if (likes || reposts) import("./likes.js").then(({ showLikes }) => showLikes(thread));
  if (emoji) import("./comment_reactions.js").then(({ showReactions }) => showReactions(thread));
  if (storage.get("moderator")) import("./moderator_token.js").then(({ addLinks }) => addLinks(thread));
  if (storage.get("muted")) import("./muting.js").then(({ foldMuted }) => foldMuted(thread));
  if (cut.length) {
    const uncut = () => cut.forEach((body) => (body.style.maxHeight = "none"));
    import("./folding.js").then(({ foldLong }) => foldLong(thread, cut), uncut);
  }
  if (thread.host.querySelector(".commentsvc-owner")) {
    import("./accent.js"); // which the next one imports
    import("./contrast.js").then(({ keepAccent }) => keepAccent(thread.host));
  }
  linkHere(thread.host);
}
