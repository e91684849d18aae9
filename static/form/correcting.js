// The window in which a reader suggests a correction

import { h, loadMessages, loadStylesheet, storage } from "../common.js";
import { CommentForm } from "./form.js";

await loadStylesheet("form/correcting.css");

/** Ask what is to be corrected at `words` of the page of `element`; "" if none are selected. */
export async function correct(element, words) {
  const parts = ["", "-form", "-note"].map((part) => loadMessages(element, part));
  const [texts, more, note] = await Promise.all(parts);
  const messages = { ...texts, ...more };
  /** @type {any} what a form needs of a thread */
  const thread = { messages, url: element.url, host: element, all: () => new Map() };
  const dialog = h("dialog.dialog", { ariaLabel: note.correct });
  const close = () => dialog.close();
  const sent = (text) => {
    const button = h("button.button", { type: "button", onclick: close }, "OK");
    dialog.replaceChildren(h("p.status", { role: "status" }, text), button);
    button.focus();
  };
  const form = new CommentForm({ thread, title: note.correct, sent });
  const quote = words || storage.get(form.draft)?.quote;
  if (quote) {
    const field = h("input", { type: "hidden", name: "quote", value: quote });
    form.element.prepend(h("blockquote.quote", { dir: "auto" }, quote), field);
  }
  const cancel = h("button.link", { type: "button", onclick: close }, messages.cancel);
  form.sendButton.after(cancel);
  form.sendButton.textContent = note.send;
  dialog.append(form.element);
  dialog.addEventListener("close", () => dialog.remove());
  element.firstChild.append(dialog);
  dialog.showModal();
  form.element.message.focus();
}
