// <comment-thread>: the comments of a page

import { base, get } from "./api.js";
import { renderComment } from "./comment.js";
import { h, loadStylesheet } from "./dom.js";
import { countText, loadMessages, showRelativeTime } from "./i18n.js";
import { storage } from "./storage.js";
import { CommentTree } from "./tree.js";

const stylesheet = loadStylesheet("comments.css");

export class CommentThread extends HTMLElement {
  static define() {
    customElements.define("comment-thread", this);
  }

  #messages;
  #page; // the last answer
  #comments = []; // of all pages
  #own;
  #closed;
  #seeksTarget = /^#comment-\d+$/.test(location.hash);

  #heading = h("h2.heading", { tabIndex: -1 });
  #order = h("select", { onchange: () => this.#load() });
  #tree = new CommentTree();
  #error = h("p.error", { role: "alert" });
  #more = h("button.button", { hidden: true });
  #status = h("p.status", { role: "status" });
  #box; // a field that becomes a form
  #typed; // before the widget came

  #observer = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (isIntersecting || this.#seeksTarget) this.#begin();
    },
    { rootMargin: "600px" },
  );
  #stream;
  #clock;

  constructor() {
    super();
    this.addEventListener("comment-submitted", ({ detail }) => this.#showSubmitted(detail));
    this.#tree.element.addEventListener("click", ({ target }) => {
      const button = target.closest("button[name]");
      if (button) this.#act(button);
    });
  }

  connectedCallback() {
    if (this.#page) this.#follow();
    else this.#observer.observe(this);
  }

  disconnectedCallback() {
    this.#observer.disconnect();
    this.#unfollow();
  }

  get url() {
    return this.getAttribute("url") || location.pathname;
  }

  #path(name, parameters) {
    return name + "?" + new URLSearchParams({ url: this.url, ...parameters });
  }

  async #begin() {
    this.#observer.disconnect();
    if (this.getAttribute("load") != "click") return this.#load();
    this.#messages = await loadMessages(this);
    this.#offer("show");
  }

  /** Show a button that loads comments: those after a cursor, or all */
  #offer(text, after) {
    this.#more.textContent = this.#messages[text];
    this.#more.onclick = () => this.#load(after);
    this.#more.hidden = false;
    if (!this.#more.isConnected) this.append(this.#more);
    this.#more.before(this.#error);
  }

  async #load(after) {
    const sort = this.#order.value || this.getAttribute("sort") || "oldest";
    const path = this.#path("comments", { sort, limit: 100, ...(after && { after }) });
    const isPrerendered = this.querySelector("section[dir]");
    const prerendered = isPrerendered && (await import("./prerendered.js").catch(() => {}));
    const answer = prerendered ? prerendered.fetchChanges(this, path, sort) : get(path);
    const [page, messages] = await Promise.all([
      answer.catch(() => {}),
      loadMessages(this),
      stylesheet,
      storage.get("own-comments") && this.#loadOwn().catch(() => {}),
    ]);
    this.#messages = messages;
    this.classList.toggle("commentsvc-failed", !page);
    this.#error.textContent = page ? "" : messages.unread;
    const wasPressed = document.activeElement == this.#more;
    const first = page?.data.find(({ id }) => !this.#tree.find(id));
    this.#keepWhatIsBelow(() => {
      if (!page) return this.#offer("again", after);
      this.#page = page;
      this.#comments = after ? [...this.#comments, ...page.data] : page.data;
      if (!this.#box) this.#build(sort, prerendered);
      this.#show();
      this.#more.hidden = true;
      if (page.next) this.#offer("more", page.next);
    });
    if (!page) return;
    if (wasPressed) (this.#tree.find(first?.id) ?? this.#heading).focus();
    if (this.#seeksTarget) this.#seekTarget();
  }

  async #loadOwn() {
    const { OwnComments } = await import("./own_comments.js");
    this.#own ??= new OwnComments(this.url);
  }

  /** Change the height of the thread; what is seen below stays where it is */
  #keepWhatIsBelow(change) {
    const { top, bottom } = this.getBoundingClientRect();
    const end = Math.min(bottom, innerHeight);
    this.style.minHeight = end - top + "px";
    change();
    const growth = this.getBoundingClientRect().bottom - end;
    if (top < 0 && end < innerHeight - 9) scrollBy({ top: growth, behavior: "instant" });
  }

  /** Go to the comment that the address names; it may be on a later page */
  #seekTarget() {
    const { next } = this.#page;
    if (next && !this.querySelector(location.hash)) return this.#load(next);
    this.#seeksTarget = false;
    location.replace(location.href);
  }

  /** Put the thread in the place of the fallback */
  #build(sort, prerendered) {
    const messages = this.#messages;
    const { voting, closes } = this.#page;
    for (const value of ["oldest", "newest", ...(voting ? ["top"] : [])]) {
      this.#order.append(new Option(messages[value], value, false, value == sort));
    }
    this.#order.ariaLabel = messages.sort;
    const feed = h("a.link", { href: base + this.#path("feed.atom") }, messages.feed);
    const bar = h("header.bar", {}, this.#heading, this.#order, feed);
    this.#closed = this.hasAttribute("closed") || new Date(closes) < new Date();
    this.#typed = prerendered?.readForm(this) ?? {};
    this.#box = this.#closed ? h("p.hint", {}, messages.closed) : this.#createBox();
    const parts = [bar, this.#tree.element, this.#error, this.#more, this.#status, this.#box];
    this.replaceChildren(h("section.thread", {}, ...parts));
    if (this.#typed.focused) this.#box.focus();
    if (this.#typed.author || this.#box.value || storage.get(this.url + "#")) this.#openForm();
    this.#follow();
  }

  /** The field that becomes a form when it is used */
  #createBox() {
    const text = this.#messages.write;
    const value = this.#typed.message ?? "";
    const box = h("textarea.input", { value, ariaLabel: text, placeholder: text });
    box.onfocus = () => this.#openForm();
    box.oninput = () => {
      storage.set(this.url + "#", { message: box.value });
      this.#openForm();
    };
    return box;
  }

  async #openForm() {
    try {
      const { replaceBox } = await import("./form.js");
      replaceBox(this.#box, { ...this.#about(), typed: this.#typed });
    } catch {
      this.#explain(this.#box);
    }
  }

  #about() {
    return { messages: this.#messages, url: this.url };
  }

  #explain(element, text = this.#messages.unreached) {
    element.after(this.#error);
    this.#error.textContent = text;
  }

  #follow() {
    if (!this.isConnected) return;
    document.addEventListener("visibilitychange", this.#listen);
    this.#listen();
    this.#clock = setInterval(() => {
      for (const time of this.querySelectorAll("time")) showRelativeTime(this.#messages, time);
    }, 60_000);
  }

  #unfollow() {
    document.removeEventListener("visibilitychange", this.#listen);
    this.#stream?.close();
    clearInterval(this.#clock);
  }

  /** Hear of new comments while the page is seen: a browser has few connections */
  #listen = () => {
    this.#stream?.close();
    if (document.hidden) return;
    this.#stream = new EventSource(base + this.#path("api/comments/stream"));
    this.#stream.onmessage = ({ data }) => {
      if (!this.#more.hidden || JSON.parse(data).count <= this.#page.count) return;
      this.#status.textContent = this.#messages.fresh;
      this.#offer("fresh");
    };
  };

  #show() {
    const { count, voting } = this.#page;
    this.#heading.textContent = countText(this.#messages, count);
    for (const other of document.querySelectorAll("comment-count")) {
      if (other.url == this.url) other.count = count;
    }
    const active = document.activeElement;
    const item = this.#tree.element.contains(active) && active.closest("li");
    const thread = { messages: this.#messages, closed: this.#closed, voting };
    this.#tree.update(this.#all(), this.getAttribute("depth") ?? 4, (...shown) =>
      renderComment(thread, ...shown),
    );
    if (item) [active, item, this.#heading].find((element) => element.isConnected).focus();
  }

  /** All comments by id */
  #all() {
    const comments = new Map(this.#comments.map((comment) => [comment.id, comment]));
    this.#own?.addTo(comments, this.#messages);
    return comments;
  }

  async #showSubmitted(answer) {
    await this.#loadOwn();
    this.#own.add(answer);
    this.#show();
    this.#tree.find(answer.comment.id).focus();
    this.#reload(answer.status);
  }

  #reload(text) {
    this.#status.textContent = this.#messages[text];
    this.#load();
  }

  async #act(button) {
    this.#error.textContent = "";
    const id = Number(button.closest("li").dataset.id);
    try {
      const { act } = await import("./actions.js");
      if (!(await act(button, this.#all().get(id), this.#about()))) return;
      this.#own.remove(id);
      this.#reload("deleted");
    } catch (failure) {
      this.#explain(button.parentNode, failure.text);
    }
  }
}

if (document.querySelector("comment-count")) import("./count.js");
CommentThread.define();
