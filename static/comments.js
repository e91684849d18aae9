// The comments of a page
import { arrange, article, button, call, countText, make, makeForm } from "./comment.js";
import { memory, speak, tell, toggle, why } from "./comment.js";
import { network } from "./count.js";

const link = make("link", { rel: "stylesheet", href: new URL("comments.css", import.meta.url) });
const styled = new Promise((done) => (link.onload = link.onerror = done));
document.head.prepend(link); // first, so that the blog's styles win

/** Fills `thread` when it comes near the viewport */
function begin(thread) {
  const url = thread.getAttribute("url") || location.pathname;
  const heading = make("h2.heading", { tabIndex: -1 });
  const order = make("select", { onchange: () => load() });
  const list = make("ol.list");
  const more = make("button.button");
  const error = make("p.error", { role: "alert" });
  const status = make("p.status", { role: "status" });
  const receipts = memory("receipts") || {};
  let linked = /^#comment-\d+$/.test(location.hash);
  let comments = [], drawn = {}, page, words, closed, latest, live;
  const target = (name, more) => name + "?" + new URLSearchParams({ url, ...more });
  const find = (id) => thread.querySelector("#comment-" + id);

  function offer(text, after) {
    more.textContent = words[text];
    more.onclick = () => load(after);
    more.hidden = false;
    if (!more.isConnected) thread.append(more);
    more.before(error);
  }

  async function load(after) {
    const sort = order.value || thread.getAttribute("sort") || "oldest";
    const path = target("comments", { sort, limit: 100, ...(after && { after }) });
    const old = thread.querySelector("section[dir]");
    const built = old && (await import("./built.js").catch(() => {}));
    const asked = built ? built.newer(thread, path, sort) : call(path);
    let answer, fresh;
    [answer, words] = await Promise.all([asked.catch(() => {}), speak(thread), styled]);
    // What is seen below stays there
    const { top, bottom } = thread.getBoundingClientRect();
    const end = Math.min(bottom, innerHeight);
    const pressed = document.activeElement == more;
    thread.style.minHeight = end - top + "px";
    thread.classList.toggle("commentsvc-failed", !answer);
    error.textContent = answer ? "" : words.unread;
    if (answer) {
      page = answer;
      comments = [...(after ? comments : []), ...page.data];
      fresh = page.data.find(({ id }) => !find(id));
      if (!list.isConnected) build(sort, built);
      show();
      more.hidden = true;
      if (page.next) offer("more", page.next);
    } else offer("again", after);
    const grown = thread.getBoundingClientRect().bottom - end;
    if (top < 0 && end < innerHeight - 9) scrollBy({ top: grown, behavior: "instant" });
    if (answer && pressed) (fresh ? find(fresh.id) : heading).focus();
    if (!answer || !linked) return;
    if (page.next && !thread.querySelector(location.hash)) return load(page.next);
    linked = false;
    location.replace(location.href); // goes there
  }

  function build(sort, built) {
    for (const value of ["oldest", "newest", ...(page.voting ? ["top"] : [])])
      order.append(new Option(words[value], value, false, value == sort));
    order.ariaLabel = words.sort;
    const feed = make("a.link", { href: network.base + target("feed.atom") }, words.feed);
    const bar = make("header.bar", {}, heading, order, feed);
    closed = thread.hasAttribute("closed") || new Date(page.closes) < new Date();
    const form = closed ? make("p.hint", {}, words.closed) : makeForm(words, url, words.write);
    const typing = built && built.carry(thread, form);
    thread.replaceChildren(make("section.thread", {}, bar, list, error, more, status, form));
    typing?.focus();
    document.addEventListener("visibilitychange", listen);
    listen();
    setInterval(() => thread.querySelectorAll("time").forEach((time) => tell(words, time)), 60000);
  }

  function listen() {
    live?.close();
    if (document.hidden) return; // a browser has few connections
    live = new EventSource(network.base + target("api/comments/stream"));
    live.onmessage = ({ data }) => {
      if (!more.hidden || JSON.parse(data).count <= page.count) return;
      status.textContent = words.fresh;
      offer("fresh");
    };
  }

  function show() {
    heading.textContent = countText(words, page.count);
    for (const other of document.querySelectorAll("comment-count"))
      if (other.url == url) other.count = page.count;
    const all = new Map(comments.map((comment) => [comment.id, comment]));
    for (const mine of Object.values(receipts)) {
      const { id } = mine.comment;
      if (mine != latest && new Date(mine.token_expires) < new Date()) delete receipts[id];
      else if (mine.url == url) {
        const note = (!all.has(id) || mine == latest) && words[mine.status];
        all.set(id, { ...mine.comment, ...all.get(id), mine, note });
      }
    }
    // What has not changed keeps forms and the focus
    const keep = (it, above, key = JSON.stringify([it, above])) => {
      if (drawn[it.id]?.key != key) drawn[it.id] = draw(it, above);
      return Object.assign(drawn[it.id], { key });
    };
    const active = document.activeElement;
    const at = list.contains(active) && active.closest("[id]").id;
    arrange(list, all, thread.getAttribute("depth") ?? 4, keep);
    if (at) (list.contains(active) ? active : list.querySelector("#" + at) || heading).focus();
  }

  function draw(comment, above) {
    const { author, mine, note } = comment;
    const open = (...about) => ({ target }) => toggle(target, makeForm(words, url, ...about));
    const title = words.replyTo.replace("#", author);
    const actions = [];
    if (!closed && !note) actions.push(button(words.reply, open(title, comment), title));
    if (page.voting && !note) actions.push(...ballots(comment));
    if (mine?.token) {
      actions.push(button(words.edit, open(words.edit, comment, mine)));
      actions.push(button(words.delete, deed("withdraw", mine)));
    }
    return article(words, comment, above, actions);
  }

  function ballots({ id, votes }) {
    const cast = deed("cast", id);
    const voted = memory("votes")?.[id];
    const ballot = (value, text, label) =>
      Object.assign(button(text, cast, label), { value, ariaPressed: voted == value });
    const up = [ballot(1, "▲", words.up), make("span.votes", {}, votes)];
    return page.voting == "both" ? [...up, ballot(-1, "▼", words.down)] : up;
  }

  const deed = (name, about) => async ({ target }) => {
    error.textContent = "";
    target.parentNode.after(error);
    try {
      const deeds = await import("./deeds.js");
      if (await deeds[name](target, about, words, receipts)) change("deleted");
    } catch (fault) {
      error.textContent = why(words, fault);
    }
  };

  function change(text) {
    memory("receipts", receipts);
    status.textContent = words[text];
    load();
  }

  thread.addEventListener("comment-submitted", ({ target, detail }) => {
    const { id } = detail.comment;
    target.onreset?.();
    latest = receipts[id] = { ...receipts[id], ...detail, url };
    show();
    find(id).focus();
    change(detail.status);
  });

  thread.near = new IntersectionObserver(async ([{ isIntersecting }]) => {
    if (!isIntersecting && !linked) return;
    thread.near.disconnect();
    if (thread.getAttribute("load") != "click") return load();
    words = await speak(thread);
    offer("show");
  }, { rootMargin: "600px" });
  thread.near.observe(thread);
}

customElements.define("comment-thread", class extends HTMLElement {
  connectedCallback() {
    if (!this.near) begin(this); // it may have been moved
  }
});
