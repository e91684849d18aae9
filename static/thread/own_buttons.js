// What the reader's own comments show besides: buttons, their state, thanks

import { actionButton, base, FEED, h, icon } from "../common.js";

const ICONS = {
  edit: "M3 13l.7-3L10.5 3.2a1.3 1.3 0 0 1 2 0l.3.3a1.3 1.3 0 0 1 0 2L6 12.3z",
  delete: "M3 4.5h10M6.5 4V2.5h3V4M4.5 4.5l.5 9h6l.5-9M7 7v4M9 7v4",
};

const finished = new WeakSet();

/** Add what is missing to those comments of `thread` that `answers` of the service are about. */
export function addButtons(thread, answers) {
  const { tree, messages } = thread;
  const comments = thread.all();
  for (const { comment, token, replies_feed: feed } of answers) {
    const actions = tree.find(comment.id)?.querySelector(":scope > article > .commentsvc-actions");
    if (!actions || finished.has(actions)) continue;
    finished.add(actions);
    const { isWaiting, note } = comments.get(comment.id) ?? {};
    if (isWaiting) {
      actions.replaceChildren();
      const [name, ...others] = actions.parentNode.querySelectorAll(".commentsvc-meta > :not(.commentsvc-date)");
      others.forEach((badge) => badge.remove());
      name.after(h("span.badge", {}, messages.awaiting));
    }
    if (note) actions.after(h("p.note", {}, note));
    for (const name in token ? ICONS : {}) {
      actions.append(actionButton(name, ICONS[name], messages[name], {}, messages[name]));
    }
    const title = `${messages.replies}: ${messages.feed}`;
    if (feed) actions.append(h("a.link", { href: base + feed, title }, icon(FEED)));
  }
}
