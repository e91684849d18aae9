// <comment-search>: searches the comments of a site, or of the page `url`

import { get, h, loadMessages, loadStylesheet, reflect, takeProperties } from "./common.js";
import { excerptItem } from "./excerpt.js";

const stylesheets = ["comments.css", "elements.css"].map(loadStylesheet);

export class CommentSearch extends HTMLElement {
  static observedAttributes = ["url", "site", "lang"];

  static define() {
    reflect(this, { url: (value) => value ?? "", site: (value) => value ?? "" });
    customElements.define("comment-search", this);
  }

  #shown = ""; // the attributes for which there is a form

  constructor() {
    super();
    takeProperties(this);
  }

  async connectedCallback() {
    const attributes = [this.url, this.site, this.closest("[lang]")?.getAttribute("lang")].join(" ");
    if (this.#shown == attributes && this.firstChild) return;
    this.#shown = attributes;
    try {
      const parts = ["", "-tools"].map((part) => loadMessages(this, part));
      const [messages, tools] = await Promise.all(parts);
      await Promise.all(stylesheets);
      if (this.#shown == attributes) this.replaceChildren(this.#form({ ...messages, ...tools }));
    } catch {
      this.#shown = ""; // what the blog put into the element stays
    }
  }

  attributeChangedCallback() {
    if (this.isConnected) this.connectedCallback();
  }

  #form(messages) {
    const about = { ariaLabel: messages.search, placeholder: messages.search };
    const field = h("input.input", { type: "search", name: "q", maxLength: 100, required: true, ...about });
    const status = h("p.hint", { role: "status" });
    const list = h("ul.latest");
    const more = h("button.button", { type: "button", hidden: true }, messages.more);
    const form = h("form.search", { role: "search" }, field, h("button.button", {}, messages.find));
    let asked = 0;

    /** Show what the field's words find, or what follows the results that there are. */
    const search = async (words, before) => {
      const number = ++asked;
      const query = { q: words, url: this.url, site: this.site, lang: messages.tag, before };
      const given = Object.entries(query).filter(([, value]) => value);
      status.textContent = messages.loading;
      const answer = await get("search?" + new URLSearchParams(given)).catch(reasonOf);
      if (number != asked) return; // the reader searches for something else
      const { data = [], next, error } = answer ?? { error: messages.unread };
      const items = data.map((comment) => excerptItem(messages, comment));
      if (!before && !error) list.replaceChildren();
      list.append(...items);
      status.textContent = error ?? (list.firstChild || next ? "" : messages.nothing);
      more.hidden = !next;
      more.onclick = () => search(words, next);
      if (before) items[0]?.querySelector("a").focus();
    };

    form.onsubmit = (event) => {
      event.preventDefault();
      search(field.value);
    };
    return h("div.thread", {}, form, status, list, more);
  }
}

/** Return why the service refused to search, in the language of the page, if it says so. */
async function reasonOf(refusal) {
  const answer = await refusal.json?.().catch(() => {});
  return answer?.error && { error: answer.error.message };
}

CommentSearch.define();
