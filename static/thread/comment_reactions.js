// Reactions to comments: how many readers chose each emoji, and the button to choose one

import { actionButton, h, loadMessages, storage } from "../common.js";
import { stylesheet } from "../rich.js";

const FACE = "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 1 0 0-13M5 9.5q3 3.5 6 0M6 6v.5m4-.5v.5";

/** Show them below the comments of `thread` that lack them. */
export async function showReactions(thread) {
  const names = await loadMessages(thread.host, "-reactions");
  await stylesheet;
  for (const [id, comment] of thread.all()) {
    if (comment.deleted || comment.isWaiting) continue;
    const actions = thread.tree.find(id)?.querySelector("article > .commentsvc-actions");
    if (!actions || actions.querySelector(".commentsvc-emoji")) continue;
    const group = h("div.emoji", { role: "group", ariaLabel: names.label });
    draw(group, thread, comment, comment.reactions ?? {}, names);
    actions.append(group);
  }
}

/** Draw the buttons of a comment, whose `counts` are by emoji. */
export function draw(group, { page }, { id, author }, counts, names) {
  const given = page.emoji.filter((emoji) => counts[emoji]);
  group.replaceChildren(
    actionButton("react", FACE, `${names.react}: ${author}`, { ariaExpanded: "false" }),
    ...given.map((emoji) => emojiButton(emoji, id, names, counts[emoji])),
  );
}

/** Make the button that reacts with an emoji to the comment with that id, or takes that back. */
export function emojiButton(value, id, names, count = 0) {
  const title = names[value] ?? value;
  const ariaPressed = String(storage.get("votes")?.[id] == value);
  const emoji = h("span", { role: "img", ariaLabel: title }, value);
  return h("button.link", { type: "button", name: "react", value, title, ariaPressed }, emoji, count ? ` ${count}` : "");
}
