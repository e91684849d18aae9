// The reader's own comments: for a while they can be changed, and seen before approval

import { actionButton, base, FEED, h, icon, storage } from "./common.js";

const ICONS = {
  edit: "M3 13l.7-3L10.5 3.2a1.3 1.3 0 0 1 2 0l.3.3a1.3 1.3 0 0 1 0 2L6 12.3z",
  delete: "M3 4.5h10M6.5 4V2.5h3V4M4.5 4.5l.5 9h6l.5-9M7 7v4M9 7v4",
};

/** The own comments on the page `url`. */
export class OwnComments {
  #url;
  #byId = storage.get("own-comments") ?? {}; // the service's answers by id, of all pages
  #isRestored = false;
  #newest; // the last one sent since the page was opened

  constructor(url) {
    this.#url = url;
  }

  /** Store the service's answer to a new comment. */
  add(answer) {
    const { id } = answer.comment;
    this.#newest = { ...this.#byId[id], ...answer, url: this.#url };
    this.#byId[id] = this.#newest;
    storage.set("own-comments", this.#byId);
  }

  /** Store comments that the reader wrote on other devices. */
  restore(answers) {
    for (const answer of answers) {
      const { id } = answer.comment;
      this.#byId[id] = { ...this.#byId[id], ...answer, url: this.#url };
    }
    storage.set("own-comments", this.#byId);
  }

  /** Remove a deleted comment. */
  remove(id) {
    delete this.#byId[id];
    storage.set("own-comments", this.#byId);
  }

  /** Add to the own comments of `thread` buttons to change them, and the feed of their replies. */
  addButtons(thread) {
    const { tree, messages } = thread;
    if (!this.#isRestored && storage.get("reader")) {
      this.#isRestored = true;
      import("./reader_token.js").then(({ loadComments }) => loadComments(thread)).catch(() => {});
    }
    for (const { comment, token, replies_feed: feed } of Object.values(this.#byId)) {
      const actions = tree.find(comment.id)?.querySelector("article > .commentsvc-actions");
      if (!actions || actions.querySelector("[name=edit], a")) continue;
      for (const name in token ? ICONS : {}) {
        actions.append(actionButton(name, ICONS[name], messages[name]));
      }
      const title = `${messages.replies}: ${messages.feed}`;
      if (feed) actions.append(h("a.link", { href: base + feed, title }, icon(FEED)));
    }
  }

  /**
   * Add the own comments to `comments`, a Map by id. `own` is the service's answer to one,
   * `isWaiting` says that others do not see it yet, `note` thanks for the newest one.
   */
  addTo(comments, messages) {
    for (const own of Object.values(this.#byId)) {
      const { id } = own.comment;
      if (own != this.#newest && new Date(own.token_expires) < new Date()) {
        delete this.#byId[id];
      } else if (own.url == this.#url) {
        const isShown = comments.has(id) && own != this.#newest; // it was approved meanwhile
        const isWaiting = own.status == "pending" && !isShown;
        const note = own == this.#newest && messages[own.status];
        comments.set(id, { ...own.comment, ...comments.get(id), own, isWaiting, note });
      }
    }
  }
}
