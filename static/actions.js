// What readers do with a comment: answer it, vote on it, edit and delete their own

import { CommentForm, randomId } from "./form.js";
import { errorText, send } from "./send.js";
import { storage } from "./storage.js";

/** The actions by the names of their buttons. */
const actions = {
  reply(button, parent, about) {
    const title = about.messages.replyTo.replace("#", parent.author);
    toggleForm(button, { ...about, title, parent });
  },

  edit(button, parent, about) {
    toggleForm(button, { ...about, title: about.messages.edit, parent, own: parent.own });
  },

  async remove(button, { id, own }, { messages }) {
    if (!confirm(messages.sure)) return false;
    return send("DELETE", "comments/" + id, undefined, own.token);
  },

  /** Vote, or take the vote back. */
  async vote(button, { id }) {
    const vote = button.ariaPressed == "true" ? 0 : Number(button.value);
    const voter = storage.get("voter") ?? randomId();
    storage.set("voter", voter);
    const { votes } = await send("POST", `comments/${id}/votes`, { vote, voter });
    storage.set("votes", { ...storage.get("votes"), [id]: vote });
    const buttons = button.parentNode;
    buttons.querySelector(".commentsvc-votes").textContent = votes;
    for (const other of buttons.querySelectorAll("[name=vote]")) {
      other.ariaPressed = other.value == vote;
    }
  },
};

/**
 * Do what `button` is for to the comment above it. Return true if that is deleted now; throw
 * { text } that says why it failed.
 */
export async function act(button, comment, about) {
  try {
    return await actions[button.name](button, comment, about);
  } catch (failure) {
    throw { text: errorText(about.messages, failure) };
  }
}

/** Show a form below `button`, instead of another one in the list; or close it. */
function toggleForm(button, about) {
  const isOpen = button.ariaExpanded == "true";
  button.closest(".commentsvc-list").querySelector("form")?.reset();
  if (isOpen) return;
  const form = new CommentForm(about).element;
  const close = () => {
    form.remove();
    button.ariaExpanded = false;
    button.focus();
  };
  form.addEventListener("reset", close);
  form.addEventListener("comment-submitted", close);
  button.ariaExpanded = true;
  button.parentNode.after(form);
  form.message.focus();
}
