// Moderators: links to the moderation pages, and the way to moderate in the thread, for a browser
// that once followed a link from there to the blog

import { base, h, loadMessages, storage } from "../common.js";
import { randomId, send } from "../send.js";

const MARK = "commentsvc-moderator="; // before a code in the page's address
const TOKEN = "commentsvc:moderator"; // in sessionStorage, so that it ends with this tab
const WORD = "commentsvc:moderator-word"; // whose digest the moderation pages get
const DRAFT = "commentsvc:moderator-answer "; // before the id of a comment

let isEntering = false; // the code is being exchanged

/** Return what this tab keeps under a name, after it keeps a new `value`; an empty one removes it. */
function tab(name, value) {
  try {
    if (value) sessionStorage[name] = value;
    else if (value == "") delete sessionStorage[name];
    return sessionStorage[name];
  } catch {} // it is blocked: there is no moderating here
}

/** Show the links in this browser from now on; remove that request from `thread.target`. */
export function begin(thread) {
  remember();
  thread.target = thread.target.split("?")[0];
  history.replaceState(history.state, "", location.href.split("#")[0] + "#" + thread.target);
  addLinks(thread);
}

function remember() {
  storage.set("moderator", true);
  storage.set("extras", true);
}

/** Exchange the code in the page's address for a token, if this tab has asked for it. */
export async function enter(thread) {
  const code = thread.target.slice(MARK.length);
  thread.target = "";
  history.replaceState(history.state, "", location.href.split("#")[0]);
  const word = tab(WORD);
  tab(WORD, "");
  thread.host.scrollIntoView();
  if (word) {
    isEntering = true;
    try {
      const path = "thread-moderation/session?lang=" + thread.messages.tag;
      const { token } = await send("POST", path, { code, word });
      tab(TOKEN, token);
      remember();
    } catch ({ message }) {
      thread.error.textContent = message ?? thread.messages.unreached;
    }
    isEntering = false;
  }
  if (storage.get("moderator")) await addLinks(thread);
}

/**
 * Moderate in the thread if this tab has a token. Otherwise lead there, and add a link to each
 * comment of `thread` that has none. The moderation pages check the access.
 */
export async function addLinks(thread) {
  if (isEntering || location.hash.startsWith("#" + MARK)) return; // which comes back here
  const { moderate: text } = await loadMessages(thread.host, "-form");
  const link = (id) => h("a.link", { href: `${base}moderation/comment?id=${id}#answer`, rel: "noopener" }, text);
  const token = tab(TOKEN);
  if (token) {
    const { moderate } = await import("./moderation.js");
    const leave = () => {
      tab(TOKEN, "");
      return addLinks(thread);
    };
    const draft = (id, text) => tab(DRAFT + id, text);
    return moderate(thread, { token, leave, link, draft, forget });
  }
  for (const actions of thread.host.querySelectorAll("article > .commentsvc-actions")) {
    if (actions.querySelector("[href*='/moderation/comment']")) continue;
    actions.append(link(actions.closest(".commentsvc-comment").commentId));
  }
  await offer(thread);
}

/** Remove the answers that were not sent. */
function forget() {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(DRAFT)) tab(name, "");
}

/** Add a link to the page where a moderator agrees, to the bar of the thread. */
async function offer(thread) {
  const bar = thread.host.querySelector(".commentsvc-bar > .commentsvc-actions");
  if (!bar || !isSecureContext) return;
  const { here } = await loadMessages(thread.host, "-moderation");
  const word = tab(WORD) ?? tab(WORD, randomId());
  if (!word) return;
  const page = location.href.split("#")[0];
  const query = new URLSearchParams({ page, challenge: await digest(word) });
  if (bar.querySelector("[href*='/moderation/on-blog']")) return; // it was called twice meanwhile
  bar.append(h("a.link", { href: `${base}moderation/on-blog?${query}`, rel: "noopener" }, here));
}

/** Return the SHA-256 digest of a text in Base64 for addresses. */
async function digest(text) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
