// The actions of buttons: each loads its module at the first use

import { storage } from "./common.js";
/** @import { About } from "./types.d.ts" */

const menu = () => import("./menu.js");
const replying = () => import("./replying.js");

/** The module for each button's name; it exports a function of that name. */
const MODULES = {
  copy: menu,
  delete: () => import("./deletion.js"),
  edit: replying,
  menu,
  reply: replying,
  report: menu,
  share: menu,
  vote: () => import("./voting.js"),
};

/** Handle an event of `control`, with its `detail`; show a failure below it. */
export async function act(thread, control, type, detail) {
  const { name } = control;
  if (type == "comment-submitted") {
    const { showSubmitted } = await import("./submitted.js");
    showSubmitted(thread, detail);
  } else if (name == "write" && type != "click") {
    const { replaceBox } = await import("./form.js");
    replaceBox(control, about(thread));
  } else if (name == "sort" && type == "input") {
    storage.set("sort", control.value);
    thread.load();
  } else if (type == "click" && MODULES[name]) {
    await press(thread, control);
  }
}

async function press(thread, button) {
  const { messages, error } = thread;
  error.textContent = "";
  const module = await MODULES[button.name]();
  try {
    await module[button.name](thread, button);
  } catch (failure) {
    const { errorText } = await import("./send.js");
    button.closest(".commentsvc-actions").after(error);
    error.textContent = errorText(messages, failure);
  }
}

/**
 * Return the properties that each form needs.
 * @returns {About}
 */
export const about = ({ messages, url }) => ({ messages, url });

/** Return the comment that a button belongs to. */
export function commentOf(thread, button) {
  return thread.all().get(button.closest(".commentsvc-comment").commentId);
}
