// <comment-thread url>: the comments of a page, their replies, and the form.
import { list } from "./api.js";
import { countText } from "./count.js";
import { make, render } from "./render.js";
import { words } from "./words.js";

export class CommentThread extends HTMLElement {
  static styled; // a promise: nothing is shown bare

  static define(tag = "comment-thread", registry = customElements) {
    registry.get(tag) || registry.define(tag, this);
  }

  #heading = make("h2", "heading", { tabIndex: -1 });
  #list = make("ol", "list");
  #more = make("button", "button", { onclick: () => this.#load() });
  #failure = make("p", "error", { role: "alert" }, words.unread);
  #status = make("p", "status", { role: "status" });
  #observer;
  #count;
  #next;
  #reply; // the open reply form
  #opener; // the button that opened it

  get url() {
    return this.getAttribute("url") || location.pathname;
  }

  connectedCallback() {
    if (this.#observer) return; // only moved
    this.addEventListener("comment-submitted", this.#submitted);
    this.addEventListener("comment-cancelled", () => this.#close().focus());
    this.#observer = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      this.#observer.disconnect();
      this.#load();
    }, { rootMargin: "600px" });
    this.#observer.observe(this);
  }

  async #load() {
    const pressed = document.activeElement == this.#more;
    const [{ data }] = await Promise.all([list(this.url, this.#next), CommentThread.styled]);
    if (data) return this.#show(data, pressed);
    this.classList.add("commentsvc-failed");
    if (!this.#more.isConnected) this.append(this.#more);
    this.#more.textContent = words.again;
    this.#more.before(this.#failure);
  }

  #show({ data, count, next }, pressed) {
    this.classList.remove("commentsvc-failed");
    this.#failure.remove();
    if (!this.#list.isConnected) {
      const form = make("comment-form", "", { url: this.url });
      const parts = [this.#heading, this.#list, this.#more, this.#status, form];
      this.replaceChildren(make("section", "thread", {}, ...parts));
    }
    const items = data.map((comment) => this.#place(comment));
    this.#setCount(count);
    this.#next = next;
    this.#more.textContent = words.more;
    this.#more.hidden = !next;
    if (pressed) (items[0] || this.#heading).focus();
    else if (location.hash) this.#find(location.hash.slice(1))?.scrollIntoView();
  }

  #setCount(count) {
    this.#count = count;
    this.#heading.textContent = countText(count);
    for (const other of document.querySelectorAll("comment-count")) {
      if (other.url == this.url) other.count = count;
    }
  }

  #find(id) {
    return this.querySelector("#" + CSS.escape(id));
  }

  /** The item of `comment`, put under its parent unless it is there already. */
  #place(comment, notice) {
    let item = this.#find("comment-" + comment.id);
    if (!item) {
      const reply = ({ target }) => this.#toggle(comment, target);
      item = render(comment, this.closest("[lang]")?.lang, notice, !notice && reply);
      const parent = this.#find("comment-" + comment.parent);
      (parent?.lastChild || this.#list).append(item);
    }
    return item;
  }

  #toggle({ id, author }, button) {
    if (this.#close() == button) return;
    this.#opener = button;
    this.#reply = make("comment-form", "", { url: this.url, parent: id, author });
    button.after(this.#reply);
    button.ariaExpanded = true;
    this.#reply.focus();
  }

  /** Closes the reply form and returns the button that had opened it. */
  #close() {
    const opener = this.#opener;
    if (opener) opener.ariaExpanded = false;
    this.#reply?.remove();
    this.#reply = this.#opener = undefined;
    return opener;
  }

  #submitted({ target, detail: { status, comment } }) {
    if (target == this.#reply) this.#close();
    if (status == "approved" && !this.#find("comment-" + comment.id)) this.#setCount(this.#count + 1);
    this.#status.textContent = words[status];
    this.#place(comment, words[status]).focus();
  }
}
