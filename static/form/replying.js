// Forms below a comment: for a reply, and for changing one's own comment

import { CommentForm } from "./form.js";

export function reply(thread, button, parent) {
  const title = thread.messages.replyTo.replace("#", parent.author);
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

/** Show a form below `button` and close any other one; or close it. */
function toggleForm(button, properties) {
  const isOpen = button.ariaExpanded == "true";
  button.closest(".commentsvc-list").querySelector("form")?.reset();
  if (isOpen) return;
  const form = new CommentForm(properties).element;
  const close = () => {
    form.remove();
    button.ariaExpanded = "false";
    button.focus();
  };
  form.addEventListener("reset", close);
  form.addEventListener("comment-submitted", close);
  button.ariaExpanded = "true";
  button.parentNode.after(form);
  form.message.focus();
}
