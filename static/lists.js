// What <page-reactions>, <latest-comments>, <popular-pages> and <page-views> share

import { reflect, takeProperties } from "./common.js";
import { CommentCount } from "./count.js";

const readers = {
  by: (value) => (value?.toLowerCase() == "views" ? "views" : ""),
  count: (value) => (value ?? "false") != "false", // as frameworks write it
  limit: (value) => (/^\s*\d/.test(value) ? Math.min(parseInt(value), 10) : 5),
  period: (value) => ["day", "week", "year"].find((word) => word == value?.toLowerCase()) ?? "month",
  site: (value) => value ?? "",
};

/** An element that shows something else than a count of comments. */
export class OtherElement extends CommentCount {
  #fallback;

  /** Define the element `name`; its class has properties for `attributes`. */
  static define(name, ...attributes) {
    this.observedAttributes = [...CommentCount.observedAttributes, ...attributes];
    reflect(this, Object.fromEntries(attributes.map((each) => [each, readers[each]])));
    customElements.define(name, this);
  }

  constructor() {
    super();
    takeProperties(this);
  }

  get siteAsked() {
    return this.site ? ["site=" + encodeURIComponent(this.site)] : [];
  }

  /** Show what the element renders of an answer; if that is nothing, what the blog put into it. */
  async show(answer) {
    const { asks } = this;
    const content = await this.render(answer);
    if (String(asks) != String(this.asks)) return; // an attribute was changed
    const isOurs = (node) => /^commentsvc-/.test(node.className); // as in a copy that a router kept
    this.#fallback ??= [...this.childNodes].filter((node) => !isOurs(node));
    this.replaceChildren(...(content ? [content] : this.#fallback));
  }
}
