// The menu of rare actions on a comment

import { actionButton, again, anchorOf, h, loadMessages } from "../common.js";
import { copyText } from "../copying.js";
import { stylesheet } from "../rich.js"; // its own, too

const ICONS = {
  copy: "M6.5 9.5l3-3M7 5l1.8-1.8a2.8 2.8 0 0 1 4 4L11 9M5 7 3.2 8.8a2.8 2.8 0 0 0 4 4L9 11",
  report: "M4 14V2.5h7.5l-2 3 2 3H4",
  share: "M8 10V2.5M5 5l3-3 3 3M4.5 7.5H3v6h10v-6h-1.5",
  mute: "M3 6.5h2L8.5 4v8L5 9.5H3zM10.5 6.5l3 3m0-3l-3 3",
};

const MARGIN = 8; // between the menu and the edge of the window, in pixels

/** Show or hide the menu. */
export async function menu(thread, button, { own }) {
  if (closeMenu(button)) return;
  button.ariaExpanded = "true";
  const messages = await loadMessages(thread.host, "-tools");
  const isOffered = { copy: true, mute: !own, report: !own, share: Boolean(navigator.share) };
  const names = Object.keys(ICONS).filter((name) => isOffered[name]);
  await openMenu(button, names.map((name) => actionButton(name, ICONS[name], messages[name], {}, messages[name])));
}

/** Remove the menu of a button; return whether one was shown. */
export function closeMenu(button) {
  const list = button.parentNode.querySelector(".commentsvc-menu");
  button.ariaExpanded = "false";
  list?.remove();
  return list?.hidden == false;
}

/** Show a menu of `buttons`; it goes with the focus, with Escape, and when something else is pressed. */
export async function openMenu(button, buttons) {
  const list = h("div.menu", {}, ...buttons);
  list.addEventListener("focusout", ({ relatedTarget: next }) => {
    if (next && next != button && !list.contains(next)) closeMenu(button);
  });
  list.addEventListener("keydown", ({ key }) => {
    if (key != "Escape") return;
    closeMenu(button);
    button.focus();
  });
  // Pressed, what cannot have the focus takes it from nobody; nor does any button in Safari
  addEventListener("pointerdown", function leave({ target }) {
    if (button.contains(target) || /** @type {Element} */ (target).closest(".commentsvc-menu")) return;
    removeEventListener("pointerdown", leave);
    if (button.isConnected) closeMenu(button); // or it was drawn again
  });
  await stylesheet; // or it has another size
  button.ariaExpanded = "true";
  button.after(list);
  moveBeside(list, button);
  buttons[0].focus();
}

/** Move the menu to its button, within the window. */
function moveBeside(list, button) {
  const { left, right, top } = button.getBoundingClientRect();
  const box = list.getBoundingClientRect();
  const isRightToLeft = getComputedStyle(list).direction == "rtl";
  const most = document.documentElement.clientWidth - box.width - MARGIN;
  const x = Math.max(MARGIN, Math.min(isRightToLeft ? right - box.width : left, most));
  const above = box.bottom > innerHeight && top > box.height ? top - box.bottom : 0;
  list.style.translate = `${x - box.left}px ${above}px`;
}

const addressOf = (comment) => new URL("#" + anchorOf(comment), location.href).href;

export async function copy(thread, button, comment) {
  if (!(await copyText(button, addressOf(comment)))) return;
  const { copied } = await loadMessages(thread.host, "-tools");
  say(thread, button, copied);
}

/** @param {any[]} parameters those of all actions */
export async function report(...parameters) {
  const { ask } = await import("./reporting.js").catch(again("thread/reporting"));
  return ask(...parameters);
}

/** Show what was done, in place of the button's text. */
function say(thread, button, text) {
  thread.status.textContent = text;
  button.replaceChildren(button.firstChild, text);
}

export async function share(_thread, _button, comment) {
  const url = addressOf(comment);
  await navigator.share({ title: document.title, url }).catch(() => {}); // the reader cancelled
}
