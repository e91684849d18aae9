// <comment-corrections>: readers suggest corrections of the article in which it stands

import { again, h, loadMessages, loadStylesheet, reflect, takeProperties } from "./common.js";

const stylesheets = ["comments.css", "elements.css"].map(loadStylesheet);
const QUOTE_LENGTH = 500; // characters, as in the service
const PAUSE_MS = 300; // a touch of the button ends the selection before it is a click

export class CommentCorrections extends HTMLElement {
  static observedAttributes = ["url", "lang"];

  static define() {
    reflect(this, { url: (value) => value ?? location.pathname });
    customElements.define("comment-corrections", this);
  }

  #leaving; // stops to watch the selection
  #words = ""; // that are selected
  #timer;
  #error = h("p.error", { role: "alert" });

  constructor() {
    super();
    takeProperties(this);
  }

  async connectedCallback() {
    this.disconnectedCallback();
    const { signal } = (this.#leaving = new AbortController());
    try {
      const texts = await loadMessages(this, "-note");
      await Promise.all(stylesheets);
      if (signal.aborted) return;
      const button = (kind, more) => {
        const onclick = () => this.#open();
        const onmousedown = (event) => event.preventDefault(); // keeps the selection
        return h(kind, { type: "button", onclick, onmousedown, ...more }, texts.correct);
      };
      // The first is for the keyboard and screen readers; it takes selected words as the second does
      const atWords = button("button.button commentsvc-at-words", { tabIndex: -1, ariaHidden: "true", hidden: true });
      this.replaceChildren(h("div.thread", {}, button("button.link"), atWords, this.#error));
      document.addEventListener("selectionchange", () => this.#watch(atWords), { signal });
    } catch {} // what the blog put into the element stays
  }

  disconnectedCallback() {
    this.#leaving?.abort();
  }

  attributeChangedCallback() {
    if (this.isConnected) this.connectedCallback();
  }

  #watch(button) {
    clearTimeout(this.#timer);
    const selection = getSelection();
    const article = this.parentElement.closest("article, main, body");
    const isOurs = (node) =>
      article.contains(node) && !(node.closest ? node : node.parentElement).closest("comment-thread, comment-corrections");
    const words = selection.toString().trim();
    if (words && isOurs(selection.anchorNode) && isOurs(selection.focusNode)) {
      this.#words = words.slice(0, QUOTE_LENGTH);
      showBelow(button, [...selection.getRangeAt(0).getClientRects()].at(-1));
    } else {
      this.#timer = setTimeout(() => {
        this.#words = "";
        button.hidden = true;
      }, PAUSE_MS);
    }
  }

  async #open() {
    const words = this.#words;
    this.#error.textContent = "";
    try {
      const { correct } = await import("./form/correcting.js").catch(again("form/correcting"));
      await correct(this, words);
    } catch {
      const messages = await loadMessages(this).catch(() => ({}));
      this.#error.textContent = messages.unreached ?? "";
    }
  }
}

/** Show the button below the end of the selected words. */
function showBelow(button, words) {
  if (!words) return;
  button.hidden = false;
  const { left, top, width } = (button.offsetParent ?? document.documentElement).getBoundingClientRect();
  const most = Math.max(0, width - button.offsetWidth);
  button.style.left = Math.min(Math.max(0, words.right - left - button.offsetWidth / 2), most) + "px";
  button.style.top = words.bottom - top + 6 + "px";
}

CommentCorrections.define();
