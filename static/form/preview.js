// The preview of a comment, updated while its author types

import { again, h, setHTML } from "../common.js";
import { explain } from "./refusal.js";
import { enrich } from "../rich.js";
import { send } from "../send.js";

const PAUSE_MS = 700; // without typing, before the preview is updated

export class Preview {
  #element = h("div.preview commentsvc-body", { role: "status", dir: "auto" });
  #form;
  #button;
  #timer;
  #isOpen = false;

  constructor(form, button) {
    this.#form = form;
    this.#button = button;
    form.element.message.closest(".commentsvc-field").after(this.#element);
  }

  /** Show or hide the preview. */
  async toggle() {
    this.#isOpen = !this.#isOpen;
    await this.#show();
  }

  /** Update the preview after a change of the text. */
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
      const path = "preview?" + new URLSearchParams({ url: this.#form.about.url });
      if (this.#isOpen) ({ html } = await send("POST", path, { message }));
    } catch (failure) {
      this.#isOpen = false;
      explain(this.#form, failure);
    }
    const { pictures } = this.#form.element;
    const load = () => import("../pictures/uploading.js").catch(again("pictures/uploading"));
    const uploading = pictures?.size && (await load());
    enrich(setHTML(this.#element, html), this.#form.about.thread);
    if (uploading) uploading.showPictures(this.#element, pictures);
    this.#button.ariaExpanded = String(this.#isOpen);
  }
}
