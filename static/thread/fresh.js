// New comments on a page that is open

/** Offer new comments, and say how many they are. */
export function announce(thread, count) {
  const button = thread.host.querySelector(".commentsvc-thread > .commentsvc-button");
  const text = thread.messages.fresh;
  const isOffered = !button.hidden && button.textContent.startsWith(text);
  if (count <= thread.page.count || !(button.hidden || isOffered)) return;
  if (!isOffered) thread.offer("fresh");
  button.textContent = `${text} (${count - thread.page.count})`;
  thread.status.textContent = button.textContent;
}
