// The reader's own comments: for a while they can be changed, and seen before approval

import { storage } from "../common.js";
import { addButtons } from "./own_buttons.js";

/** The own comments on the page `url`. */
export class OwnComments {
  #url;
  #byId = storage.get("own-comments") ?? {}; // the service's answers by id, of all pages
  #isRestored = false;
  #newest; // the last one sent since the page was opened
  #aboutMails; // what its author has to know about mails

  constructor(url) {
    this.#url = url;
  }

  /** Store the service's answer to a new comment; the text `aboutMails` is shown with it. */
  add(answer, aboutMails = "") {
    const { id } = answer.comment;
    this.#aboutMails = aboutMails;
    this.#newest = { ...this.#byId[id], ...answer, url: this.#url };
    this.#byId[id] = this.#newest;
    storage.set("own-comments", this.#byId);
  }

  /** Return the text that says what happens to the newest comment. */
  note(messages) {
    return [messages[this.#newest.status], this.#aboutMails].join(" ").trim();
  }

  /** Store comments that the reader wrote on other devices. */
  restore(answers) {
    for (const answer of answers) {
      const { id } = answer.comment;
      this.#byId[id] = { ...this.#byId[id], ...answer, url: this.#url };
    }
    storage.set("own-comments", this.#byId);
  }

  /** Return the answers to comments that wait for approval. */
  waiting() {
    const own = Object.values(this.#byId);
    return own.filter(({ status, url }) => status == "pending" && url == this.#url);
  }

  /** Store that a comment is published, with the text that it has now. */
  approve(comment) {
    Object.assign(this.#byId[comment.id], { comment, status: "approved" });
    storage.set("own-comments", this.#byId);
  }

  /** Remove a deleted comment. */
  remove(id) {
    delete this.#byId[id];
    storage.set("own-comments", this.#byId);
  }

  /** Add to the own comments of `thread` buttons to change them, and the feed of their replies. */
  addButtons(thread) {
    if (!this.#isRestored && storage.get("reader")) {
      this.#isRestored = true;
      const load = import("../reader/reader_token.js");
      load.then(({ loadComments }) => loadComments(thread)).catch(() => {});
    }
    addButtons(thread, Object.values(this.#byId));
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
        const note = own == this.#newest && this.note(messages);
        comments.set(id, { ...own.comment, ...comments.get(id), own, isWaiting, note });
      }
    }
  }
}
