// The reader's own comments that wait for approval

import { get, loadMessages } from "../common.js";

/** Ask whether some were published meanwhile; if so, show and announce it. */
export async function checkApproval(thread) {
  const times = thread.own.waiting().map(({ comment }) => comment.published);
  if (!times.length) return;
  const { data } = await get(thread.path("comments", { since: times.sort()[0] }));
  const { approved } = await loadMessages(thread.host, "-form");
  const waiting = new Set(thread.own.waiting().map(({ comment }) => comment.id));
  const published = data.filter(({ id }) => waiting.has(id));
  if (!published.length || thread.hasEnded) return;
  thread.messages.approved = approved;
  published.forEach((comment) => thread.own.approve(comment));
  thread.page.count += published.length;
  thread.show();
  thread.status.textContent = approved;
}
