// What readers do: write, choose the order, answer a comment, vote on it, edit and delete their own

import { storage } from "./browser.js";
import { showCounts } from "./live.js";
import { errorText, randomId, send } from "./send.js";

/** What is done at an event of a control, by the event's type and the control's name. */
const ACTIONS = {
  "focusin write": write,
  "input write": write,
  "input sort": changeOrder,
  "click reply": reply,
  "click edit": edit,
  "click delete": remove,
  "click vote": vote,
};

/** React to an event of `control`; say below it if that fails. `detail` is the event's. */
export async function act(thread, control, type, detail) {
  if (type == "comment-submitted") return showSubmitted(thread, detail);
  const action = ACTIONS[`${type} ${control.name}`];
  if (!action) return;
  const { messages, error } = thread;
  error.textContent = "";
  try {
    await action(thread, control);
  } catch (failure) {
    control.closest(".commentsvc-actions, textarea").after(error);
    // A module that cannot be loaded has no status
    error.textContent = failure.status ? errorText(messages, failure) : messages.unreached;
  }
}

/** Put a form in the place of the box. */
async function write(thread, box) {
  const { replaceBox } = await import("./form.js");
  replaceBox(box, about(thread));
}

function changeOrder(thread, { value }) {
  storage.set("sort", value);
  thread.load();
}

function reply(thread, button) {
  const parent = commentOf(thread, button);
  const title = thread.messages.replyTo.replace("#", parent.author);
  return toggleForm(button, { ...about(thread), title, parent });
}

function edit(thread, button) {
  const parent = commentOf(thread, button);
  const title = thread.messages.edit;
  return toggleForm(button, { ...about(thread), title, parent, own: parent.own });
}

async function remove(thread, button) {
  const { id, own } = commentOf(thread, button);
  if (!confirm(thread.messages.sure)) return;
  await send("DELETE", "comments/" + id, undefined, own.token);
  thread.own.remove(id);
  reload(thread, "deleted");
}

/** Vote, or take the vote back. */
async function vote(thread, button) {
  const { id } = commentOf(thread, button);
  const value = button.ariaPressed == "true" ? 0 : Number(button.value);
  const voter = storage.get("voter") ?? randomId();
  storage.set("voter", voter);
  const { votes } = await send("POST", `comments/${id}/votes`, { vote: value, voter });
  storage.set("votes", { ...storage.get("votes"), [id]: value });
  const buttons = button.parentNode;
  buttons.querySelector(".commentsvc-votes").textContent = votes || "";
  for (const other of buttons.querySelectorAll("[name=vote]")) {
    other.ariaPressed = other.value == value;
  }
}

/** Show what the service answered to a comment of the reader. */
async function showSubmitted(thread, answer) {
  await thread.loadOwn();
  thread.own.add(answer);
  thread.show();
  const item = thread.tree.find(answer.comment.id);
  for (let fold = item; (fold = fold.parentNode.closest("details")); ) fold.open = true;
  item.focus();
  reload(thread, answer.status);
}

async function reload(thread, text) {
  thread.status.textContent = thread.messages[text];
  await thread.load();
  showCounts(thread.url, thread.page.count);
}

/** Return what each form needs. */
const about = ({ messages, url }) => ({ messages, url });

function commentOf(thread, button) {
  return thread.all().get(button.closest(".commentsvc-comment").commentId);
}

/** Show a form below `button`, instead of another one in the list; or close it. */
async function toggleForm(button, properties) {
  const isOpen = button.ariaExpanded == "true";
  const { CommentForm } = await import("./form.js");
  button.closest(".commentsvc-list").querySelector("form")?.reset();
  if (isOpen) return;
  const form = new CommentForm(properties).element;
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
