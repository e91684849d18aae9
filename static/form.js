// The form to write a comment

import { get } from "./api.js";
import { h, loadStylesheet, setHTML, storage } from "./browser.js";
import { solve } from "./proof_of_work.js";
import { errorText, randomId, send } from "./send.js";

const PATIENCE_MS = 1500; // a comment waits no longer for its proof of work
const FEW = 200; // characters: when no more are left, their number is shown

// Who writes; hidden while that is known
const IDENTITY = {
  author: { required: true, autocomplete: "name" },
  email: { type: "email", autocomplete: "email" },
  site: { type: "url", autocomplete: "url" },
};

let writer = storage.get("writer"); // of the last comment
let lastId = 0; // of an element

await loadStylesheet("form.css");

/** Put the form of a new comment in the place of `box`, a text field, with its text and focus. */
export function replaceBox(box, about) {
  if (!box.isConnected) return; // it has been replaced
  const hadFocus = document.activeElement == box;
  const title = about.messages.write;
  const { element } = new CommentForm({ ...about, title, message: box.value });
  box.replaceWith(element);
  if (hadFocus) element.message.focus();
}

/** A form for a new comment, a reply or a change. Control+Enter sends it, Escape closes it. */
export class CommentForm {
  element = h("form.form");
  #about;
  #draft; // the name under which the text is stored until the service has it
  #key; // names the comment, so that one that is sent twice is stored once
  #token = {}; // which the service gives each form
  #proof; // the promise of the token with its work done

  #errors = {}; // the elements that say what is wrong with a field, by its name
  #identity = h("div.identity");
  #known = h("p.hint"); // stands for #identity while that is hidden
  #charactersLeft = h("small");
  #preview = h("div.preview", { role: "status", dir: "auto" });
  #previewButton = h("button.link", { type: "button" });
  #error = h("p.error", { role: "alert" });
  #sendButton = h("button.button");

  /**
   * `about` is { messages, url, title, parent?, own?, message? }: a form for the page `url`, to
   * reply to the comment `parent`, or to change it, if it is `own`. It begins with the draft, or
   * with `message`.
   */
  constructor(about) {
    this.#about = about;
    const { url, title, parent, own } = about;
    this.#draft = url + "#" + (own ? "=" : "") + (parent?.id ?? "");
    const kept = storage.get(this.#draft) ?? {};
    this.#key = kept.key;
    this.element.append(h("h3", {}, title));
    const message = kept.message || about.message || (own ? parent.content : "");
    this.#addField(this.element, "message", message, { required: true });
    this.#errors.message.before(this.#charactersLeft);
    if (!own) this.#addIdentity(kept);
    this.#addButtons();
    this.element.addEventListener("focusin", () => this.#begin());
    this.element.addEventListener("input", ({ target }) => this.#change(target));
    this.element.addEventListener("keydown", (event) => this.#pressKey(event));
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
  }

  #addField(place, name, value = "", properties = {}) {
    const tag = name == "message" ? "textarea.input" : "input.input";
    const field = h(tag, { name, value, dir: "auto", ...properties });
    const error = h("p.error", { id: "commentsvc-error-" + ++lastId });
    field.setAttribute("aria-describedby", error.id);
    this.#errors[name] = error;
    place.append(h("div.field", {}, h("label", {}, this.#about.messages[name], " ", field), error));
    return field;
  }

  #addCheckbox(place, name) {
    const box = h("input", { name, type: "checkbox" });
    place.append(h("label", {}, box, " ", this.#about.messages[name]));
    return box;
  }

  #addIdentity(kept) {
    const { messages } = this.#about;
    for (const name in IDENTITY) {
      this.#addField(this.#identity, name, kept[name] || writer?.[name], IDENTITY[name]);
    }
    this.element.append(this.#identity, this.#known);
    this.element.site.addEventListener("change", ({ target }) => {
      if (target.value && !/^[a-z]+:/i.test(target.value)) target.value = "https://" + target.value;
    });
    this.#addCheckbox(this.#identity, "remember").checked = storage.get("writer");
    this.#addCheckbox(this.element, "notify").parentNode.hidden = true; // see #prove
    const trap = h("input", { name: "subject", hidden: true }); // for bots
    this.element.append(trap, h("p.hint", {}, messages.hint));
    this.#showIdentity(!writer);
  }

  /** Show the fields that say who writes, or only the name. */
  #showIdentity(isShown) {
    const { messages } = this.#about;
    this.#identity.hidden = !isShown;
    this.#known.hidden = isShown;
    const onclick = () => {
      this.#showIdentity(true);
      this.element.author.focus();
    };
    const change = h("button.link", { type: "button", onclick }, messages.change);
    const name = messages.commentingAs.replace("#", this.element.author.value);
    this.#known.replaceChildren(name, " · ", change);
  }

  #addButtons() {
    const { messages, parent, own } = this.#about;
    this.#sendButton.textContent = messages[own ? "save" : "send"];
    this.#previewButton.textContent = messages.preview;
    this.#previewButton.onclick = () => this.#togglePreview();
    this.#setPreview("");
    const cancel = parent ? h("button.link", { type: "reset" }, messages.cancel) : "";
    const buttons = h("div.actions", {}, this.#sendButton, this.#previewButton, cancel);
    this.element.append(this.#preview, this.#error, buttons);
  }

  #pressKey(event) {
    if (event.isComposing) return; // the key is for the input method
    if (event.key == "Enter" && (event.ctrlKey || event.metaKey)) this.element.requestSubmit();
    if (event.key == "Escape" && this.#about.parent) this.element.reset();
  }

  /** Store the text; return all fields. */
  #keep() {
    const fields = Object.fromEntries(new FormData(this.element));
    storage.set(this.#draft, { ...fields, key: this.#key });
    return fields;
  }

  #change(field) {
    this.#mark(field.name, "");
    this.#setPreview("");
    this.#countCharacters();
    this.#keep();
  }

  /** Say below a field what is wrong with it; "" for nothing. */
  #mark(name, text) {
    if (!this.#errors[name]) return;
    this.element[name].ariaInvalid = Boolean(text);
    this.#errors[name].textContent = text;
  }

  #countCharacters() {
    const { messages } = this.#about;
    const left = this.#token.length - this.element.message.value.length;
    const text = left < 0 ? messages.excess : left < FEW ? messages.left : "";
    this.#charactersLeft.textContent = text.replace("#", Math.abs(left));
    this.#charactersLeft.classList.toggle("commentsvc-error", left < 0);
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

  #setPreview(html) {
    setHTML(this.#preview, html);
    this.#previewButton.ariaExpanded = Boolean(html);
  }

  async #togglePreview() {
    const { message } = this.element;
    if (this.#preview.firstChild) return this.#setPreview("");
    if (!message.reportValidity()) return;
    try {
      const { html } = await send("POST", "preview", { message: message.value });
      this.#setPreview(html);
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
    if (!this.#about.own) {
      writer = { author, email, site };
      storage.set("writer", remember ? writer : undefined);
      this.#showIdentity(false);
    }
    storage.set(this.#draft, undefined);
    this.#key = this.#proof = undefined;
    this.element.message.value = "";
    this.element.dispatchEvent(new CustomEvent("comment-submitted", { bubbles: true, detail }));
  }

  /** Say what is wrong with a field beside it, all else above the buttons. */
  #explain(failure) {
    const { messages } = this.#about;
    const isOtherText = failure.status == 409; // the service has another text by this key
    if (isOtherText) this.#key = undefined;
    this.#proof = undefined;
    const fields = { ...failure.fields };
    const marked = Object.keys(this.#errors).filter((name) => fields[name]);
    for (const name in this.#errors) {
      this.#mark(name, fields[name] ?? "");
      delete fields[name];
    }
    const isSaid = marked.length && !Object.keys(fields).length;
    const text = isOtherText ? messages.twice : errorText(messages, { ...failure, fields });
    this.#error.textContent = (isSaid ? "" : text + " ") + messages.kept;
    if (!marked.length) return;
    if (marked.some((name) => name in IDENTITY)) this.#showIdentity(true);
    this.element[marked[0]].focus();
  }
}
