import {
  actionButton,
  again,
  anchorOf,
  base,
  countText,
  FEED,
  get,
  h,
  icon,
  loadMessages,
  loadStylesheet,
  setHTML,
  showRelativeTime,
  storage,
} from "./common.js";

const REPLY = "M3 3h10v8H8l-3 3v-3H3z";
const UP = "M3 10.5l5-5 5 5";
const DOWN = "M3 5.5l5 5 5-5";
const MORE = "M3 7.7v.6m5-.6v.6m5-.6v.6";

const stylesheet = loadStylesheet("comments.css");

function avatar({ author, avatar: digest, picture }) {
  let hue = 0;
  for (const letter of digest || author) hue = (hue * 31 + letter.codePointAt(0)) % 360;
  const element = h("span.avatar", { ariaHidden: "true" }, [...author][0]);
  element.style.setProperty("--commentsvc-hue", String(hue));
  const onerror = ({ target }) => target.remove();
  if (picture) element.append(h("img", { src: base + picture, alt: "", onerror }));
  return element;
}

function header(messages, comment, answered) {
  const { author, site, role, verified, permalink: href } = comment;
  const rel = "nofollow ugc noopener";
  const link = /^https?:/.test(site) && { href: site, rel };
  const name = h(link ? "a.author" : "span.author", { dir: "auto", ...link }, author);
  const time = h("time", { dateTime: comment.published || new Date().toJSON() });
  showRelativeTime(messages, time);
  const date = h("span.date", {}, h("a", { href: "#" + anchorOf(comment) }, time));
  for (const mark of ["pinned", "edited"]) if (comment[mark]) date.append(" · ", messages[mark]);
  if (answered) {
    date.append(" ", h("a", { href: "#" + anchorOf(answered) }, "↪ " + answered.author));
  }
  const badge = messages[comment.isWaiting ? "awaiting" : role || (verified && "verified")];
  const from = href ? h("a.badge", { href, rel }, href.split("/")[2]) : "";
  return h("div.meta", {}, name, badge ? h("span.badge", {}, badge) : "", from, date);
}

function renderComment({ messages, closed, page }, comment, answered) {
  const { id, note, author, isWaiting, votes } = comment;
  if (comment.deleted) return h("p.hint", {}, messages.gone);
  const actions = h("div.actions");
  const voteButton = (value, path, title) => {
    const ariaPressed = String(storage.get("votes")?.[id] == value);
    actions.append(actionButton("vote", path, title, { value, ariaPressed }));
  };
  if (page.voting && !isWaiting) {
    voteButton(1, UP, messages.up);
    actions.append(h("span.votes", {}, votes || ""));
    if (page.voting == "both") voteButton(-1, DOWN, messages.down);
  }
  if (!closed && !isWaiting) {
    const label = messages.replyTo.replace("#", author);
    actions.append(actionButton("reply", REPLY, label, {}, messages.reply));
  }
  if (!isWaiting) actions.append(actionButton("menu", MORE, messages.menu));
  const body = setHTML(h("div.body", { dir: "auto" }), comment.html);
  if (body.querySelector("pre,table,math,ul,img,[href^='#']")) {
    import("./rich.js").then(({ enrich }) => enrich(body));
  }
  const head = header(messages, comment, answered);
  const thanks = note ? h("p.note", {}, note) : "";
  return h("article", {}, avatar(comment), head, body, actions, thanks);
}

/** Replies are below their parents */
class CommentList {
  element = h("ol.list");
  #items = new Map(); // by id

  find(id) {
    return this.#items.get(id);
  }

  /** Unfold a comment; return its item */
  reveal(id) {
    const item = this.find(id);
    let fold = item?.closest("details");
    for (; fold; fold = fold.parentElement.closest("details")) fold.open = true;
    return item;
  }

  /** `comments` is a Map by id */
  update(comments, thread) {
    const depth = thread.getAttribute("depth") ?? 4;
    const items = new Map();
    for (const [id, comment] of comments) {
      const item = this.find(id) ?? createItem(comment);
      item.replies.replaceChildren();
      item.answers = 0;
      items.set(id, item);
    }
    this.#items = items;
    this.element.replaceChildren();
    for (const [id, comment] of comments) {
      const ancestors = [];
      let parent = comment;
      while ((parent = comments.get(parent.parent))) {
        ancestors.unshift(parent);
        items.get(parent.id).answers++;
      }
      const above = ancestors[Math.min(ancestors.length, depth) - 1];
      const answered = ancestors.at(-1);
      const item = items.get(id);
      const named = answered == above ? undefined : answered;
      const state = JSON.stringify([comment, named]);
      if (item.state != state) item.firstChild.replaceWith(renderComment(thread, comment, named));
      (items.get(above?.id)?.replies ?? this.element).append(item);
      if (!item.state) item.fold.open = ancestors.length < 2 || innerWidth > 640;
      item.state = state;
    }
    for (const { fold, answers } of items.values()) {
      fold.firstChild.textContent = `${thread.messages.replies} (${answers})`;
    }
  }
}

function createItem(comment) {
  const replies = h("ol.replies");
  const fold = h("details.fold", {}, h("summary.link"), replies);
  const item = h("li.comment", { tabIndex: -1, commentId: comment.id, fold, replies }, "", fold);
  const id = anchorOf(comment);
  if (!document.getElementById(id)) item.id = id;
  return item;
}

export class CommentThread extends HTMLElement {
  static define() {
    customElements.define("comment-thread", this);
  }

  messages;
  page; // the last answer
  own; // OwnComments
  closed;
  tree = new CommentList();
  error = h("p.error", { role: "alert" });
  status = h("p.status", { role: "status" });

  #comments = []; // of all pages
  #deleted = new Map();
  target = [location.hash.slice(1)].find((id) =>
    this.contains(document.getElementById(id) ?? this),
  );

  #heading = h("h2.heading", { tabIndex: -1 });
  #order = h("select.link", { name: "sort" });
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
  #leave; // ends live.js

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

  path(name, parameters = {}) {
    return name + "?" + new URLSearchParams({ url: this.url, ...parameters });
  }

  async #begin() {
    this.#observer.disconnect();
    if (this.getAttribute("load") != "click") return this.load();
    this.messages = await loadMessages(this);
    this.offer("show");
  }

  offer(text, after) {
    this.#more.textContent = this.messages[text];
    this.#more.onclick = () => this.load(after);
    this.#more.hidden = false;
    if (!this.#more.isConnected) this.append(this.#more);
    this.#more.before(this.error);
  }

  async load(after) {
    const sort =
      this.#order.value || storage.get("sort") || this.getAttribute("sort") || "oldest";
    const path = this.path("comments", { sort, limit: 100, ...(after && { after }) });
    const built = this.querySelector("section[dir]");
    const prerendered = built && (await import("./prerendered.js").catch(() => {}));
    const answer = prerendered ? prerendered.fetchChanges(this, path, sort) : get(path);
    const own = storage.get("own-comments") && this.loadOwn();
    const loaded = Promise.allSettled([answer, own]);
    this.messages = await loadMessages(this);
    const loading = h("p.skeleton", {}, this.messages.loading);
    await stylesheet;
    if (!this.#box && !built) this.append(loading);
    await loaded;
    const page = await answer.catch(() => {});
    loading.remove();
    this.classList.toggle("commentsvc-failed", !page);
    this.error.textContent = page ? "" : this.messages.unread;
    if (!page) return this.offer("again", after);
    const wasPressed = document.activeElement == this.#more;
    const first = page.data.find(({ id }) => !this.tree.find(id));
    const { top, bottom } = this.getBoundingClientRect();
    const end = Math.min(bottom, innerHeight);
    this.style.minHeight = end - top + "px";
    this.page = page;
    this.#comments = after ? [...this.#comments, ...page.data] : page.data;
    for (const comment of page.deleted ?? []) this.#deleted.set(comment.id, comment);
    if (!this.#box) this.#build(sort, prerendered);
    this.show();
    this.#more.hidden = true;
    if (page.next) this.offer("more", page.next);
    // What is below stays there
    const growth = this.getBoundingClientRect().bottom - end;
    if (top < 0 && end < innerHeight - 9) scrollBy({ top: growth, behavior: "instant" });
    if (wasPressed) (this.tree.reveal(first?.id) ?? this.#heading).focus();
    if (this.target) (await import("./target.js")).seekTarget(this);
  }

  async loadOwn() {
    this.own ??= new (await import("./own_comments.js")).OwnComments(this.url);
  }

  #build(sort, prerendered) {
    const messages = this.messages;
    const { count, voting, closes } = this.page;
    for (const value of ["oldest", "newest", ...(voting ? ["top"] : [])]) {
      this.#order.append(new Option(messages[value], value, false, value == sort));
    }
    this.#order.ariaLabel = messages.sort;
    this.#feed.href = base + this.path("feed.atom");
    this.#feed.title = messages.feed;
    this.#feed.append(icon(FEED));
    const bar = h("div.bar", {}, this.#heading, h("div.actions", {}, this.#order, this.#feed));
    this.closed = this.hasAttribute("closed") || new Date(closes) < new Date();
    const focused = prerendered?.keepDraft(this);
    const draft = storage.get(this.url + "#");
    const text = messages[count ? "write" : "first"];
    const box = { name: "write", value: draft?.message ?? "", ariaLabel: text, placeholder: text, rows: 1 };
    this.#box = this.closed ? h("p.hint", {}, messages.closed) : h("textarea.input", box);
    const { tree, error, status } = this;
    this.replaceChildren(
      h("section.thread", {}, bar, tree.element, error, this.#more, status, this.#box),
    );
    const isPlain = getComputedStyle(this).color == "rgb(0, 0, 0)";
    if (isPlain) import("./contrast.js").then(({ keepContrast }) => keepContrast(this));
    if (focused) this.#box.focus();
    else if (draft) this.#react({ type: "focusin", target: this.#box });
    this.#stay();
  }

  async #react({ type, target, detail = undefined }) {
    const control = target.closest("[name], form");
    if (!control || control.form) return;
    const draft = this.url + "#";
    if (type == "input" && control == this.#box) {
      storage.set(draft, { ...storage.get(draft), message: control.value });
    }
    try {
      const { act } = await import("./actions.js").catch(again("actions"));
      await act(this, control, type, detail);
    } catch {
      control.after(this.error);
      this.error.textContent = this.messages.unreached;
    }
  }

  #stay() {
    const timer = setTimeout(async () => {
      const live = await import("./live.js").catch(() => {});
      if (live && this.#timer == timer) this.#leave = live.follow(this);
    }, 5000);
    this.#timer = timer;
  }

  show() {
    const { count, likes, reposts } = this.page;
    this.#heading.textContent = countText(this.messages, count);
    this.#order.hidden = this.#feed.hidden = count < 2;
    const active = document.activeElement;
    const item = this.tree.element.contains(active) && active.closest("li");
    this.tree.update(this.all(), this);
    this.own?.addButtons(this);
    if (likes || reposts) import("./live.js").then(({ showLikes }) => showLikes(this));
    if (storage.get("moderator")) import("./moderate.js").then(({ addLinks }) => addLinks(this));
    if (item) [active, item, this.#heading].find((element) => element.isConnected).focus();
    this.dispatchEvent(new Event("comments-shown", { bubbles: true }));
  }

  /** Comments by id; deleted ones come before their first reply */
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
