// A reader who signs in: nobody else has the name, and comments can be changed on any device

import { base, h, loadMessages, storage } from "../common.js";
import { keep } from "./reader_token.js";
import { randomId, send } from "../send.js";

/** Offer to sign in or out in `form`. */
export async function offerSignIn(form) {
  const { element, about, choices } = form;
  const texts = await loadMessages(element, "-form");
  const line = h("p.hint");
  const add = (text, onclick) => {
    if (line.firstChild) line.append(" · ");
    line.append(h("button.link", { type: "button", onclick }, texts[text]));
  };
  const show = () => {
    form.showIdentity(true);
    offerSignIn(form);
  };
  const end = (everywhere) => async () => {
    await signOut(about.url, everywhere);
    show();
  };
  const reader = storage.get("reader");
  const { members_only: isForMembers, email } = form.token.asks ?? {};
  element.email.required = email == "required" && !reader;
  const start = () => signIn(about.messages, show);
  form.readerLine?.remove();
  form.sendButton.hidden = isForMembers && !reader;
  if (form.sendButton.hidden) {
    form.readerLine = h("button.button", { type: "button", onclick: start }, texts.signInToComment);
    form.sendButton.before(form.readerLine);
    return;
  }
  if (reader) {
    line.append(about.messages.commentingAs.replace("#", () => reader.name), " ✓");
    add("signOut", end({}));
    add("signOutEverywhere", end({ everywhere: "yes" }));
  } else add("signIn", start);
  form.readerLine = line;
  choices.append(line);
}

/** Open the window for signing in; call `done` when it has passed its token. */
function signIn({ tag }, done) {
  const word = randomId();
  storage.set("word", word);
  const page = location.href.split("#")[0];
  const origin = new URL(base).origin;
  const listening = new AbortController();
  const finish = () => {
    listening.abort();
    done();
  };
  const receive = ({ origin: sender, data, source }) => {
    if (sender != origin || !data?.reader || !keep({ ...JSON.parse(data.reader) })) return;
    source.postMessage("commentsvc-reader", origin);
    finish();
  };
  addEventListener("message", receive, listening);
  // Another window has stored the token
  addEventListener("storage", () => storage.get("reader") && finish(), listening);
  const query = new URLSearchParams({ page, word, lang: tag });
  open(`${base}reader/sign-in?${query}`, "commentsvc-reader", "popup,width=480,height=640");
}

async function signOut(url, everywhere) {
  const { token } = storage.get("reader");
  storage.set("reader", undefined);
  const query = new URLSearchParams({ url, ...everywhere });
  await send("DELETE", "reader?" + query, undefined, token).catch(() => {});
}
