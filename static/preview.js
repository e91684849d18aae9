// The preview of what is being written, kept in step with it

import { h, setHTML } from "./common.js";
import { explain } from "./sending.js";
import { send } from "./send.js";

const PAUSE_MS = 700; // without a key, before the preview follows

export class Preview {
  #element = h("div.preview", { role: "status", dir: "auto" });
  #form;
  #button;
  #timer;
  #isOpen = false;

  constructor(form, button) {
    this.#form = form;
    this.#button = button;
    form.error.before(this.#element);
  }

  /** Show what the text will look like, or no longer. */
  async toggle() {
    this.#isOpen = !this.#isOpen;
    await this.#show();
  }

  /** The text has changed. */
  update() {
    clearTimeout(this.#timer);
    if (!this.#form.element.message.value.trim()) this.#isOpen = false;
    if (this.#isOpen) this.#timer = setTimeout(() => this.#show(), PAUSE_MS);
    else this.#show();
  }

  async #show() {
    const message = this.#form.element.message.value;
    let html = "";
    try {
      if (this.#isOpen) ({ html } = await send("POST", "preview", { message }));
    } catch (failure) {
      this.#isOpen = false;
      explain(this.#form, failure);
    }
    setHTML(this.#element, html);
    this.#button.ariaExpanded = String(this.#isOpen);
  }
}
