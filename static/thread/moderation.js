// Moderating in the thread, for a tab that has a moderator's token for this blog

import { actionButton, h, loadMessages, loadStylesheet } from "../common.js";
import { showCounts } from "../counts.js";
import { errorText, send } from "../send.js";
import { addButtons as mark } from "./own_buttons.js";
import { OwnComments } from "./own_comments.js";

const ICONS = {
  approve: "M3 8.5 6.5 12 13 4.5",
  answer: "M3 3h10v8H8l-3 3v-3H3z",
  pin: "M5 2.5h6M6 2.5v5L4 10h8l-2-2.5v-5M8 10v4",
  delete: "M3 4.5h10M6.5 4V2.5h3V4M4.5 4.5l.5 9h6l.5-9M7 7v4M9 7v4",
};

/**
 * Show what waits in the thread, and what a moderator with a `token` can do. `leave` forgets the
 * token, `link` makes the link to a comment on the moderation pages. `draft` returns the answer to a
 * comment that was not sent, and keeps a new one, in this tab; `forget` removes all of these.
 */
export async function moderate(thread, access) {
  if (thread.own instanceof ThreadModeration) return;
  const parts = ["-moderation", "-tools", "-form"].map((part) => loadMessages(thread.host, part));
  const [texts, { undo }, form] = await Promise.all([...parts, loadStylesheet("form.css")]);
  if (thread.hasEnded || thread.own instanceof ThreadModeration) return;
  Object.assign(thread.messages, form);
  const moderation = new ThreadModeration(thread, access, { ...texts, undo });
  thread.own = moderation;
  await moderation.refresh();
}

/**
 * Return the times of `comments` by id. A deleted one has none, and gets that of the first of its
 * replies in the `order` (1 or -1), as in thread/deleted.js.
 */
function timesOf(comments, order) {
  const times = new Map();
  for (const [id, { published, deleted, parent }] of comments) {
    if (deleted) continue;
    const time = Date.parse(published) || Date.now();
    times.set(id, time);
    for (let above = parent; comments.get(above)?.deleted; above = comments.get(above).parent) {
      const first = times.get(above) ?? time;
      times.set(above, order * (time - first) < 0 ? time : first);
    }
  }
  return times;
}

/** The moderator's own comments as a reader, those that wait, and what can be done with all. */
class ThreadModeration extends OwnComments {
  #thread;
  #access;
  #texts;
  #waiting = new Map(); // comments by id, as the service sends them
  #deleted = new Map(); // those that were deleted here: they keep their places for the undo button
  #seen; // the id of the last change that was read with them
  #finished = new WeakSet(); // elements with our buttons
  #isBusy = false;
  #about = h("span.hint", {});
  #bar = h("div.bar", { tabIndex: -1 });

  constructor(thread, access, texts) {
    super(thread.url);
    this.#thread = thread;
    this.#access = access;
    this.#texts = texts;
    const button = (text, onclick) => h("button.link", { type: "button", onclick }, text);
    const next = button(texts.next, () => this.#run(() => this.#next()));
    const end = button(texts.end, () => this.#run(() => this.#end()));
    this.#bar.append(this.#about, h("div.actions", {}, next, end));
    thread.tree.element.before(this.#bar);
    thread.host.querySelector("[href*='/moderation/on-blog']")?.remove();
  }

  /** Read what waits, then the thread, so that nothing is newer than what decisions say was seen. */
  async refresh() {
    const thread = this.#thread;
    const { awaiting } = thread.messages;
    try {
      const query = new URLSearchParams({ url: thread.url });
      const { data, seen, moderator, more } = await this.#send("POST", `comments?${query}`);
      this.#waiting = new Map(data.map((comment) => [comment.id, comment]));
      this.#seen = seen;
      const texts = [this.#texts.as.replace("#", () => moderator), `${awaiting}: ${data.length}.`];
      this.#about.textContent = [...texts, more ? this.#texts.more : ""].join(" ").trim();
    } catch (failure) {
      return this.#fail(failure, this.#bar);
    }
    await thread.load();
    if (!thread.hasEnded) showCounts(thread.url, thread.page.count);
  }

  /** Add the waiting comments to `comments`, a Map by id, in their places. */
  addTo(comments, messages) {
    super.addTo(comments, messages);
    for (const [id, comment] of [...this.#waiting, ...this.#deleted]) {
      if (!comments.has(id)) comments.set(id, { ...comment, isWaiting: this.#waiting.has(id) });
    }
    const order = { oldest: 1, newest: -1 }[this.#thread.host.querySelector("[name=sort]").value];
    if (!order) return;
    const times = timesOf(comments, order);
    const sorted = [...comments].sort(
      ([id, one], [otherId, other]) =>
        Number(!!other.pinned) - Number(!!one.pinned) || order * (times.get(id) - times.get(otherId)),
    );
    comments.clear();
    for (const [id, comment] of sorted) comments.set(id, comment);
  }

  addButtons(thread) {
    super.addButtons(thread);
    mark(thread, [...this.#waiting.values()].map((comment) => ({ comment })));
    for (const comment of thread.all().values()) {
      const item = thread.tree.find(comment.id);
      const actions = item?.querySelector(":scope > article > .commentsvc-actions");
      if (!actions) continue;
      item.firstChild.hidden = this.#deleted.has(comment.id);
      if (this.#finished.has(actions)) continue;
      this.#finished.add(actions);
      this.#decorate(item.firstChild, actions, comment);
    }
  }

  /** Add to a comment what can be done with it. */
  #decorate(article, actions, comment) {
    const { id, author, own, pinned, parent } = comment;
    const isWaiting = comment.isWaiting && this.#waiting.has(id);
    if (isWaiting) {
      article.style.setProperty("--commentsvc-card", "var(--commentsvc-tint)");
      article.style.setProperty("--commentsvc-padding", "0.75em");
    }
    const reply = actions.querySelector("[name=reply]");
    if (reply) reply.hidden = true; // in favour of an answer
    const add = (name, act, label = this.#texts[name]) =>
      actions.append(
        actionButton(`moderate-${name}`, ICONS[name], `${label}: ${author}`, { onclick: () => this.#run(act, id) }, label),
      );
    if (isWaiting) add("approve", () => this.#decide(comment, "approve"));
    add("answer", () => this.#write(comment));
    if (!isWaiting && !parent) add("pin", () => this.#pin(comment), this.#texts[pinned ? "unpin" : "pin"]);
    if (!own) add("delete", () => this.#decide(comment, "delete"), this.#thread.messages.delete);
    if (!actions.querySelector("[href*='/moderation/comment']")) actions.append(this.#access.link(id));
  }

  async #decide(comment, action) {
    const { id } = comment;
    const result = await this.#send("POST", "decisions", { action, id, seen: this.#seen });
    const isDeleted = result.done && action == "delete";
    if (isDeleted) this.#deleted.set(id, comment);
    const undo = () => {
      this.#deleted.delete(id);
      return this.#send("DELETE", `decisions/${result.decision}`);
    };
    await this.#conclude(id, result, this.#texts[isDeleted ? "deleted" : "approved"], undo);
  }

  async #pin({ id, pinned }) {
    const set = (number, isPinned) => this.#send(isPinned ? "PUT" : "DELETE", `comments/${number}/pin`);
    const before = this.#thread.page.data.find((comment) => comment.pinned);
    await set(id, !pinned);
    const undo = () => (before ? set(before.id, true) : set(id, false));
    await this.#conclude(id, { done: true }, this.#texts[pinned ? "unpinned" : "pinned"], undo);
  }

  /** Show a form for an answer below a comment, in place of any other one; or close it. */
  #write({ id, author }) {
    const { tree, messages } = this.#thread;
    const item = tree.find(id);
    const isOpen = item.querySelector(":scope > form");
    tree.element.querySelector("form")?.reset();
    if (isOpen) return;
    const { draft } = this.#access;
    const label = this.#texts.answerTo.replace("#", () => author);
    const value = draft(id) ?? "";
    const field = h("textarea.input", { value, ariaLabel: label, placeholder: label, dir: "auto", rows: 3, required: true });
    const cancel = h("button.link", { type: "reset" }, messages.cancel);
    // In an element of its own, since an empty one in the form is hidden
    const form = h("form.form", {}, h("div.field", {}, field), h("div.actions", {}, h("button.button", {}, this.#texts.answer), cancel));
    const close = () => {
      form.remove();
      item.querySelector("article [name=moderate-answer]")?.focus();
    };
    field.addEventListener("input", () => draft(id, field.value));
    form.addEventListener("reset", close);
    form.addEventListener("keydown", ({ key }) => key == "Escape" && close());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#run(async () => {
        await this.#answer(id, field.value, () => {
          draft(id, "");
          form.remove();
        });
      }, id);
    });
    item.firstChild.after(form);
    field.focus();
  }

  async #answer(id, message, close) {
    const result = await this.#send("POST", `comments/${id}/answers`, { message, seen: this.#seen });
    if (result.done) close();
    const undo = async () => {
      const withdrawal = { action: "delete", id: result.id, seen: this.#seen };
      const withdrawn = await this.#send("POST", "decisions", withdrawal);
      return result.decision && withdrawn.done ? this.#send("DELETE", `decisions/${result.decision}`) : withdrawn;
    };
    await this.#conclude(id, result, this.#texts.answered, undo);
  }

  /** Show the thread as it is now, say what was done, or why nothing was, and offer to undo it. */
  async #conclude(id, { done, edited = false, actor = "" }, text, undo) {
    await this.refresh();
    if (this.#thread.own != this) return; // the sign-in is over
    const texts = this.#texts;
    const why = edited ? texts.edited : actor ? texts.decided.replace("#", () => actor) : texts.changed;
    this.#say(id, done ? text : why, done && undo);
  }

  /** Say what happened to a comment, below it, with a button that has the focus. */
  #say(id, text, undo) {
    const { tree, status } = this.#thread;
    const item = tree.find(id);
    const target = item ?? this.#bar;
    target.querySelector(":scope > .commentsvc-decided")?.remove();
    const note = h("p.hint commentsvc-decided", {}, text, " ");
    status.textContent = text;
    if (item) item.firstChild.after(note);
    else target.append(note);
    if (!undo) return target.focus();
    const act = async () => {
      const result = (await undo()) ?? {};
      note.remove();
      const { undone } = this.#texts;
      await this.#conclude(id, { done: true, ...result }, undone);
    };
    const button = h("button.link", { type: "button", onclick: () => this.#run(act, id) }, this.#texts.undo);
    note.append(button);
    button.focus();
  }

  /** Focus the next comment that waits. */
  async #next() {
    const before = document.activeElement.closest(".commentsvc-comment");
    await this.refresh();
    const { host } = this.#thread;
    const items = [...host.querySelectorAll(".commentsvc-comment")].filter(({ commentId: id }) => this.#waiting.has(id));
    const isBehind = (item) => before?.compareDocumentPosition(item) & Node.DOCUMENT_POSITION_FOLLOWING;
    const item = items.find(isBehind) ?? items[0];
    let fold = item;
    while ((fold = fold?.parentElement.closest("details"))) fold.open = true;
    (item ?? this.#bar).focus();
  }

  async #end() {
    await this.#send("DELETE", "session").catch((failure) => {
      if (failure.status != 401) throw failure;
    });
    this.#access.forget();
    await this.#show(this.#texts.over);
  }

  /** Show the thread as readers see it, and say why. */
  async #show(text) {
    const thread = this.#thread;
    thread.own = new OwnComments(thread.url);
    this.#bar.remove();
    // All comments are drawn again
    for (const item of thread.host.querySelectorAll(".commentsvc-comment")) item.state = "moderated";
    await thread.load();
    await this.#access.leave();
    thread.status.textContent = text;
  }

  /** Do something if nothing else is under way; explain a failure beside the comment. */
  async #run(act, id) {
    if (this.#isBusy) return;
    const { tree, error } = this.#thread;
    this.#isBusy = true;
    error.textContent = "";
    try {
      await act();
    } catch (failure) {
      await this.#fail(failure, tree.find(id)?.querySelector(":scope > article > .commentsvc-actions") ?? this.#bar);
    }
    this.#isBusy = false;
  }

  async #fail(failure, target) {
    const { error, messages } = this.#thread;
    if (failure.status == 401 || failure.status == 403) return this.#show(failure.message ?? this.#texts.over);
    target.after(error);
    error.textContent = errorText(messages, failure);
  }

  #send(method, path, body) {
    const lang = (path.includes("?") ? "&" : "?") + "lang=" + this.#thread.messages.tag;
    return send(method, "thread-moderation/" + path + lang, body, this.#access.token);
  }
}
