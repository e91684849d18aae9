// A thread whose comments load at the press of a button (load="click")

import { countText, loadMessages } from "../common.js";

/** Offer the comments, and say how many there are if a <comment-count> of the page knows it. */
export async function offer(thread) {
  const { show, ...messages } = (thread.messages = await loadMessages(thread.host));
  thread.offer("show");
  const counted = [...document.querySelectorAll("comment-count")].find(({ url }) => url == thread.url);
  const observer = new MutationObserver(label);
  function label() {
    if (thread.page) return observer.disconnect();
    if (!counted.count) return;
    const number = countText({ ...messages, counts: { other: "#" } }, counted.count);
    thread.messages = { ...messages, show: `${show} (${number})` };
    thread.offer("show");
  }
  if (counted) {
    observer.observe(counted, { childList: true, subtree: true, characterData: true });
    label();
  }
}
