// <popular-pages>: the pages of a site with the most comments in a period, or the most views

import { countText, h, loadMessages, loadStylesheet } from "./common.js";
import { OtherElement } from "./lists.js";
/** @import { PageCounts } from "./types.d.ts" */

const stylesheet = loadStylesheet("elements.css");

export class PopularPages extends OtherElement {
  get asks() {
    const pages = this.by ? "viewed=yes" : "popular=" + this.period;
    return [pages, ...this.siteAsked];
  }

  /** @param {PageCounts} answer */
  async render({ popular, viewed }) {
    const pages = this.by ? viewed : popular?.[this.period];
    if (!pages?.length) return undefined;
    const messages = await loadMessages(this, this.by ? "-views" : "");
    await stylesheet;
    const shown = pages.slice(0, this.limit);
    const items = shown.map(({ link, title, count, views }) => {
      const page = h("a", { href: link, dir: "auto" }, title);
      return h("li", {}, page, " ", h("span.hint", {}, countText(messages, count ?? views)));
    });
    return h("ol.popular", {}, ...items);
  }
}

PopularPages.define("popular-pages", "site", "limit", "period", "by");
