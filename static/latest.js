// <latest-comments>: the newest comments of a site

import { h, loadMessages, loadStylesheet, showRelativeTime } from "./common.js";
import { OtherElement } from "./lists.js";
/** @import { PageCounts } from "./types.d.ts" */

const stylesheet = loadStylesheet("elements.css");

export class LatestComments extends OtherElement {
  get asks() {
    return ["latest=yes", ...this.siteAsked];
  }

  /** @param {PageCounts} answer */
  async render({ latest }) {
    if (!latest?.length) return undefined;
    const messages = await loadMessages(this);
    await stylesheet;
    const shown = latest.slice(0, this.limit);
    const items = shown.map(({ author, excerpt, link, title, published }) => {
      const time = h("time.date", { dateTime: published });
      showRelativeTime(messages, time);
      const head = h("span.meta", {}, h("bdi.author", {}, author), time);
      const text = h("a", { href: link, dir: "auto" }, excerpt || "…");
      return h("li", {}, head, text, h("span.hint", { dir: "auto" }, title));
    });
    return h("ul.latest", {}, ...items);
  }
}

LatestComments.define("latest-comments", "site", "limit");
