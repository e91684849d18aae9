// A thread that the blog's build has put into the page, taken over by the widget

import { get } from "./api.js";

/** Return the page at `path`, for which only what is newer than the build is fetched. */
export async function fetchChanges(thread, path, sort) {
  const since = sort == "oldest" && thread.querySelector("[data-since]")?.dataset.since;
  const page = await get(since ? `${path}&since=${since}` : path);
  if (thread.querySelector("textarea")?.value) delete page.closes; // the text can still be sent
  if (!since) return page;
  const comments = new Map();
  for (const item of thread.querySelectorAll("[data-comment]")) {
    const html = item.querySelector(".commentsvc-body").innerHTML;
    const comment = { ...JSON.parse(item.dataset.comment), html };
    comments.set(comment.id, comment);
  }
  for (const comment of page.data) comments.set(comment.id, comment);
  if (comments.size != page.count) return get(path); // some are shown no more
  page.data = [...comments.values()];
  for (const comment of page.data) comment.votes = page.votes[comment.id] || 0;
  return page;
}

/** Return what was typed into the plain form, and the name of the field that has the focus. */
export function readForm(thread) {
  const form = thread.querySelector("form.commentsvc-form");
  if (!form) return undefined;
  const { activeElement } = document;
  const typed = { focused: form.contains(activeElement) ? activeElement.name : undefined };
  for (const name of ["message", "author", "email", "site"]) {
    const { value } = form[name];
    if (value) typed[name] = value;
  }
  return typed;
}
