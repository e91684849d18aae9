// Which module does what readers do with a thread and its comments

import { storage } from "./common.js";
/** @import { About } from "./types.d.ts" */

const menu = () => import("./menu.js");
const replying = () => import("./replying.js");

/** The modules by the names of buttons; each has a function of that name. */
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

/** React to an event of `control`; say below it if that fails. `detail` is the event's. */
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
 * Return what each form needs.
 * @returns {About}
 */
export const about = ({ messages, url }) => ({ messages, url });

/** Return the comment that a button belongs to. */
export function commentOf(thread, button) {
  return thread.all().get(button.closest(".commentsvc-comment").commentId);
}
