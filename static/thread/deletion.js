// Deleting one's own comment, which can be undone for a few seconds

import { h, loadMessages, loadStylesheet } from "../common.js";
import { errorText, send } from "../send.js";
import { reload } from "./submitted.js";

await loadStylesheet("form.css");

const UNDO_MS = 8000;

/** Hide a comment; delete it after a while, or when its author leaves, unless it is undone. */
async function remove(thread, button, comment) {
  const { deleted, undo } = await loadMessages(thread.host, "-tools");
  const article = button.closest("article");
  const note = h("p.hint", {}, deleted, " ");
  const undoButton = h("button.link", { type: "button" }, undo);

  function show() {
    stop();
    note.remove();
    article.style.display = "";
    button.focus();
  }

  function stop() {
    clearTimeout(timer);
    removeEventListener("pagehide", finish);
  }

  async function finish() {
    stop();
    try {
      await send("DELETE", "comments/" + comment.id, undefined, comment.own.token);
      thread.own.remove(comment.id);
      reload(thread, deleted);
    } catch (failure) {
      show();
      button.parentNode.after(thread.error);
      thread.error.textContent = errorText(thread.messages, failure);
    }
  }

  const timer = setTimeout(finish, UNDO_MS);
  addEventListener("pagehide", finish);
  undoButton.onclick = show;
  note.append(undoButton);
  article.after(note);
  article.style.display = "none";
  thread.status.textContent = deleted;
  undoButton.focus();
}

export { remove as delete };
