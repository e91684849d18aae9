// The comments of a page
import { arrange, article, button, call, countText, make, memory, speak, words } from "./comment.js";
import { network } from "./count.js";
import { ballots, withdraw } from "./deeds.js";
import { makeForm } from "./form.js";

const link = make("link", "", { rel: "stylesheet", href: new URL("comments.css", import.meta.url) });
const styled = new Promise((done) => (link.onload = link.onerror = done));
document.head.prepend(link); // first, so that the blog's styles win

class CommentThread extends HTMLElement {
  #heading = make("h2", "heading", { tabIndex: -1 });
  #sort = make("select", "", { onchange: () => this.#load() });
  #list = make("ol", "list");
  #more = make("button", "button");
  #error = make("p", "error", { role: "alert" });
  #status = make("p", "status", { role: "status" });
  #receipts = (memory("mine") || []).filter((mine) => new Date(mine.token_expires) > new Date());
  #comments = [];
  #closed;
  #count;
  #voting;
  #latest;
  #live;
  #opener;
  #near;
  #hash = location.hash;

  get url() {
    return this.getAttribute("url") || location.pathname;
  }

  connectedCallback() {
    if (this.#near) return; // only moved
    this.addEventListener("comment-submitted", this.#submitted);
    this.addEventListener("reset", () => this.#close().focus());
    this.#near = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting && !/^#comment-/.test(this.#hash)) return;
      this.#near.disconnect();
      if (this.getAttribute("load") == "click") speak(this).then(() => this.#offer("show"));
      else this.#load();
    }, { rootMargin: "600px" });
    this.#near.observe(this);
  }

  #target = (name, more) => name + "?" + new URLSearchParams({ url: this.url, ...more });

  #offer(text, after) {
    this.#more.textContent = words[text];
    this.#more.onclick = () => this.#load(after);
    this.#more.hidden = false;
    if (!this.#list.isConnected) this.append(this.#more);
    this.#more.before(this.#error);
  }

  async #load(after) {
    const pressed = document.activeElement == this.#more;
    const sort = this.#sort.value || this.getAttribute("sort") || "oldest";
    const target = this.#target("comments", { sort, limit: 100, ...(after && { after }) });
    const built = this.#list.isConnected || !this.querySelector("section") || import("./built.js");
    const { newer = () => call(target), carry } = await Promise.resolve(built).catch(() => 0);
    const [{ data }] = await Promise.all([newer(this, target, sort), speak(this), styled]).catch(() => [{}]);
    this.classList.toggle("commentsvc-failed", !data);
    if (!words) return;
    this.#error.textContent = data ? "" : words.unread;
    if (!data) return this.#offer("again", after);
    this.#voting = data.voting;
    if (!this.#list.isConnected) this.#build(sort, data.closes, carry);
    const known = this.#comments;
    this.#comments = [...(after ? known : []), ...data.data];
    this.#count = data.count;
    this.#show();
    if (this.getBoundingClientRect().bottom < innerHeight) this.style.minHeight = "100vh";
    this.#more.hidden = true;
    if (data.next) this.#offer("more", data.next);
    const fresh = this.#comments.find(({ id }) => !known.some((comment) => comment.id == id));
    if (pressed) return (fresh ? this.#find(fresh.id) : this.#heading).focus();
    const [, id] = /^#comment-(\d+)$/.exec(this.#hash) || [];
    if (id && data.next && !this.#find(id)) return this.#load(data.next);
    this.#hash = "";
    if (id) location.replace(location.href);
  }

  #build(sort, closes, carry) {
    for (const value of ["oldest", "newest", ...(this.#voting ? ["top"] : [])])
      this.#sort.append(new Option(words[value], value, false, value == sort));
    this.#sort.ariaLabel = words.sort;
    const feed = make("a", "link", { href: network.base + this.#target("feed.atom") }, words.feed);
    const bar = make("header", "bar", {}, this.#heading, this.#sort, feed);
    this.#closed = this.hasAttribute("closed") || new Date(closes) < new Date();
    const form = this.#closed ? make("p", "hint", {}, words.closed) : makeForm(this.url);
    const parts = [bar, this.#list, this.#error, this.#more, this.#status, form];
    const typing = carry?.(this, form);
    this.replaceChildren(make("section", "thread", {}, ...parts));
    typing?.focus();
    document.addEventListener("visibilitychange", () => this.#listen());
    this.#listen();
  }

  #listen() {
    this.#live?.close();
    if (document.hidden) return; // a browser has few connections
    this.#live = new EventSource(network.base + this.#target("api/comments/stream"));
    this.#live.onmessage = ({ data }) => {
      if (this.#more.hidden && JSON.parse(data).count > this.#count) this.#offer("fresh");
    };
  }

  #show() {
    this.#heading.textContent = countText(this.#count);
    for (const other of document.querySelectorAll("comment-count"))
      if (other.url == this.url) other.count = this.#count;
    const comments = new Map(this.#comments.map((comment) => [comment.id, { ...comment }]));
    for (const mine of this.#receipts) {
      const { id } = mine.comment;
      const listed = comments.get(id);
      const note = (!listed || mine == this.#latest) && make("p", "note", {}, words[mine.status]);
      if (mine.url == this.url) comments.set(id, { ...mine.comment, ...listed, mine, note });
    }
    arrange(this.#list, comments, this.getAttribute("depth") ?? 4, this.#article);
  }

  #article = (comment, above) => {
    const { author, mine, note } = comment;
    const open = (...about) => ({ target }) => this.#toggle(target, makeForm(this.url, ...about));
    const actions = [];
    if (!this.#closed && !note)
      actions.push(button(words.reply, open(comment), words.replyTo.replace("#", author)));
    if (this.#voting && !note) actions.push(...ballots(comment, this.#voting));
    if (mine?.token) {
      actions.push(button(words.edit, open(comment, mine)));
      actions.push(button(words.delete, () => this.#delete(mine)));
    }
    return article(comment, above, note || "", ...actions);
  };

  #find = (id) => this.querySelector("#comment-" + id);

  #toggle(opener, form) {
    if (this.#close() == opener) return;
    this.#opener = opener;
    opener.ariaExpanded = true;
    opener.parentNode.after(form);
    form.message.focus();
  }

  #close() {
    const opener = this.#opener;
    this.#opener = undefined;
    opener?.parentNode.nextSibling.remove();
    if (opener) opener.ariaExpanded = false;
    return opener;
  }

  #remember(id, ...receipts) {
    this.#receipts = [...this.#receipts.filter(({ comment }) => comment.id != id), ...receipts];
    memory("mine", this.#receipts);
  }

  async #submitted({ detail }) {
    const { id } = detail.comment;
    const known = this.#receipts.find((mine) => mine.comment.id == id);
    this.#latest = { ...known, ...detail, url: this.url };
    this.#remember(id, this.#latest);
    this.#show();
    await this.#load();
    this.#status.textContent = words[detail.status];
    this.#find(id).focus();
  }

  async #delete(mine) {
    if (!(await withdraw(mine))) return;
    this.#remember(mine.comment.id);
    await this.#load();
    this.#status.textContent = words.deleted;
    this.#heading.focus();
  }
}

customElements.define("comment-thread", CommentThread);
