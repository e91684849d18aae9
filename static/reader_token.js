// The token of a reader who has signed in

import { loadMessages, storage } from "./common.js";
import { send } from "./send.js";

const MARK = "commentsvc-reader="; // before a token in the page's address

/** Store a token if it comes with our word; return whether it does. */
export function keep({ word, token, name }) {
  if (word != storage.get("word")) return false;
  storage.set("word", undefined);
  storage.set("reader", { token, name });
  storage.set("own-comments", storage.get("own-comments") ?? {});
  return true;
}

/** Take the token from the page's address; ask the reader first if it comes without our word. */
export async function takeToken(thread) {
  const handed = JSON.parse(decodeURIComponent(thread.target.slice(MARK.length)));
  thread.target = "";
  history.replaceState(history.state, "", location.pathname + location.search);
  const texts = await loadMessages(thread, "-form");
  if (handed.word != storage.get("word")) {
    if (!confirm(texts.signInAs.replace("#", handed.name))) return;
    storage.set("word", handed.word);
  }
  keep(handed);
  await thread.loadOwn();
  thread.show(); // which loads the reader's comments
}

/** Show the comments that the reader wrote on other devices as own ones. */
export async function loadComments(thread) {
  const { token } = storage.get("reader");
  try {
    const { comments } = await send("GET", thread.path("reader"), undefined, token);
    thread.own.restore(comments.map((own) => ({ ...own, token })));
    thread.show();
  } catch ({ status }) {
    if (status == 401) storage.set("reader", undefined);
  }
}
