// <page-reactions>: what readers think of a page, in emoji

import { CommentCount } from "./count.js";
import { again, h, loadMessages, loadStylesheet, storage } from "./common.js";
/** @import { PageCounts } from "./types.d.ts" */

const stylesheet = loadStylesheet("elements.css");

export class PageReactions extends CommentCount {
  get asks() {
    return [...super.asks, "reactions=yes"];
  }

  /** @param {PageCounts} answer */
  async show({ reactions }) {
    const counts = Object.entries(reactions[this.url]);
    if (!counts.length) return;
    const names = await loadMessages(this, "-reactions");
    await stylesheet;
    const own = storage.get("reactions")?.[this.url];
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
      react(this, target.closest("button"));
    };
    this.replaceChildren(group);
  }
}

customElements.define("page-reactions", PageReactions);
