// <page-reactions>: what readers think of a page, in emoji

import { again, h, loadMessages, loadStylesheet, storage } from "./common.js";
import { OtherElement } from "./lists.js";
/** @import { PageCounts } from "./types.d.ts" */

const stylesheet = loadStylesheet("elements.css");

export class PageReactions extends OtherElement {
  get asks() {
    return [...super.asks, "reactions=yes"];
  }

  /** @param {PageCounts} answer */
  async render({ reactions }) {
    const { url } = this;
    const counts = Object.entries(reactions?.[url] ?? {});
    if (!counts.length) return undefined;
    const names = await loadMessages(this, "-reactions");
    await stylesheet;
    const own = storage.get("reactions")?.[url];
    const buttons = counts.map(([value, count]) => {
      const title = names[value] ?? value;
      const emoji = h("span", { role: "img", ariaLabel: title }, value);
      const ariaPressed = String(!!own?.includes(value));
      const properties = { type: "button", value, title, ariaPressed };
      return h("button.reaction", properties, emoji, h("span", {}, count || ""));
    });
    const group = h("div.reactions", { role: "group", ariaLabel: names.label }, ...buttons);
    group.onclick = async ({ target }) => {
      const { react } = await import("./reacting.js").catch(again("reacting"));
      react(this, url, target.closest("button"));
    };
    return group;
  }
}

PageReactions.define("page-reactions");
