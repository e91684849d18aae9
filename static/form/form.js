// The form to write a comment

import { again, get, h, loadStylesheet, storage } from "../common.js";
/** @import { About, FormToken } from "../types.d.ts" */

// Text fields of macOS have other uses for Control
const COMMAND = /^(Mac|iP)/.test(navigator.platform) ? "metaKey" : "ctrlKey";
const KEYS = { b: "bold", i: "italic", k: "link", e: "code" };
const PAUSE_MS = 800; // before it shows that the draft is stored
const FEW = 200; // characters left: it shows them

// The author's fields; hidden while the author is known
const IDENTITY = {
  author: { required: true, autocomplete: "name" },
  email: { type: "email", autocomplete: "email" },
  site: { type: "url", autocomplete: "url" },
};

let lastId = 0;
const writer = storage.get("writer") ?? {}; // of the last comment

await loadStylesheet("form.css");

/** Replace `box` by a form with its text and focus. */
export function write(thread, box) {
  if (!box.isConnected) return; // it has been replaced
  const hadFocus = document.activeElement == box;
  const { element } = new CommentForm({ thread, message: box.value });
  box.replaceWith(element);
  if (hadFocus) element.message.focus();
}

export class CommentForm {
  /** @type {any} its fields are properties */
  element = h("form.form", { noValidate: true });
  about;
  writer = writer;
  key; // sent twice, the comment is stored once
  /** @type {FormToken} */
  token = {};
  error = h("p.error", { role: "alert" });

  draft; // its name in storage
  proof; // a promise
  asked; // what its site asks for is shown
  noted; // says that a private note was sent
  pictures; // the button for them, and what it opens
  #preview;

  errors = {}; // elements by field
  tools = h("div.actions");
  identity = h("div.identity");
  choices = h("div.actions");
  #remember = h("label");
  #known = h("p.hint"); // instead of `identity`
  #charactersLeft = h("small.hint"); // or that the draft is stored
  #timer;
  #formatButton = h("button.link", { type: "button", ariaExpanded: "false" }, "Aa");
  #previewButton = h("button.link", { type: "button", ariaExpanded: "false" });
  sendButton = h("button.button");

  /**
   * For a page, for a reply to the comment `parent`, or for changing it if it is `own`.
   * @param {Omit<About, "messages" | "url">} options
   */
  constructor(options) {
    const { messages, url } = options.thread;
    const about = { messages, url, ...options };
    this.about = about;
    const { title = messages.write, parent, own, sent } = about;
    this.draft = url + "#" + (own ? "=" : "") + (parent?.id ?? (sent ? "?" : ""));
    const kept = storage.get(this.draft) ?? {};
    this.key = kept.key;
    if (kept.private || sent) this.element.append(h("input", { name: "private", type: "hidden", value: "on" }));
    const message = kept.message || about.message || (own ? parent.content : "");
    const field = this.#addField(this.element, "message", message, { required: true });
    field.placeholder = title;
    field.addEventListener("paste", (event) => this.#paste(event));
    if (!own) this.#addIdentity(kept);
    this.#addButtons();
    this.element.addEventListener("focusin", () => this.begin());
    this.element.addEventListener("input", ({ target }) => this.#change(target));
    this.element.addEventListener("keydown", (event) => this.#pressKey(event));
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    const watch = (event) => this.#keepOwn(event, watch);
    addEventListener("storage", watch);
    if (storage.get("toolbar")) this.#toggleToolbar();
  }

  /** Store this text again after another tab has sent its own, which it stored in place of it. */
  #keepOwn({ key, oldValue, newValue }, watch) {
    const { element } = this;
    if (!element.isConnected) return removeEventListener("storage", watch);
    const { value } = element.message;
    const isGone = key?.endsWith(":" + this.draft) && oldValue && !newValue;
    if (isGone && value && value != JSON.parse(oldValue).message) this.keep();
  }

  #addField(parent, name, value = "", properties = {}) {
    const text = this.about.messages[name];
    const isText = name == "message";
    const tag = isText ? "textarea.input" : "input.input";
    const field = h(tag, { name, value, dir: "auto", ...properties });
    const error = h("p.error", { id: "commentsvc-error-" + ++lastId });
    field.setAttribute("aria-describedby", error.id);
    if (isText) field.ariaLabel = text;
    this.errors[name] = error;
    const labelled = isText ? h("div.editor", {}, field) : h("label", {}, text, " ", field);
    parent.append(h("div.field", {}, labelled, error));
    return field;
  }

  #addIdentity(kept) {
    const { messages } = this.about;
    for (const name in IDENTITY) {
      this.#addField(this.identity, name, kept[name] || writer[name], IDENTITY[name]);
    }
    const checked = Boolean(storage.get("writer"));
    const remember = h("input", { name: "remember", type: "checkbox", checked });
    this.#remember.append(remember, " ", messages.remember);
    this.choices.append(this.#remember, this.#known);
    const trap = h("input", { name: "subject", hidden: true }); // for bots
    this.element.append(this.identity, this.choices, trap);
    const isOther = (name) => this.element[name].value != (writer[name] ?? "");
    this.showIdentity(!writer.author || Object.keys(IDENTITY).some(isOther));
  }

  showIdentity(isShown) {
    const { messages } = this.about;
    const reader = storage.get("reader");
    if (reader) this.element.author.value = reader.name;
    isShown ||= this.element.author.disabled; // there is no name to say
    this.identity.hidden = this.#remember.hidden = reader || !isShown || this.asked?.nothing;
    this.#known.hidden = reader || isShown;
    const onclick = () => {
      this.showIdentity(true);
      this.element.author.focus();
    };
    const change = h("button.link", { type: "button", onclick }, messages.change);
    const name = messages.commentingAs.replace("#", () => this.element.author.value);
    this.#known.replaceChildren(name, " · ", change);
  }

  #addButtons() {
    const { messages, parent, own } = this.about;
    this.sendButton.textContent = messages[own ? "save" : parent ? "reply" : "send"];
    this.#previewButton.textContent = messages.preview;
    this.#previewButton.onclick = () => this.#togglePreview();
    this.#formatButton.title = this.#formatButton.ariaLabel = messages.formatting;
    this.#formatButton.onclick = () => this.#toggleToolbar();
    this.tools.append(this.#formatButton, this.#previewButton, this.#charactersLeft);
    this.element.message.after(this.tools);
    const cancel = parent ? h("button.link", { type: "reset" }, messages.cancel) : "";
    this.element.append(this.error, h("div.actions", {}, this.sendButton, cancel, own ? "" : h("p.hint", {}, messages.hint)));
  }

  #pressKey(event) {
    const { key, target } = event;
    if (event.isComposing) return; // by an input method
    if (key == "Escape" && this.about.parent) this.element.reset();
    if (!event.ctrlKey && !event.metaKey) return;
    if (key == "Enter") this.element.requestSubmit();
    if (!event[COMMAND] || event.altKey || event.shiftKey) return;
    // Not all keyboards have Latin letters
    const name = KEYS[(key < "~" ? key : event.code.slice(3)).toLowerCase()];
    if (!name || target != this.element.message) return;
    event.preventDefault();
    this.#format(name);
  }

  /** Link selected text to a pasted address. */
  #paste(event) {
    const { selectionStart, selectionEnd } = event.target;
    const url = event.clipboardData.getData("text").trim();
    if (selectionStart == selectionEnd || !/^https?:\S+$/.test(url)) return;
    event.preventDefault();
    this.#format("link", url);
  }

  async #format(name, url) {
    const field = this.element.message;
    try {
      const { format } = await import("./formatting.js").catch(again("form/formatting"));
      format(field, name, url);
    } catch {
      if (!url) return;
      field.setRangeText(" " + url, field.selectionEnd, field.selectionEnd);
      this.#change(field);
    }
  }

  async #toggleToolbar() {
    const { toggleToolbar } = await import("./toolbar.js").catch(again("form/toolbar"));
    toggleToolbar(this.element.message, this.#formatButton);
  }

  keep() {
    const fields = Object.fromEntries(new FormData(this.element));
    storage.set(this.draft, { ...fields, key: this.key });
    return fields;
  }

  #change(field) {
    this.mark(field.name, "");
    this.#preview?.update();
    this.keep();
    this.#countCharacters();
    if (!field.value.includes("@")) return;
    import("./completion.js").then(({ complete }) => complete(field, this.about.thread));
  }

  mark(name, text) {
    if (!this.errors[name]) return;
    this.element[name].ariaInvalid = String(Boolean(text));
    this.errors[name].textContent = text;
  }

  #countCharacters() {
    const { messages } = this.about;
    const left = this.token.length - this.element.message.value.length;
    const text = left < 0 ? messages.excess : left < FEW ? messages.left : "";
    this.#charactersLeft.textContent = text.replace("#", String(Math.abs(left)));
    this.#charactersLeft.classList.toggle("commentsvc-error", left < 0);
    clearTimeout(this.#timer);
    if (text || !storage.get(this.draft)) return;
    this.#timer = setTimeout(() => (this.#charactersLeft.textContent = messages.stored), PAUSE_MS);
  }

  /** Get a token and do its proof of work, once. */
  begin() {
    this.proof ??= this.about.own ? Promise.resolve() : this.#prove().catch(() => {});
    return this.proof;
  }

  async #prove() {
    const token = await get("form-token?" + new URLSearchParams({ url: this.about.url }));
    this.token = token;
    if (token.notify || token.sign_in || token.images || token.asks || token.by_mail || token.notes || this.element.private) {
      import("./offers.js").then(({ offer }) => offer(this)).catch(() => {});
    }
    this.#countCharacters();
    if (!token.proof_of_work) return;
    const { solve } = await import("./proof_of_work.js").catch(again("form/proof_of_work"));
    token.solution = await solve(token.proof_of_work);
  }

  async #togglePreview() {
    if (!this.element.message.reportValidity()) return;
    try {
      const { Preview } = await import("./preview.js").catch(again("form/preview"));
      this.#preview ??= new Preview(this, this.#previewButton);
      await this.#preview.toggle();
    } catch {
      this.#sayUnreached();
    }
  }

  #sayUnreached() {
    const { messages } = this.about;
    const text = messages[navigator.onLine ? "unreached" : "offline"];
    this.error.textContent = text + " " + messages.kept;
  }

  async #send() {
    const { message } = this.element;
    if (message.readOnly) return;
    const label = this.sendButton.textContent;
    message.readOnly = true;
    this.sendButton.textContent = this.about.messages.sending;
    this.error.textContent = "";
    let answer;
    try {
      const { submit } = await import("./sending.js").catch(again("form/sending"));
      answer = await submit(this);
    } catch {
      this.#sayUnreached();
    }
    message.readOnly = false;
    this.sendButton.textContent = label;
    if (!answer) return;
    this.proof = undefined;
    this.#preview?.update();
    this.#countCharacters();
    if (!answer.comment) return; // it was a private note
    const submitted = { bubbles: true, detail: answer };
    this.element.dispatchEvent(new CustomEvent("comment-submitted", submitted));
  }
}
