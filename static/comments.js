// The comments of a page
import { article, button, call, countText, make, memory, speak, words } from "./comment.js";
import { network } from "./count.js";
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
  #latest;
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

  #target(name, more) {
    return name + "?" + new URLSearchParams({ url: this.url, ...more });
  }

  #offer(text, after) {
    this.#more.textContent = words[text];
    this.#more.onclick = () => this.#load(after);
    this.#more.hidden = false;
    if (!this.#list.isConnected) this.append(this.#error, this.#more);
  }

  async #load(after) {
    const pressed = document.activeElement == this.#more;
    const sort = this.#sort.value || this.getAttribute("sort") || "oldest";
    const target = this.#target("comments", { sort, limit: 100, ...(after && { after }) });
    const [{ data }] = await Promise.all([call(target), speak(this), styled]).catch(() => [{}]);
    this.classList.toggle("commentsvc-failed", !data);
    if (!words) return;
    this.#error.textContent = data ? "" : words.unread;
    if (!data) return this.#offer("again", after);
    if (!this.#list.isConnected) this.#build(sort, data.closes);
    const known = this.#comments;
    this.#comments = [...(after ? known : []), ...data.data];
    this.#count(data.count);
    this.#show();
    if (this.getBoundingClientRect().bottom < innerHeight) this.style.minHeight = "100vh";
    this.#more.hidden = true;
    if (data.next) this.#offer("more", data.next);
    const fresh = this.#comments.find(({ id }) => !known.some((comment) => comment.id == id));
    if (pressed) (fresh ? this.#find(fresh.id) : this.#heading).focus();
    else this.#seek(data.next);
  }

  #seek(next) {
    const [, id] = /^#comment-(\d+)$/.exec(this.#hash) || [];
    if (id && next && !this.#find(id)) return this.#load(next);
    this.#hash = "";
    if (id) location.replace(location.href);
  }

  #build(sort, closes) {
    for (const value of ["oldest", "newest"]) {
      this.#sort.append(new Option(words[value], value, false, value == sort));
    }
    this.#sort.ariaLabel = words.sort;
    const feed = make("a", "link", { href: network.base + this.#target("feed.atom") }, words.feed);
    const bar = make("header", "bar", {}, this.#heading, this.#sort, feed);
    this.#closed = this.hasAttribute("closed") || new Date(closes) < new Date();
    const form = this.#closed ? make("p", "hint", {}, words.closed) : makeForm(this.url);
    const parts = [bar, this.#list, this.#error, this.#more, this.#status, form];
    this.replaceChildren(make("section", "thread", {}, ...parts));
  }

  #count(count) {
    this.#heading.textContent = countText(count);
    for (const other of document.querySelectorAll("comment-count")) {
      if (other.url == this.url) other.count = count;
    }
  }

  #show() {
    const comments = new Map(this.#comments.map((comment) => [comment.id, { ...comment }]));
    for (const mine of this.#receipts) {
      const { id } = mine.comment;
      const listed = comments.get(id);
      const note = (!listed || mine == this.#latest) && make("p", "note", {}, words[mine.status]);
      if (mine.url == this.url) comments.set(id, { ...mine.comment, ...listed, note });
    }
    const items = new Map();
    for (const [id, comment] of comments) {
      const above = [];
      for (let up = comment; (up = comments.get(up.parent)); ) above.unshift(up);
      const home = above[Math.min(above.length, this.getAttribute("depth") ?? 4) - 1];
      const article = this.#article(comment, home != above.at(-1) && above.at(-1));
      const properties = { id: "comment-" + id, tabIndex: -1 };
      const item = make("li", "comment", properties, article, make("ol", "replies"));
      items.set(id, { item, home });
    }
    this.#list.replaceChildren();
    for (const { item, home } of items.values()) {
      (home ? items.get(home.id).item.lastChild : this.#list).append(item);
    }
  }

  #article(comment, above) {
    const { author, note } = comment;
    const actions = [];
    if (!this.#closed && !note) {
      const open = ({ target }) => this.#toggle(target, makeForm(this.url, comment));
      actions.push(button(words.reply, open, words.replyTo.replace("#", author)));
    }
    return article(comment, above, note || "", ...actions);
  }

  #find(id) {
    return this.querySelector("#comment-" + id);
  }

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

  async #submitted({ detail }) {
    const { id } = detail.comment;
    this.#receipts = this.#receipts.filter(({ comment }) => comment.id != id);
    this.#latest = { ...detail, url: this.url };
    this.#receipts.push(this.#latest);
    memory("mine", this.#receipts);
    this.#show();
    await this.#load();
    this.#status.textContent = words[detail.status];
    this.#find(id).focus();
  }
}

customElements.define("comment-thread", CommentThread);
