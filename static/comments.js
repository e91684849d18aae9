import { base, get } from "./api.js";
import { h, loadStylesheet, storage } from "./browser.js";
import { renderComment } from "./comment.js";
import { countText, loadMessages } from "./i18n.js";
import { CommentTree } from "./tree.js";

const stylesheet = loadStylesheet("comments.css");

export class CommentThread extends HTMLElement {
  static define() {
    customElements.define("comment-thread", this);
  }

  // For other modules
  messages;
  page; // the last answer
  own;
  tree = new CommentTree();
  error = h("p.error", { role: "alert" });
  status = h("p.status", { role: "status" });

  #comments = []; // of all pages
  #deleted = new Map();
  #closed;
  target = [location.hash.slice(1)].find((id) =>
    this.contains(document.getElementById(id) ?? this),
  );

  #heading = h("h2.heading", { tabIndex: -1 });
  #order = h("select", { name: "sort" });
  #feed = h("a.link");
  #more = h("button.button", { hidden: true });
  #box; // becomes a form

  #observer = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (isIntersecting || this.target) this.#begin();
    },
    { rootMargin: "600px" },
  );
  #timer;
  #leave; // ends what live.js does

  constructor() {
    super();
    for (const type of ["focusin", "input", "click", "comment-submitted"]) {
      this.addEventListener(type, (event) => this.#react(event));
    }
  }

  connectedCallback() {
    if (this.page) this.#stay();
    else this.#observer.observe(this);
  }

  disconnectedCallback() {
    this.#observer.disconnect();
    this.#timer = clearTimeout(this.#timer);
    this.#leave?.();
  }

  get url() {
    return this.getAttribute("url") || location.pathname;
  }

  #path(name, parameters) {
    return name + "?" + new URLSearchParams({ url: this.url, ...parameters });
  }

  async #begin() {
    this.#observer.disconnect();
    if (this.getAttribute("load") != "click") return this.load();
    this.messages = await loadMessages(this);
    this.#offer("show");
  }

  /** Show a button that loads comments */
  #offer(text, after) {
    this.#more.textContent = this.messages[text];
    this.#more.onclick = () => this.load(after);
    this.#more.hidden = false;
    if (!this.#more.isConnected) this.append(this.#more);
    this.#more.before(this.error);
  }

  async load(after) {
    const sort =
      this.#order.value || storage.get("sort") || this.getAttribute("sort") || "oldest";
    const path = this.#path("comments", { sort, limit: 100, ...(after && { after }) });
    const isPrerendered = this.querySelector("section[dir]");
    const prerendered = isPrerendered && (await import("./prerendered.js").catch(() => {}));
    const answer = prerendered ? prerendered.fetchChanges(this, path, sort) : get(path);
    const own = storage.get("own-comments") && this.loadOwn();
    const loaded = Promise.allSettled([answer, own]);
    this.messages = await loadMessages(this);
    const loading = h("p.hint", {}, this.messages.loading);
    await stylesheet;
    if (!this.#box && !isPrerendered) this.append(loading);
    const [{ value: page }] = await loaded;
    loading.remove();
    this.classList.toggle("commentsvc-failed", !page);
    this.error.textContent = page ? "" : this.messages.unread;
    const wasPressed = document.activeElement == this.#more;
    const first = page?.data.find(({ id }) => !this.tree.find(id));
    this.#keepWhatIsBelow(() => {
      if (!page) return this.#offer("again", after);
      this.page = page;
      this.#comments = after ? [...this.#comments, ...page.data] : page.data;
      for (const comment of page.deleted ?? []) this.#deleted.set(comment.id, comment);
      if (!this.#box) this.#build(sort, prerendered);
      this.show();
      this.#more.hidden = true;
      if (page.next) this.#offer("more", page.next);
    });
    if (!page) return;
    if (wasPressed) (this.tree.find(first?.id) ?? this.#heading).focus();
    if (this.target) (await import("./target.js")).seekTarget(this);
  }

  async loadOwn() {
    const { OwnComments } = await import("./own_comments.js");
    this.own ??= new OwnComments(this.url);
  }

  /** Change the height above what is seen */
  #keepWhatIsBelow(change) {
    const { top, bottom } = this.getBoundingClientRect();
    const end = Math.min(bottom, innerHeight);
    this.style.minHeight = end - top + "px";
    change();
    const growth = this.getBoundingClientRect().bottom - end;
    if (top < 0 && end < innerHeight - 9) scrollBy({ top: growth, behavior: "instant" });
  }

  /** Replace the fallback */
  #build(sort, prerendered) {
    const messages = this.messages;
    const { voting, closes } = this.page;
    for (const value of ["oldest", "newest", ...(voting ? ["top"] : [])]) {
      this.#order.append(new Option(messages[value], value, false, value == sort));
    }
    this.#order.ariaLabel = messages.sort;
    this.#feed.href = base + this.#path("feed.atom");
    this.#feed.append(messages.feed);
    const tools = h("div.actions", {}, this.#order, this.#feed);
    const bar = h("div.bar", {}, this.#heading, tools);
    this.#closed = this.hasAttribute("closed") || new Date(closes) < new Date();
    const focused = prerendered?.keepDraft(this);
    const draft = storage.get(this.url + "#");
    const text = messages[this.page.count ? "write" : "first"];
    const box = { name: "write", value: draft?.message ?? "", ariaLabel: text, placeholder: text };
    this.#box = this.#closed ? h("p.hint", {}, messages.closed) : h("textarea.input", box);
    const parts = [bar, this.tree.element, this.error, this.#more, this.status, this.#box];
    this.replaceChildren(h("section.thread", {}, ...parts));
    const isPlain = getComputedStyle(this).color == "rgb(0, 0, 0)";
    if (isPlain) import("./contrast.js").then(({ keepContrast }) => keepContrast(this));
    if (focused) this.#box.focus();
    else if (draft) this.#react({ type: "focusin", target: this.#box });
    this.#stay();
  }

  async #react({ type, target, detail }) {
    const control = target.closest("[name], form");
    if (!control || control.form) return;
    const draft = this.url + "#";
    if (type == "input" && control == this.#box) {
      storage.set(draft, { ...storage.get(draft), message: control.value });
    }
    try {
      const { act } = await import("./actions.js");
      await act(this, control, type, detail);
    } catch {
      control.after(this.error);
      this.error.textContent = this.messages.unreached;
    }
  }

  #stay() {
    const timer = setTimeout(async () => {
      const { follow } = await import("./live.js");
      const url = base + this.#path("api/comments/stream");
      const announce = (count) => {
        if (!this.#more.hidden || count <= this.page.count) return;
        this.status.textContent = this.messages.fresh;
        this.#offer("fresh");
      };
      if (this.#timer == timer) this.#leave = follow(url, this, announce);
    }, 5000);
    this.#timer = timer;
  }

  show() {
    const { count, voting } = this.page;
    this.#heading.textContent = countText(this.messages, count);
    this.#order.hidden = this.#feed.hidden = count < 2;
    const active = document.activeElement;
    const item = this.tree.element.contains(active) && active.closest("li");
    const thread = { messages: this.messages, closed: this.#closed, voting };
    const render = (...shown) => renderComment(thread, ...shown);
    const depth = this.getAttribute("depth") ?? 4;
    this.tree.update(this.all(), depth, render, this.messages.replies);
    if (storage.get("moderator")) {
      import("./moderate.js").then(({ addLinks }) => addLinks(this));
    }
    if (item) [active, item, this.#heading].find((element) => element.isConnected).focus();
    this.dispatchEvent(new Event("comments-shown", { bubbles: true }));
  }

  /** All comments by id; deleted ones come before their first reply */
  all() {
    const comments = new Map();
    const add = (comment) => {
      const parent = this.#deleted.get(comment.parent);
      if (parent && !comments.has(parent.id)) add(parent);
      comments.set(comment.id, comment);
    };
    this.#comments.forEach(add);
    this.own?.addTo(comments, this.messages);
    return comments;
  }
}

if (document.querySelector("comment-count")) import("./count.js");
CommentThread.define();
