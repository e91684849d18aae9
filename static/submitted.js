// A thread after its reader has changed it

import { showCounts } from "./counts.js";

/** Show what the service answered to a comment of the reader. */
export async function showSubmitted(thread, answer) {
  await thread.loadOwn();
  thread.own.add(answer);
  thread.show();
  thread.tree.reveal(answer.comment.id).focus();
  reload(thread, thread.messages[answer.status]);
}

/** Load the thread anew, and say `text` about it. */
export async function reload(thread, text) {
  thread.status.textContent = text;
  await thread.load();
  showCounts(thread.url, thread.page.count);
}
