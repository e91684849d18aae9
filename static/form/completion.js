// Completes the names of people in the thread behind an "@"

import { h } from "../common.js";
import { replace } from "./formatting.js";
import "../rich.js"; // its styles

const MOST = 5;
const BEGUN = /(?<![\p{L}\p{N}_@/.])@([^@\n]{0,40})$/u;

const list = h("div.completion", { role: "group" });

/** Show the names in `thread` that may be meant at the cursor of `field`, or none. */
export function complete(field, thread) {
  if (field.type != "textarea") return;
  const [, begun = ""] = BEGUN.exec(field.value.slice(0, field.selectionStart)) ?? [];
  const found = begun ? namesIn(thread, begun) : [];
  list.replaceChildren(...found.map((name) => button(field, name, begun)));
  list.ariaLabel = "@" + begun;
  if (!found.length) return list.remove();
  field.after(list);
  field.form.onsubmit = () => list.remove();
  field.onkeydown = (event) => {
    if (event.key == "ArrowDown" && list.isConnected) focus(event, list.firstChild);
  };
  list.onkeydown = (event) => move(event, field);
}

/** Return the names of people in a thread that begin with `begun`, the latest first. */
function namesIn(thread, begun) {
  const authors = [...thread.all().values()].map(({ author }) => author).filter(Boolean);
  const names = [...new Set(authors.reverse())];
  const isBegun = (name) => name.toLocaleLowerCase().startsWith(begun.toLocaleLowerCase());
  return names.filter((name) => isBegun(name) && name != begun).slice(0, MOST);
}

function button(field, name, begun) {
  const onclick = () => {
    list.remove();
    const end = field.selectionStart;
    field.focus();
    field.setSelectionRange(end - begun.length, end);
    replace(field, name + " ");
  };
  return h("button.link", { type: "button", onclick }, "@" + name);
}

/** Move the focus with arrow keys; Escape closes the list. */
function move(event, field) {
  const { key, target } = event;
  if (key == "Escape") list.remove();
  const step = { ArrowDown: "nextSibling", ArrowUp: "previousSibling" }[key];
  if (step || key == "Escape") focus(event, (step && target[step]) ?? field);
}

function focus(event, element) {
  event.preventDefault();
  event.stopPropagation();
  element.focus();
}
