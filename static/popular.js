// <popular-pages>: the pages of a site with the most comments in a period, or the most views

import { CommentCount } from "./count.js";
import { countText, h, loadMessages, loadStylesheet } from "./common.js";
/** @import { PageCounts } from "./types.d.ts" */

const stylesheet = loadStylesheet("elements.css");

export class PopularPages extends CommentCount {
  get period() {
    return this.getAttribute("period") || "month";
  }

  get byViews() {
    return this.getAttribute("by") == "views";
  }

  get asks() {
    const site = this.getAttribute("site");
    const pages = this.byViews ? "viewed=yes" : "popular=" + this.period;
    return [pages, ...(site ? ["site=" + site] : [])];
  }

  /** @param {PageCounts} answer */
  async show({ popular, viewed }) {
    const pages = this.byViews ? viewed : popular[this.period];
    if (!pages.length) return;
    const messages = await loadMessages(this, this.byViews ? "-views" : "");
    await stylesheet;
    const shown = pages.slice(0, Number(this.getAttribute("limit") ?? 5));
    const items = shown.map(({ link, title, count, views }) => {
      const page = h("a", { href: link, dir: "auto" }, title);
      return h("li", {}, page, " ", h("span.hint", {}, countText(messages, count ?? views)));
    });
    this.replaceChildren(h("ol.popular", {}, ...items));
  }
}

customElements.define("popular-pages", PopularPages);
