// <comment-form>, made by <comment-thread>. The text stays here until the service has it.
import { network } from "./count.js";
import { make } from "./render.js";
import { words } from "./words.js";

const FIELDS = {
  message: { required: true, rows: 4 },
  author: { required: true, autocomplete: "name" },
  email: { type: "email", autocomplete: "email" },
  site: { type: "url", autocomplete: "url" },
};

// Storage may be forbidden; then there are no drafts.
function storage(verb, ...values) {
  try {
    return localStorage[verb](...values);
  } catch {}
}

let writer = {}; // for the next form of this page; kept nowhere else

export class CommentForm extends HTMLElement {
  static define(tag = "comment-form", registry = customElements) {
    registry.get(tag) || registry.define(tag, this);
  }

  url;
  parent = ""; // for a reply: the comment's id
  author; // and its author

  #form = make("form", "form", { method: "post", action: network.base + "embed/thread" });
  #error = make("p", "error", { role: "alert" });
  #button = make("button", "button", {}, words.send);
  #key;
  #sender;

  connectedCallback() {
    if (this.#form.isConnected) return; // only moved
    const { url, parent, author } = this;
    this.#form.append(
      make("h3", "heading", {}, author ? words.replyTo(author) : words.write),
      make("input", "", { type: "hidden", name: "url", value: url }),
      make("input", "", { type: "hidden", name: "parent", value: parent }),
      ...Object.keys(FIELDS).map((name) => this.#field(name)),
      make("p", "hint", {}, words.hint),
      make("input", "", { name: "subject", hidden: true }), // only programs fill this in
      this.#error,
      this.#button,
    );
    if (parent) {
      const onclick = () => this.#tell("comment-cancelled");
      this.#form.append(make("button", "link", { type: "button", onclick }, words.cancel));
    }
    this.onsubmit = this.#submit;
    this.oninput = this.#edited;
    this.addEventListener("invalid", this.#invalid, true);
    this.addEventListener("focusin", () => this.#open().catch(() => {}));
    this.#restore();
    this.append(this.#form);
  }

  focus() {
    this.#form.message.focus();
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { bubbles: true, detail }));
  }

  #field(name) {
    const input = make(name == "message" ? "textarea" : "input", "", { name, ...FIELDS[name] });
    const optional = input.required ? "" : make("small", "", {}, words.optional);
    return make("label", "field", {}, words[name], optional, input, make("span", "error"));
  }

  #mark(input, text = "") {
    input.nextSibling.textContent = text;
    input.ariaInvalid = !!text;
  }

  get #marked() {
    return this.querySelector("[aria-invalid=true]");
  }

  #invalid(event) {
    event.preventDefault(); // the browser's words, in our place
    this.#mark(event.target, event.target.validationMessage);
    this.#marked.focus();
  }

  #edited({ target }) {
    this.#mark(target);
    this.#keep();
  }

  get #draft() {
    return "commentsvc:" + this.url + "#" + this.parent;
  }

  #restore() {
    const { key, ...texts } = JSON.parse(storage("getItem", this.#draft) || "0") || writer;
    this.#key = key;
    for (const name in FIELDS) this.#form[name].value = texts[name] || "";
  }

  /** Keeps the draft; by its key the service knows a retry. */
  #keep() {
    this.#key ||= crypto.randomUUID?.(); // missing without https
    const draft = { ...Object.fromEntries(new FormData(this.#form)), key: this.#key };
    storage("setItem", this.#draft, JSON.stringify(draft));
    return draft;
  }

  async #submit(event) {
    event.preventDefault();
    if (this.#form.message.readOnly) return;
    const draft = this.#keep();
    const parent = this.parent || undefined;
    this.#setBusy(true);
    let sender;
    try {
      sender = await this.#open();
    } catch {
      return this.#form.submit(); // as without a script; the draft stays
    }
    const answer = await sender.send({ ...draft, parent, title: document.title });
    this.#setBusy(false);
    for (const name in FIELDS) this.#mark(this.#form[name], answer.fields?.[name]);
    if (!answer.data) return this.#fail(answer, sender);
    this.#sender = undefined;
    storage("removeItem", this.#draft);
    writer = { ...draft, message: "", key: undefined };
    this.#restore();
    this.#tell("comment-submitted", answer.data);
  }

  /** Gets ready to send one comment. */
  #open() {
    return (this.#sender ||= import("./send.js").then(({ open }) => open(this.url)));
  }

  #setBusy(busy) {
    this.#form.ariaBusy = this.#form.message.readOnly = busy;
    this.#button.textContent = busy ? words.sending : words.send;
    if (busy) this.#error.textContent = "";
  }

  #fail(answer, { explain }) {
    this.#error.textContent = explain(answer, this.#marked);
    if (answer.status == 409) this.#key = undefined; // the next try is a new comment
    if (answer.code == "stamp") this.#sender = undefined;
    this.#marked?.focus();
  }
}
