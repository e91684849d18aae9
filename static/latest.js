// <latest-comments>: the newest comments of a site

import { CommentCount } from "./count.js";
import { h, loadMessages, loadStylesheet, showRelativeTime } from "./common.js";
/** @import { PageCounts } from "./types.d.ts" */

const stylesheet = loadStylesheet("elements.css");

export class LatestComments extends CommentCount {
  get asks() {
    const site = this.getAttribute("site");
    return ["latest=yes", ...(site ? ["site=" + site] : [])];
  }

  /** @param {PageCounts} answer */
  async show({ latest }) {
    if (!latest.length) return;
    const messages = await loadMessages(this);
    await stylesheet;
    const shown = latest.slice(0, Number(this.getAttribute("limit") ?? 5));
    const items = shown.map(({ author, excerpt, link, title, published }) => {
      const time = h("time.date", { dateTime: published });
      showRelativeTime(messages, time);
      const head = h("span.meta", {}, h("bdi.author", {}, author), time);
      const text = h("a", { href: link, dir: "auto" }, excerpt || "…");
      return h("li", {}, head, text, h("span.hint", { dir: "auto" }, title));
    });
    this.replaceChildren(h("ul.latest", {}, ...items));
  }
}

customElements.define("latest-comments", LatestComments);
