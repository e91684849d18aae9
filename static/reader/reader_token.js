// The token of a reader who has signed in

import { loadMessages, storage } from "../common.js";
import { send } from "../send.js";

const MARK = "commentsvc-reader="; // before a token in the page's address

/** Return whether a browser's word, or a token, is there: a text that is not empty */
const isThere = (text) => typeof text == "string" && text != "";

/** Store a token if it comes with our word; return whether it does. */
export function keep({ word, token, name }) {
  if (![word, token, name].every(isThere) || word !== storage.get("word")) return false;
  storage.set("word", undefined);
  storage.set("reader", { token, name });
  storage.set("own-comments", storage.get("own-comments") ?? {});
  return true;
}

/**
 * Take the token from the page's address. If it comes without our word, ask the reader first, by
 * the name that the service knows: anybody can make such a link.
 */
export async function takeToken(thread) {
  const text = thread.target.slice(MARK.length);
  thread.target = "";
  history.replaceState(history.state, "", location.href.split("#")[0]);
  try {
    const handed = { ...JSON.parse(decodeURIComponent(text)) };
    if (![handed.word, handed.token].every(isThere)) return;
    if (handed.word !== storage.get("word")) {
      const { name } = await send("GET", thread.path("reader"), undefined, handed.token);
      const texts = await loadMessages(thread.host, "-form");
      if (!confirm(texts.signInAs.replace("#", () => name))) return;
      storage.set("word", handed.word);
      handed.name = name;
    }
    if (!keep(handed)) return;
  } catch {
    return; // not a link of ours, or the token is over
  }
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
