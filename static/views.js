// <page-views>: how often a page was viewed; with `count`, this is one more view

import { base, countText, loadMessages } from "./common.js";
import { OtherElement } from "./lists.js";
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

export class PageViews extends OtherElement {
  #fallback;

  get asks() {
    return [...super.asks, "views=yes"];
  }

  connectedCallback() {
    super.connectedCallback();
    if (this.count) countView(this.url);
  }

  /** @param {PageCounts} answer */
  async show({ views }) {
    const { asks } = this;
    const number = views?.[this.url];
    const messages = await loadMessages(this, "-views");
    if (String(asks) != String(this.asks)) return; // an attribute was changed
    this.#fallback ??= this.textContent;
    if (number) this.text = countText(messages, number);
    else if (this.textContent != this.#fallback) this.text = this.#fallback;
  }
}

PageViews.define("page-views", "count");
