// Forms below a comment: for a reply, and for changing one's own comment

import { h } from "../common.js";
import { CommentForm } from "./form.js";

export function reply(thread, button, parent) {
  const title = thread.messages.replyTo.replace("#", () => parent.author);
  const message = quotation(button.closest("article").querySelector(".commentsvc-body"));
  return toggleForm(button, { thread, title, parent, message });
}

/** Return the text selected in `body` as a quotation. */
function quotation(body) {
  const selection = getSelection();
  const text = selection.toString().trim();
  const isOurs = body.contains(selection.anchorNode) && body.contains(selection.focusNode);
  return text && isOurs ? text.replace(/^/gm, "> ") + "\n\n" : "";
}

export function edit(thread, button, parent) {
  const title = thread.messages.edit;
  return toggleForm(button, { thread, title, parent, own: parent.own });
}

/** Show a form below the comment of `button` and close any other one; or close it. */
function toggleForm({ name, ariaExpanded }, properties) {
  const { host, tree } = properties.thread;
  tree.element.querySelector("form")?.reset();
  if (ariaExpanded == "true") return;
  const form = new CommentForm(properties).element;
  const item = () => tree.find(properties.parent.id);
  // The comment, and with it the button, may be drawn again
  const button = () => item()?.querySelector(`article [name=${name}]`);
  const mark = () => button()?.setAttribute("aria-expanded", String(form.isConnected));
  const alone = h("li.comment");
  /** Put the form below its comment; at the end if that is gone, or on a later page of the list. */
  const attach = () => {
    const article = item()?.firstChild;
    if (article?.nextSibling != form) article?.after(form);
    alone.remove();
    if (!article) {
      tree.element.append(alone);
      alone.append(form);
    }
    mark();
  };
  const close = () => {
    form.remove();
    alone.remove();
    mark();
    host.removeEventListener("comments-shown", attach);
    button()?.focus();
  };
  form.addEventListener("reset", close);
  form.addEventListener("comment-submitted", close);
  host.addEventListener("comments-shown", attach);
  attach();
  form.message.focus();
}
