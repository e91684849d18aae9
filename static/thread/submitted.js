// Updates of a thread after the reader has changed it

import { loadMessages } from "../common.js";
import { showCounts } from "../counts.js";
import { reveal } from "./reveal.js";
import "../rich.js"; // its styles

/**
 * Store the reader's new comment from the service's answer; show it if its page is still shown, and
 * fold the form for the next one.
 */
export async function showSubmitted(thread, answer, form) {
  await thread.loadOwn();
  const { mails, ...own } = answer;
  const texts = mails && (await loadMessages(thread.host, "-tools").catch(() => null));
  thread.own.add(own, texts?.confirm);
  if (thread.hasEnded) return;
  thread.show();
  if (form.isConnected) {
    thread.box.value = form.message.value; // of the next one
    form.replaceWith(thread.box);
  }
  reveal(thread.tree, answer.comment.id).focus();
  reload(thread, thread.own.note(thread.messages));
}

/** Load the thread again, and announce `text`. */
export async function reload(thread, text) {
  thread.status.textContent = text;
  await thread.load();
  if (!thread.hasEnded) showCounts(thread.url, thread.page.count);
}
