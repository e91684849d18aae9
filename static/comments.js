// What a first view needs is requested together with common.js, which asks for it when it has come
const shared = import("./common.js");
const base = new URL("..", document.querySelector("[rel~=commentsvc]")?.href ?? import.meta.url).href;
const NEAR = 600; // pixels below the window

/** The list of a page's comments, as a path below "api/" */
const listPath = (url, sort, more) => "comments?" + new URLSearchParams({ url, sort, limit: 100, ...more });

function preload(path, as = "fetch", crossOrigin = "") {
  const link = document.createElement("link");
  document.head.append(Object.assign(link, { rel: "preload", href: base + path, as, crossOrigin }));
}

/** Request what a thread that is near asks for in load() */
function preloadThread(host) {
  if (host.querySelector("section") || !(host.getClientRects()[0]?.top < innerHeight + NEAR)) return;
  const url = host.getAttribute("url") || location.pathname;
  let sort = host.getAttribute("sort") || "oldest";
  try {
    sort = JSON.parse(localStorage["commentsvc:sort"]);
  } catch {}
  preload("api/" + listPath(url, sort));
  preload(`static/locales/${host.closest("[lang]")?.lang || "en"}.json`);
}

preload("static/comments.css", "style", null);
document.querySelectorAll("comment-thread:not([load])").forEach(preloadThread);

const {
  actionButton,
  again,
  anchorOf,
  countText,
  FEED,
  get,
  h,
  icon,
  loadMessages,
  loadStylesheet,
  reflect,
  setHTML,
  showRelativeTime,
  storage,
  takeProperties,
} = await shared;

const stylesheet = loadStylesheet("comments.css");

function avatar({ author, picture, initial = [...author][0] }) {
  let hue = 0;
  for (const letter of author) hue = (hue * 31 + letter.codePointAt(0)) % 360;
  const style = "--commentsvc-hue:" + (hue - (hue % 30));
  const element = h("span.avatar", { ariaHidden: "true", style }, initial);
  if (picture) element.append(h("img", { src: base + picture, alt: "", onerror: ({ target }) => target.remove() }));
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
  if (answered) date.append(" ", h("a", { href: "#" + anchorOf(answered) }, "↪ " + answered.author));
  const badge = messages[role || (verified && "verified")];
  const from = href ? h("a.badge", { href, rel }, href.split("/")[2]) : "";
  return h("div.meta", {}, name, badge ? h("span.badge commentsvc-" + role, {}, badge) : "", from, date);
}

function renderComment(thread, comment, answered) {
  const { messages, closed, page } = thread;
  const { id, author, votes } = comment;
  if (comment.deleted) return h("p.hint", {}, messages.gone);
  const actions = h("div.actions");
  const voteButton = (value, path, title) =>
    actionButton("vote", path, `${title}: ${author}`, { value, ariaPressed: storage.get("votes")?.[id] == value });
  if (page.voting && !page.emoji) actions.append(voteButton(1, "M3 10.5l5-5 5 5", messages.up), h("span.votes", {}, votes || ""));
  if (page.voting == "both") actions.append(voteButton(-1, "M3 5.5l5 5 5-5", messages.down));
  if (!closed) {
    actions.append(
      actionButton("reply", "M3 3h10v8H8l-3 3v-3H3z", messages.replyTo.replace("#", () => author), {}, messages.reply),
    );
  }
  actions.append(actionButton("menu", "M3 7.7v.6m5-.6v.6m5-.6v.6", `${messages.menu}: ${author}`));
  const body = setHTML(h("div.body", { dir: "auto" }), comment.html);
  if (body.querySelector(":not(p,br,a,strong,em,code),[href^='#']")) {
    import("./rich.js").then(({ enrich }) => enrich(body, thread));
  }
  return h("article", {}, avatar(comment), header(messages, comment, answered), body, actions);
}

class CommentList {
  element = h("ol.list");
  #items = new Map();

  find(id) {
    return this.#items.get(id);
  }

  update(comments, thread) {
    const isWide = innerWidth > 640; // asked once: a phone lays out the page for it
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
      const above = ancestors.slice(0, thread.host.depth).at(-1);
      const answered = ancestors.at(-1);
      const item = items.get(id);
      const named = answered != above && answered;
      const state = JSON.stringify([comment, named]);
      if (item.state != state) item.firstChild.replaceWith(renderComment(thread, comment, named));
      (items.get(above?.id)?.replies ?? this.element).append(item);
      if (!item.state) item.fold.open = ancestors.length < 2 || isWide;
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

export class Thread {
  hasEnded;
  tree = new CommentList();
  error = h("p.error", { role: "alert" });
  status = h("p.status", { role: "status" });

  #comments;
  #sort;
  #element = h("section.thread");
  #heading = h("h2.heading", { tabIndex: -1 });
  #order = h("select.link", { name: "sort" });
  #feed;
  #more = h("button.button", { type: "button" });
  #loading = h("div.comment");
  box;
  #fallback = [];
  #answer; // to the last request: when an earlier one comes later, it is of no use

  #observer = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (isIntersecting || this.target) this.#begin();
    },
    { rootMargin: NEAR + "px" },
  );
  #leaving;

  constructor(host, isSorted) {
    this.host = host;
    this.url = host.url;
    this.#sort = (!isSorted && storage.get("sort")) || host.sort;
    const id = location.hash.slice(1);
    if (host.contains(document.getElementById(id) ?? host)) this.target = id;
    for (const type of ["focusin", "input", "click", "comment-submitted"]) {
      this.#element.addEventListener(type, (event) => this.#react(event));
    }
  }

  resume() {
    if (!this.page) return this.#observer.observe(this.host);
    this.pause();
    this.#leaving = new AbortController();
    const { signal } = this.#leaving;
    if (getComputedStyle(this.host).color == "rgb(0, 0, 0)") {
      import("./thread/contrast.js").then(({ keepContrast }) => keepContrast(this.#element, signal));
    }
    setTimeout(() => import("./thread/live.js").then(({ follow }) => follow(this, signal), () => {}), 5000);
  }

  pause() {
    this.#observer.disconnect();
    this.#leaving?.abort();
  }

  end() {
    this.pause();
    this.hasEnded = true;
    const built = this.host.querySelector("section[dir]");
    if (built) import("./thread/prerendered.js").then(({ keepDraft }) => keepDraft(this, built));
    this.host.querySelector(".commentsvc-thread")?.replaceWith(...this.#fallback);
    this.#element.append(this.#loading, this.error, this.#more);
  }

  path(name, more) {
    return name + "?" + new URLSearchParams({ url: this.url, ...more });
  }

  #begin() {
    this.#observer.disconnect();
    if (!this.host.load) return this.load().catch(() => this.host.classList.add("commentsvc-failed"));
    import("./thread/click.js").then(({ offer }) => offer(this));
  }

  offer(text, after) {
    if (this.hasEnded) return;
    this.#more.textContent = this.messages[text];
    this.#more.onclick = () => this.load(after);
    this.#more.hidden = false;
    if (!this.#more.isConnected) this.host.append(this.#more);
    this.#more.before(this.error);
  }

  async load(after) {
    const { host } = this;
    const sort = this.#order.value || this.#sort;
    const path = listPath(this.url, sort, after && { after });
    const built = host.querySelector("section[dir]");
    const prerendered = built && (await import("./thread/prerendered.js").catch(() => null));
    const answer = prerendered?.fetchChanges(built, path, sort) ?? get(path);
    this.#answer = answer;
    const own = storage.get("own-comments") && this.loadOwn();
    let isLoaded;
    const loaded = Promise.allSettled([answer, own]).then(() => (isLoaded = true));
    this.messages = await loadMessages(host);
    this.#loading.replaceChildren(h("article", {}, h("span.avatar"), h("p.hint", {}, this.messages.loading)));
    await stylesheet;
    if (!isLoaded && !this.box && !built && !this.hasEnded) host.append(this.#loading);
    await loaded;
    const page = await answer.catch(() => {});
    if (page?.deleted) {
      await import("./thread/deleted.js").then(({ placeDeleted }) => placeDeleted(page), () => {});
    }
    const wasPressed = document.activeElement == this.#more;
    const folds = wasPressed && (await import("./thread/reveal.js").catch(() => null));
    if (this.hasEnded || answer != this.#answer) return;
    this.#loading.remove();
    host.classList.toggle("commentsvc-failed", !page);
    this.error.textContent = page ? "" : this.messages.unread;
    if (!page) return this.offer("again", after);
    const first = page.data.find(({ id }) => !this.tree.find(id));
    const { top, bottom } = host.getBoundingClientRect();
    const end = Math.min(bottom, innerHeight);
    host.style.minHeight = end - top + "px";
    this.page = page;
    this.#comments = after ? [...this.#comments, ...page.data] : page.data;
    const isFirst = !this.box; // the styles that resume() looks at are computed once, with the comments
    if (isFirst) this.#build(sort, prerendered?.keepDraft(this, built));
    this.show();
    if (isFirst && host.isConnected) this.resume();
    this.#more.hidden = true;
    if (page.next) this.offer("more", page.next);
    if (top < 0 && end < innerHeight - 9) {
      scrollBy({ top: host.getBoundingClientRect().bottom - end, behavior: "instant" });
    }
    if (wasPressed) (folds?.reveal(this.tree, first?.id) ?? this.#heading).focus();
    if (this.target) this.seek();
  }

  async seek() {
    (await import("./thread/target.js")).seekTarget(this);
  }

  async loadOwn() {
    this.own ??= new (await import("./thread/own_comments.js")).OwnComments(this.url);
  }

  #build(sort, isFocused) {
    const { messages, tree, error, status } = this;
    const { count, voting, closes } = this.page;
    for (const value of ["oldest", "newest", "top"].slice(0, voting ? 3 : 2)) {
      this.#order.append(new Option(messages[value], value, false, value == sort));
    }
    this.#order.ariaLabel = messages.sort;
    this.#feed = h("a.link", { href: base + this.path("feed.atom"), title: messages.feed }, icon(FEED));
    this.closed = this.host.closed || new Date(closes) < new Date();
    const isTop = (this.host.form || (sort == "newest" && "top")) == "top";
    const isFar = count > 1 && !isTop && !this.closed;
    const jump = isFar ? h("button.link", { type: "button", name: "compose" }, messages.write) : "";
    const bar = h("div.bar", {}, this.#heading, h("div.actions", {}, this.#order, this.#feed, jump));
    const draft = storage.get(this.url + "#");
    const placeholder = messages[count ? "write" : "first"];
    const box = { name: "write", value: draft?.message ?? "", ariaLabel: placeholder, placeholder, rows: 1 };
    this.box = this.closed ? h("p.hint", {}, messages.closed) : h("textarea.input", box);
    this.#element.append(bar, tree.element, error, this.#more, status, this.box);
    if (isTop) bar.after(this.box);
    this.#fallback = [...this.host.childNodes].filter((/** @type {any} */ node) => node.className != "commentsvc-thread");
    this.host.replaceChildren(this.#element);
    if (isFocused) this.box.focus();
    else if (draft) this.#react({ type: "focusin", target: this.box });
  }

  async #react(event) {
    const control = event.target.closest("[name], form");
    if (!control || this.#element.contains(control.form)) return;
    const draft = this.url + "#";
    if (event.type == "input" && control == this.box) {
      storage.set(draft, { ...storage.get(draft), message: control.value });
    }
    try {
      const { act } = await import("./thread/actions.js").catch(again("thread/actions"));
      await act(this, control, event);
    } catch {
      control.after(this.error);
      this.error.textContent = this.messages.unreached;
    }
  }

  show() {
    if (this.hasEnded) return;
    const { count } = this.page;
    this.#heading.textContent = countText(this.messages, count);
    this.#order.hidden = this.#feed.hidden = count < 2;
    const active = document.activeElement;
    const item = this.tree.element.contains(active) && active.closest("li");
    this.tree.update(this.all(), this);
    this.own?.addButtons(this);
    if (item) [active, item, this.#heading].find(({ isConnected }) => isConnected).focus();
    this.host.dispatchEvent(new Event("comments-shown", { bubbles: true }));
    requestAnimationFrame(() => setTimeout(() => this.#showExtras())); // sizes are known then
  }

  #showExtras() {
    const cut = [...this.#element.querySelectorAll(".commentsvc-body")].filter(
      (body) => body.scrollHeight > body.clientHeight + 9,
    );
    const { page } = this;
    if (page.likes || page.reposts || page.emoji || cut[0] || storage.get("extras") || document.querySelector("base, .commentsvc-owner")) {
      const uncut = () => cut.forEach((body) => (body.style.maxHeight = "none"));
      import("./thread/extras.js").then(({ showExtras }) => showExtras(this, cut), uncut);
    }
  }

  all() {
    const comments = new Map(this.#comments.map((comment) => [comment.id, comment]));
    this.own?.addTo(comments, this.messages);
    return comments;
  }
}

export class CommentThread extends HTMLElement {
  static observedAttributes = ["url", "sort", "depth", "load", "closed", "lang", "form"];

  static define() {
    reflect(this, {
      url: (value) => value || location.pathname,
      sort: (value) => ["newest", "top"].find((word) => word == value?.toLowerCase()) ?? "oldest",
      depth: (value) => (/^\s*\d/.test(value) ? parseInt(value) : 4),
      load: (value) => ["click"].find((word) => word == value?.toLowerCase()) ?? "",
      form: (value) => ["top", "bottom"].find((word) => word == value?.toLowerCase()) ?? "",
      closed: (value) => (value ?? "false") != "false",
    });
    customElements.define("comment-thread", this);
  }

  #thread;

  constructor() {
    super();
    takeProperties(this);
  }

  connectedCallback() {
    if (this.#thread?.url != this.url) this.#replace();
    this.#thread.resume();
  }

  disconnectedCallback() {
    this.#thread.pause();
  }

  attributeChangedCallback(name, before, after) {
    if (this.#thread && before != after) {
      this.#replace(name == "sort");
      if (this.isConnected) this.#thread.resume();
    }
  }

  #replace(isSorted) {
    this.#thread?.end();
    this.#thread = new Thread(this, isSorted);
  }
}

if (document.querySelector("comment-count")) import("./count.js");
CommentThread.define();
