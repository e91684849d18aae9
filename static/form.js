// The form to write a comment

import { get } from "./api.js";
import { h, loadStylesheet, setHTML } from "./dom.js";
import { solve } from "./proof_of_work.js";
import { errorText, send } from "./send.js";
import { storage } from "./storage.js";

const PATIENCE_MS = 1500; // a comment waits no longer for its proof of work
const FEW = 200; // characters: when no more are left, their number is shown

const FIELDS = {
  message: { required: true },
  author: { required: true, autocomplete: "name" },
  email: { type: "email", autocomplete: "email" },
  site: { type: "url", autocomplete: "url" },
  remember: { type: "checkbox" },
  notify: { type: "checkbox" },
};

await loadStylesheet("form.css");

/** Return a random text to name a comment, or a voter. */
export const randomId = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

/** Put the form of a new comment in the place of `box`, a text field; see CommentForm. */
export function replaceBox(box, about) {
  if (!box.isConnected) return; // it has been replaced
  const { messages, typed } = about;
  const isFocused = document.activeElement == box;
  const values = { ...typed, message: box.value };
  const { element } = new CommentForm({ ...about, title: messages.write, typed: values });
  box.replaceWith(element);
  if (isFocused) element[typed.focused ?? "message"].focus();
}

export class CommentForm {
  element = h("form.form");
  #about;
  #draft; // the name under which the text is stored until the service has it
  #key; // names the comment, so that one that is sent twice is stored once
  #token = {}; // which the service gives each form
  #proof; // the promise of the token with its work done

  #sendButton = h("button.button");
  #preview = h("div.preview", { role: "status", dir: "auto" });
  #charactersLeft = h("small");
  #error = h("p.error", { role: "alert" });

  /**
   * `about` is { messages, url, title, parent?, own?, typed? }: a form for the page `url`, to reply
   * to the comment `parent`, or to change it, if it is `own`. `typed` are values of its fields.
   */
  constructor(about) {
    this.#about = about;
    const { messages, url, title, parent, own, typed = {} } = about;
    this.#draft = url + "#" + (own ? "=" : "") + (parent?.id ?? "");
    const kept = storage.get(this.#draft) ?? (own ? { message: parent.content } : {});
    this.#key = kept.key;
    const messageTexts = new Set([kept.message, typed.message]);
    const message = [...messageTexts].filter(Boolean).join("\n\n");
    const values = { ...storage.get("writer"), ...kept, ...typed, message };
    this.element.append(h("h3", {}, title));
    for (const name of own ? ["message"] : Object.keys(FIELDS)) this.#addField(name, values[name]);
    if (!own) this.#addHints();
    this.#addButtons();
    if (typed.message) this.#keep();
    this.element.addEventListener("focusin", () => this.#begin());
    this.element.addEventListener("input", ({ target }) => this.#change(target));
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
  }

  #addField(name, value = "") {
    const text = this.#about.messages[name];
    const properties = { name, value, dir: "auto", ...FIELDS[name] };
    if (properties.type == "checkbox") {
      this.element.append(h("label", {}, h("input", properties), " ", text));
    } else {
      const tag = name == "message" ? "textarea.input" : "input.input";
      this.element.append(h("label.field", {}, text, " ", h(tag, properties)));
    }
  }

  #addHints() {
    const { remember, notify } = this.element;
    remember.checked = storage.get("writer");
    notify.parentNode.hidden = true; // until the service says that it sends mails
    const trap = h("input", { name: "subject", hidden: true }); // for bots
    this.element.append(trap, h("p.hint", {}, this.#about.messages.hint));
  }

  #addButtons() {
    const { messages, parent, own } = this.#about;
    this.#sendButton.textContent = messages[own ? "save" : "send"];
    const onclick = () => this.#showPreview();
    const preview = h("button.link", { type: "button", onclick }, messages.preview);
    const cancel = parent ? h("button.link", { type: "reset" }, messages.cancel) : "";
    const buttons = h("div.actions", {}, this.#sendButton, preview, cancel);
    this.element.append(this.#charactersLeft, this.#preview, this.#error, buttons);
  }

  /** Store the text; return all fields. */
  #keep() {
    const fields = Object.fromEntries(new FormData(this.element));
    storage.set(this.#draft, { ...fields, key: this.#key });
    return fields;
  }

  #change(field) {
    field.ariaInvalid = false;
    this.#preview.textContent = "";
    this.#countCharacters();
    this.#keep();
  }

  #countCharacters() {
    const left = this.#token.length - this.element.message.value.length;
    const text = left < FEW ? this.#about.messages.left.replace("#", left) : "";
    this.#charactersLeft.textContent = text;
  }

  /** Ask for a token and do its work, once for each comment; return when it is done or failed. */
  #begin() {
    this.#proof ??= this.#about.own ? Promise.resolve() : this.#prove().catch(() => {});
    return this.#proof;
  }

  async #prove() {
    const token = await get("form-token?" + new URLSearchParams({ url: this.#about.url }));
    this.#token = token;
    this.element.notify.parentNode.hidden = !token.notify;
    this.#countCharacters();
    token.solution = token.proof_of_work && (await solve(token.proof_of_work));
  }

  async #showPreview() {
    const { message } = this.element;
    if (!message.reportValidity()) return;
    try {
      const { html } = await send("POST", "preview", { message: message.value });
      setHTML(this.#preview, html);
    } catch (failure) {
      this.#explain(failure);
    }
  }

  /** Send the comment. When the service has it, the form is empty and says `comment-submitted`. */
  async #send() {
    if (this.element.message.readOnly) return; // it is on its way
    this.#key ||= randomId();
    const fields = this.#keep();
    const label = this.#sendButton.textContent;
    this.element.message.readOnly = true;
    this.#sendButton.textContent = this.#about.messages.sending;
    this.#error.textContent = "";
    let detail;
    try {
      detail = await this.#post(fields);
    } catch (failure) {
      this.#explain(failure);
    }
    this.element.message.readOnly = false;
    this.#sendButton.textContent = label;
    if (detail) this.#finish(fields, detail);
  }

  async #post({ remember, ...fields }) {
    const { messages, url, parent, own } = this.#about;
    const language = "?lang=" + messages.tag;
    if (own) {
      const path = `comments/${parent.id}${language}`;
      return send("PATCH", path, { message: fields.message }, own.token);
    }
    await Promise.race([this.#begin(), new Promise((done) => setTimeout(done, PATIENCE_MS))]);
    const body = {
      ...fields,
      key: this.#key,
      url,
      parent: parent?.id,
      title: document.title,
      notify: this.element.notify.checked,
      form_token: this.#token.form_token,
      proof_of_work: this.#token.solution,
    };
    return send("POST", "comments" + language, body);
  }

  #finish({ author, email, site, remember }, detail) {
    const writer = remember ? { author, email, site } : undefined;
    if (!this.#about.own) storage.set("writer", writer);
    storage.set(this.#draft, undefined);
    this.#key = this.#proof = undefined;
    this.element.message.value = "";
    this.element.dispatchEvent(new CustomEvent("comment-submitted", { bubbles: true, detail }));
  }

  #explain(failure) {
    const { messages } = this.#about;
    const isOtherText = failure.status == 409; // the service has another text by this key
    if (isOtherText) this.#key = undefined;
    this.#proof = undefined;
    const text = isOtherText ? messages.twice : errorText(messages, failure);
    this.#error.textContent = text + " " + messages.kept;
    for (const field of this.element.elements) {
      field.ariaInvalid = field.name in (failure.fields ?? {});
    }
    this.element.querySelector("[aria-invalid=true]")?.focus();
  }
}
