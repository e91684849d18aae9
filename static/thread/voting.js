// Votes on comments: one per browser and comment

import { storage } from "../common.js";
import { readerWord, send } from "../send.js";

/** Vote, or take the vote back. */
export async function vote(_thread, button, { id }) {
  const value = button.ariaPressed == "true" ? 0 : Number(button.value);
  const body = { vote: value, voter: readerWord() };
  const { votes } = await send("POST", `comments/${id}/votes`, body);
  storage.set("votes", { ...storage.get("votes"), [id]: value });
  const buttons = button.parentNode;
  buttons.querySelector(".commentsvc-votes").textContent = votes || "";
  for (const other of buttons.querySelectorAll("[name=vote]")) {
    other.ariaPressed = String(other.value == value);
  }
}
