// What is shown below the text between choosing a picture and inserting it

import { h } from "../common.js";
import { errorText } from "../send.js";
import { draw, upload } from "./uploading.js";
import "../rich.js"; // its styles

const THUMBNAIL = 160; // pixels

export class PicturePanel {
  #form;
  #texts;
  #file;
  #element = h("div.attachment", { role: "group", hidden: true });
  #alt = h("input.input", { dir: "auto", maxLength: 300, autocomplete: "off", required: true });
  #error = h("p.error", { role: "alert" });
  #insert = h("button.button", { type: "button", onclick: () => this.#use() });

  constructor(form, texts) {
    this.#form = form;
    this.#texts = texts;
    this.#element.ariaLabel = texts.add;
    this.#alt.onkeydown = (event) => this.#pressKey(event);
    form.element.message.closest(".commentsvc-field").after(this.#element);
    form.element.addEventListener("submit", (event) => this.#hold(event), true);
  }

  /** Ask for the description of a picture. */
  open(file) {
    const { alt, insert, cancel } = this.#texts;
    this.#file = file;
    this.#insert.textContent = insert;
    this.#alt.value = this.#error.textContent = "";
    const leave = h("button.link", { type: "button", onclick: () => this.#close() }, cancel);
    const buttons = h("div.actions", {}, this.#insert, leave);
    this.#element.replaceChildren(h("label", {}, alt, this.#alt), this.#error, buttons);
    this.#element.hidden = false;
    this.#alt.focus();
    this.#showPicture(file).catch(() => {}); // the service says what is wrong with it
  }

  async #showPicture(file) {
    const bitmap = await createImageBitmap(file);
    if (file == this.#file) this.#element.prepend(draw(bitmap, THUMBNAIL));
  }

  #close() {
    this.#element.hidden = true;
    this.#element.replaceChildren();
    this.#form.element.message.focus();
  }

  #pressKey(event) {
    if (event.key == "Escape") this.#close();
    else if (event.key != "Enter") return;
    else this.#use();
    event.preventDefault();
    event.stopPropagation();
  }

  /** Insert the picture before the comment is sent. */
  async #hold(event) {
    if (this.#element.hidden) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (await this.#use()) this.#form.element.requestSubmit();
  }

  async #use() {
    if (this.#insert.disabled || !this.#alt.reportValidity()) return false;
    this.#insert.disabled = true;
    this.#insert.textContent = this.#texts.sending;
    try {
      const insert = await upload(this.#form, this.#file, this.#alt.value.trim());
      this.#close();
      insert();
      return true;
    } catch (failure) {
      this.#error.textContent = errorText(this.#texts, failure);
      this.#insert.textContent = this.#texts.insert;
      this.#alt.focus();
    } finally {
      this.#insert.disabled = false;
    }
  }
}
