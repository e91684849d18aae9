// Authors whose comments the reader does not want to see; only this browser knows them

import { h, loadMessages, loadStylesheet, storage } from "../common.js";

loadStylesheet("form.css"); // which has the style of buttons in a line of text

const AUTHORS = 200; // that are remembered, the last ones
const folded = new WeakMap(); // the article of a muted comment, and what it had

const muted = () => [storage.get("muted") ?? []].flat();

/** Fold the comments of muted authors, and unfold those of all others. */
export async function foldMuted(thread, names = muted()) {
  const comments = thread.all();
  const tools = await loadMessages(thread.host, "-tools");
  for (const item of thread.host.querySelectorAll(".commentsvc-comment")) {
    const { author, own } = comments.get(item.commentId) ?? {};
    const article = item.firstChild;
    const parts = folded.get(article);
    const isMuted = names.includes(author) && !own;
    if (isMuted && !parts) {
      folded.set(article, [...article.childNodes]);
      article.replaceChildren(note(thread, tools, author));
    } else if (parts && !isMuted) {
      folded.delete(article);
      article.replaceChildren(...parts);
    }
  }
}

function note(thread, { muted: text, unmute }, author) {
  const onclick = ({ target }) => {
    const item = target.closest(".commentsvc-comment");
    remember(thread, author, false).then(() => item.focus());
  };
  return h("p.hint", {}, text.replace("#", () => author) + " ", h("button.link", { type: "button", onclick }, unmute));
}

/** Mute an author, or no longer. */
async function remember(thread, author, isMuted) {
  const others = muted().filter((name) => name != author);
  const names = isMuted ? [...others, author].slice(-AUTHORS) : others;
  storage.set("muted", names[0] && names);
  if (names[0]) storage.set("extras", true); // so that they are folded at the next visit, too
  await foldMuted(thread, names); // also where the storage is full
}

/** Mute the author of a comment; its place says so, and offers to take it back. */
export async function mute(thread, button, { author }) {
  const { firstChild: article } = button.closest(".commentsvc-comment");
  await remember(thread, author, true);
  const [text, undo] = article.firstChild.childNodes;
  thread.status.textContent = text.textContent;
  undo.focus();
}
