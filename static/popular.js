// <popular-pages>: the pages of a site that got the most comments in a period

import { CommentCount } from "./count.js";
import { countText, h, loadMessages, loadStylesheet } from "./common.js";
/** @import { PageCounts } from "./types.d.ts" */

const stylesheet = loadStylesheet("elements.css");

export class PopularPages extends CommentCount {
  get period() {
    return this.getAttribute("period") || "month";
  }

  get asks() {
    const site = this.getAttribute("site");
    return ["popular=" + this.period, ...(site ? ["site=" + site] : [])];
  }

  /** @param {PageCounts} answer */
  async show({ popular }) {
    const pages = popular[this.period];
    if (!pages.length) return;
    const messages = await loadMessages(this);
    await stylesheet;
    const shown = pages.slice(0, Number(this.getAttribute("limit") ?? 5));
    const items = shown.map(({ link, title, count }) => {
      const page = h("a", { href: link, dir: "auto" }, title);
      return h("li", {}, page, " ", h("span.hint", {}, countText(messages, count)));
    });
    this.replaceChildren(h("ol.popular", {}, ...items));
  }
}

customElements.define("popular-pages", PopularPages);
