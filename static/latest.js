// <latest-comments>: the newest comments of a site

import { h, loadMessages, loadStylesheet, storage } from "./common.js";
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
    const muted = [storage.get("muted") ?? []].flat();
    const shown = (latest ?? []).filter(({ author }) => !muted.includes(author)).slice(0, this.limit);
    if (!shown.length) return undefined;
    const messages = await loadMessages(this);
    await stylesheet;
    return h("ul.latest", {}, ...shown.map((comment) => excerptItem(messages, comment)));
  }
}

LatestComments.define("latest-comments", "site", "limit");
