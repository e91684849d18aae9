// Sending the comment in a form

import { storage } from "./common.js";
import { CommentForm } from "./form.js";
import { errorText, randomId, send } from "./send.js";

/**
 * Send the comment in `form`; return the service's answer, or undefined if it refuses. The comment
 * waits for its proof of work until the promise `patience` is resolved.
 */
export async function submit(form, patience) {
  form.key ||= randomId();
  const fields = form.keep();
  try {
    const answer = await (form.about.own ? change(form, fields) : post(form, patience, fields));
    forget(form, fields);
    return answer;
  } catch (failure) {
    explain(form, failure);
  }
}

/** Clear the form after the comment was sent, and keep the author. */
function forget(form, { author, email, site, remember }) {
  if (!form.about.own) {
    CommentForm.writer = { author, email, site };
    storage.set("writer", remember ? CommentForm.writer : undefined);
    form.showIdentity(false);
  }
  storage.set(form.draft, undefined);
  form.key = undefined;
  form.element.message.value = "";
}

const pathOf = ({ messages }, name) => `${name}?lang=${messages.tag}`;

function change({ about }, { message }) {
  const { parent, own } = about;
  return send("PATCH", pathOf(about, "comments/" + parent.id), { message }, own.token);
}

async function post(form, patience, { remember, mails, ...fields }) {
  await Promise.race([form.begin(), patience]);
  const { about, key, token } = form;
  const body = {
    ...fields,
    key,
    url: about.url,
    parent: about.parent?.id,
    title: document.title,
    notify: mails == "notify",
    follow: mails == "follow",
    form_token: token.form_token,
    proof_of_work: token.solution ?? null,
  };
  return send("POST", pathOf(about, "comments"), body, storage.get("reader")?.token);
}

/** Show the error of a field beside it, all others above the buttons. */
export function explain(form, failure) {
  const { messages } = form.about;
  const isOtherText = failure.status == 409; // the service has another text with this key
  if (isOtherText) form.key = undefined;
  const fields = { ...failure.fields };
  const marked = Object.keys(form.errors).filter((name) => fields[name]);
  form.proof = undefined;
  if (failure.status == 401) {
    storage.set("reader", undefined);
    form.showIdentity(true);
    form.begin();
  }
  for (const name in form.errors) form.mark(name, fields[name] ?? "");
  for (const name of marked) delete fields[name];
  const isSaid = marked.length && !Object.keys(fields).length;
  const text = isOtherText ? messages.twice : errorText(messages, { ...failure, fields });
  form.error.textContent = (isSaid ? "" : text + " ") + messages.kept;
  if (marked.some((name) => form.identity.contains(form.element[name]))) form.showIdentity(true);
  if (marked.length) form.element[marked[0]].focus();
}
