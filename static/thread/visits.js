// What is new since the reader's last visit; only this browser knows when that was

import { countText, h, loadMessages, storage } from "../common.js";

const PAGES = 200; // that are remembered, those of the last visits

/** Remember that the reader has seen the comments of a thread; return when they were seen before. */
function remember({ url, page }) {
  const newest = Math.max(...page.data.map(({ published }) => Date.parse(published)));
  const { [url]: before, ...others } = storage.get("visits") ?? {};
  const last = Math.max(newest, before ?? 0);
  if (page.data[0]) storage.set("visits", Object.fromEntries([...Object.entries(others), [url, last]].slice(-PAGES)));
  return before;
}

/** Mark the comments that are new, and lead from the heading to the first and from each to the next. */
export async function markNew(thread) {
  const before = remember(thread);
  thread.host.addEventListener("comments-shown", () => remember(thread));
  const comments = [...thread.all().values()];
  const fresh = comments.filter(({ own, deleted, published }) => !own && !deleted && Date.parse(published) > before);
  if (!fresh.length) return;
  const [forms, { next }] = await Promise.all(["-since", "-tools"].map((part) => loadMessages(thread.host, part)));
  const ids = new Set(fresh.map(({ id }) => id));
  const items = () => {
    const found = [...thread.tree.element.querySelectorAll(".commentsvc-comment")];
    return found.filter(({ commentId }) => ids.has(commentId));
  };

  /** Show a comment, also inside of folded replies, and give it the focus. */
  function goTo(item) {
    for (let fold = item; (fold = fold.parentNode.closest("details")); ) fold.open = true;
    item.focus({ preventScroll: true });
    item.scrollIntoView({ block: "center" });
  }

  const link = (name, text, ariaLabel, target) =>
    h("button.link commentsvc-" + name, { type: "button", ariaLabel, onclick: () => goTo(target()) }, text);

  function mark() {
    const all = items();
    all.forEach((item, index) => {
      const date = item.querySelector(".commentsvc-date");
      if (!all[index + 1] || item.querySelector("article > .commentsvc-meta .commentsvc-next")) return;
      date.after(link("next", "↓", next, () => items()[items().indexOf(item) + 1]));
    });
  }

  const bar = thread.host.querySelector(".commentsvc-bar");
  const text = countText(forms, fresh.length);
  const { offsetHeight } = bar;
  const start = link("since", text, text, () => items()[0]);
  bar.firstChild.after(start);
  if (bar.offsetHeight > offsetHeight) start.textContent = "+" + fresh.length; // nothing moves
  start.title = text;

  thread.host.addEventListener("comments-shown", mark);
  mark();
}
