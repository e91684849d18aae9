// Updates of a thread after the reader has changed it

import { showCounts } from "./counts.js";

/** Show the reader's new comment from the service's answer. */
export async function showSubmitted(thread, answer) {
  await thread.loadOwn();
  thread.own.add(answer);
  thread.show();
  thread.tree.reveal(answer.comment.id).focus();
  reload(thread, thread.messages[answer.status]);
}

/** Load the thread again, and announce `text`. */
export async function reload(thread, text) {
  thread.status.textContent = text;
  await thread.load();
  showCounts(thread.url, thread.page.count);
}
