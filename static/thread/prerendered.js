// The widget on a page into which the blog's build has put the thread

import { get, storage } from "../common.js";

/** Return the thread at `path`; only what is newer than what was `built` is fetched. */
export async function fetchChanges(built, path, sort) {
  const since = sort == "oldest" && built.dataset.since;
  const page = await get(since ? `${path}&since=${since}` : path);
  if (built.querySelector("textarea")?.value) delete page.closes; // the text can still be sent
  if (!since) return page;
  const here = built.querySelector(".commentsvc-date")?.href.split("#")[0];
  for (const link of built.querySelectorAll("a[href*='#']")) {
    if (link.href == here + link.hash) link.setAttribute("href", link.hash);
  }
  const comments = new Map();
  const deleted = page.deleted ?? [];
  for (const item of built.querySelectorAll("[data-comment]")) {
    const comment = JSON.parse(item.dataset.comment);
    if (comment.deleted) {
      deleted.push(comment);
    } else {
      comment.html = item.querySelector(".commentsvc-body").innerHTML;
      comments.set(comment.id, comment);
    }
  }
  for (const comment of page.data) comments.set(comment.id, comment);
  // Some are no longer shown, or too much has changed
  if (comments.size != page.count || !page.votes) return get(path);
  const sortKey = ({ pinned, published }) => (pinned ? "" : published);
  page.data = [...comments.values()].sort((a, b) => sortKey(a).localeCompare(sortKey(b)));
  if (deleted.length) page.deleted = deleted;
  for (const comment of page.data) {
    comment.votes = page.votes[comment.id] || 0;
    comment.reactions = page.reactions?.[comment.id];
  }
  return page;
}

/** Store the text typed into the plain form as the draft of `url`; return whether it has the focus. */
export function keepDraft({ url }, built) {
  const form = built.querySelector("form.commentsvc-form");
  if (!form) return false;
  const name = url + "#";
  const draft = storage.get(name) ?? {};
  const { message, ...typed } = Object.fromEntries(
    ["message", "author", "email", "site"]
      .map((field) => [field, form[field].value])
      .filter(([, value]) => value),
  );
  const texts = new Set([draft.message, message]);
  typed.message = [...texts].filter(Boolean).join("\n\n");
  if (typed.message || typed.author) storage.set(name, { ...draft, ...typed });
  return form.contains(document.activeElement);
}
