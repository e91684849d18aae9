// What is new since the reader's last visit; only this browser knows when that was

import { countText, h, loadMessages, storage } from "../common.js";

const PAGES = 200; // that are remembered, those of the last visits

const counted = new WeakSet(); // threads whose new comments were looked for

/** Remember that the reader has seen the comments of a thread; return when they were seen before. */
function remember({ url, page }) {
  const moments = page.data.map(({ published }) => Date.parse(published) || 0); // deleted comments have none
  const { [url]: before, ...others } = storage.get("visits") ?? {};
  const last = Math.max(before ?? 0, ...moments);
  if (last) storage.set("visits", Object.fromEntries([...Object.entries(others), [url, last]].slice(-PAGES)));
  return before;
}

/** Of a comment that is shown: deleted and muted ones have none. */
const dateOf = (item) => item.firstChild.querySelector(".commentsvc-date");

/** Mark the comments that are new, and lead from the heading to the first and from each to the next. */
export async function markNew(thread) {
  if (counted.has(thread)) return;
  counted.add(thread);
  const before = remember(thread);
  thread.host.addEventListener("comments-shown", () => thread.hasEnded || remember(thread));
  const comments = [...thread.all().values()];
  const fresh = comments.filter(({ own, published }) => !own && Date.parse(published) > before);
  const ids = new Set(fresh.map(({ id }) => id));
  const items = () => {
    const found = [...thread.tree.element.querySelectorAll(".commentsvc-comment")];
    return found.filter((item) => ids.has(item.commentId) && dateOf(item));
  };
  const { length } = items();
  if (!length) return;
  const [forms, { next }] = await Promise.all(["-since", "-tools"].map((part) => loadMessages(thread.host, part)));
  if (thread.hasEnded) return;

  /** Show a comment, also inside of folded replies, and give it the focus. */
  function goTo(item) {
    for (let fold = item; (fold = fold?.parentElement.closest("details")); ) fold.open = true;
    item?.focus({ preventScroll: true });
    item?.firstChild.scrollIntoView({ block: "center" }); // its replies may be longer than the window
  }

  const link = (name, text, ariaLabel, target) =>
    h("button.link commentsvc-" + name, { type: "button", ariaLabel, onclick: () => goTo(target()) }, text);

  function mark() {
    const all = items();
    for (const item of all) {
      const date = dateOf(item);
      const there = date.parentNode.querySelector(".commentsvc-next");
      if (item == all.at(-1)) there?.remove();
      else if (!there) date.after(link("next", "↓", next, () => items()[items().indexOf(item) + 1]));
    }
  }

  const bar = thread.host.querySelector(".commentsvc-bar");
  const text = countText(forms, length);
  const { offsetHeight } = bar;
  const start = link("since", text, text, () => items()[0]);
  bar.firstChild.after(start);
  if (bar.offsetHeight > offsetHeight) start.textContent = "+" + length; // nothing moves
  start.title = text;

  thread.host.addEventListener("comments-shown", mark);
  mark();
}
