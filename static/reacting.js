// Reacting to a page: one of each emoji of each browser

import { h, loadMessages, storage } from "./common.js";
import { errorText, readerWord, send } from "./send.js";

const error = h("p.error", { role: "alert" });
let isBusy = false;

/** React to the page `url` with the emoji of a button in `element`, or take that back. */
export async function react(element, url, button) {
  if (isBusy || !button) return;
  isBusy = true;
  error.textContent = "";
  try {
    await change(url, button, await loadMessages(element));
  } catch (failure) {
    element.append(error);
    error.textContent = errorText(await loadMessages(element), failure);
  }
  isBusy = false;
}

async function change(url, { value: emoji, ariaPressed }, { tag }) {
  const given = ariaPressed != "true";
  const body = { url, emoji, given, reader: readerWord() };
  const { reactions } = await send("POST", "reactions?lang=" + tag, body);
  const all = storage.get("reactions") ?? {};
  const others = (all[url] ?? []).filter((other) => other != emoji);
  const own = given ? [...others, emoji] : others;
  storage.set("reactions", { ...all, [url]: own });
  for (const element of document.querySelectorAll("page-reactions")) {
    if (element.url == url) update(element, reactions, own);
  }
}

function update(element, reactions, own) {
  for (const button of element.querySelectorAll("button")) {
    button.lastChild.textContent = reactions[button.value] || "";
    button.ariaPressed = String(own.includes(button.value));
  }
}
