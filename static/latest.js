// <latest-comments>: the newest comments of a site

import { h, loadMessages, loadStylesheet } from "./common.js";
import { excerptItem } from "./excerpt.js";
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
    return h("ul.latest", {}, ...shown.map((comment) => excerptItem(messages, comment)));
  }
}

LatestComments.define("latest-comments", "site", "limit");
