// New comments on a page that is open

import { countText, loadMessages } from "../common.js";

const offered = new WeakMap(); // the text of the button of each thread

/** Offer new comments, and say how many they are. */
export async function announce(thread, count) {
  const forms = await loadMessages(thread.host, "-fresh");
  const button = thread.host.querySelector(".commentsvc-thread > .commentsvc-button");
  const isOffered = button.hidden || button.textContent == offered.get(thread);
  if (thread.hasEnded || count <= thread.page.count || !isOffered) return;
  const text = countText(forms, count - thread.page.count);
  offered.set(thread, text);
  thread.offer("more");
  button.textContent = thread.status.textContent = text;
}
