// The toolbar of a form: buttons that write Markdown

import { h, icon, loadMessages, storage } from "../common.js";
import { format } from "./formatting.js";
import "../rich.js"; // its styles

const ICONS = {
  bold: "M4.5 3h4a2.5 2.5 0 0 1 0 5h-4zm0 5h5a2.5 2.5 0 0 1 0 5h-5z",
  italic: "M7 3h5M4 13h5M9.5 3l-3 10",
  link: "M6.5 9.5l3-3M7 5l1.8-1.8a2.8 2.8 0 0 1 4 4L11 9M5 7 3.2 8.8a2.8 2.8 0 0 0 4 4L9 11",
  code: "M5.5 4 1.5 8l4 4M10.5 4l4 4-4 4",
  quote: "M2.5 3v10M6 4h8M6 8h8M6 12h5",
  list: "M6 4h8M6 8h8M6 12h8M2.5 4h0m0 4h0m0 4h0",
};

const MIRRORED = ["quote", "list"]; // in languages that are written from right to left

/** Show or hide the toolbar above `field`; `opener` is its button. */
export async function toggleToolbar(field, opener) {
  const shown = field.parentNode.querySelector(".commentsvc-toolbar");
  storage.set("toolbar", !shown);
  opener.ariaExpanded = String(!shown);
  if (shown) return shown.remove();
  const toolbar = h("div.toolbar", { role: "toolbar", onkeydown: move });
  field.before(toolbar);
  const messages = await loadMessages(field, "-tools");
  toolbar.ariaLabel = opener.title;
  const isReversed = getComputedStyle(toolbar).direction == "rtl";
  for (const [name, path] of Object.entries(ICONS)) {
    const title = messages[name];
    const onclick = () => format(field, name);
    const properties = { type: "button", title, ariaLabel: title, tabIndex: -1, onclick };
    const button = h("button.link", properties, icon(path));
    if (isReversed && MIRRORED.includes(name)) button.style.scale = "-1 1";
    toolbar.append(button);
  }
  toolbar.firstElementChild.tabIndex = 0;
}

/** Move the focus with arrow keys; the Tab key reaches one button only (roving tabindex). */
function move({ key, target, currentTarget }) {
  const isReversed = getComputedStyle(currentTarget).direction == "rtl";
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key] * (isReversed ? -1 : 1);
  if (!step) return;
  const buttons = [...currentTarget.children];
  const next = buttons.at((buttons.indexOf(target) + step) % buttons.length);
  target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
