// Reacting to a comment: with one emoji for each browser and comment

import { loadMessages, storage } from "../common.js";
import { readerWord, send } from "../send.js";
import { closeMenu, openMenu } from "./menu.js";
import { draw, emojiButton } from "./comment_reactions.js";

let isBusy = false;

/** Show the emoji to choose from, or hide them. */
async function pick({ host, page }, button, { id }) {
  if (closeMenu(button)) return;
  const names = await loadMessages(host, "-reactions");
  await openMenu(button, page.emoji.map((emoji) => emojiButton(emoji, id, names)));
}

/** React with the emoji of a button, or take that back; the button without one shows all. */
export async function react(thread, button, comment) {
  if (!button.value) return pick(thread, button, comment);
  if (isBusy || !button.isConnected) return;
  isBusy = true;
  const { value, ariaPressed } = button;
  const emoji = ariaPressed == "true" ? "" : value;
  const group = button.closest(".commentsvc-emoji");
  const [picker] = group.children;
  const menu = group.querySelector(".commentsvc-menu");
  if (menu) {
    menu.hidden = true; // its button is there for an error
    picker.ariaExpanded = "false";
    picker.focus();
  }
  try {
    const path = `comments/${comment.id}/reactions?lang=${thread.messages.tag}`;
    const { reactions } = await send("POST", path, { emoji, reader: readerWord() });
    storage.set("votes", { ...storage.get("votes"), [comment.id]: emoji });
    const isFocused = group.contains(document.activeElement);
    draw(group, thread, comment, reactions, await loadMessages(thread.host, "-reactions"));
    if (isFocused) (group.querySelector(`[value="${value}"]`) ?? group.firstChild).focus();
  } finally {
    isBusy = false;
  }
}
