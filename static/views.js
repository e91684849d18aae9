// <page-views>: how often a page was viewed; with `count`, this is one more view

import { CommentCount } from "./count.js";
import { base, countText, loadMessages } from "./common.js";
/** @import { PageCounts } from "./types.d.ts" */

let counted = "";

async function countView(url) {
  if (url == counted) return; // an element that was moved, or replaced
  counted = url;
  if (document.prerendering) {
    await new Promise((seen) => document.addEventListener("prerenderingchange", seen));
  }
  const options = { method: "POST", keepalive: true };
  fetch(base + "api/views?url=" + encodeURIComponent(url), options).catch(() => {});
}

export class PageViews extends CommentCount {
  get asks() {
    return [...super.asks, "views=yes"];
  }

  connectedCallback() {
    super.connectedCallback();
    if (this.hasAttribute("count")) countView(this.url);
  }

  /** @param {PageCounts} answer */
  async show({ views }) {
    const number = views[this.url];
    if (number == null) return;
    this.text = countText(await loadMessages(this, "-views"), number);
  }
}

customElements.define("page-views", PageViews);
