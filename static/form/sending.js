// Sending the comment in a form

import { again, storage } from "../common.js";
import { explain, faultsOf } from "./refusal.js";
import { randomId, send } from "../send.js";

const PATIENCE_MS = 1500; // that a comment waits for its proof of work

/** Send the comment in `form`; return the service's answer, or undefined if it refuses. */
export async function submit(form) {
  completeSite(form.element.site);
  const faults = faultsOf(form);
  if (faults) return explain(form, { status: 400, fields: faults });
  form.key ||= randomId();
  const fields = { ...form.keep(), title: document.title };
  try {
    /** @type {any} */
    const answer = await (form.about.own ? change(form, fields) : post(form, fields));
    forget(form, fields);
    return fields.mails && fields.mails != "none" ? { ...answer, mails: true } : answer;
  } catch (failure) {
    explain(form, failure);
  }
}

/** Add what people leave out of an address. */
function completeSite(field) {
  const address = field?.value.trim();
  if (address && !/^[a-z]+:/i.test(address)) field.value = "https://" + address.replace(/^\/+/, "");
}

/** Clear the form after the comment was sent, and keep the author. */
function forget(form, { author, email, site, remember }) {
  if (!form.about.own) {
    Object.assign(form.writer, { author, email, site });
    storage.set("writer", remember ? form.writer : undefined);
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

async function post(form, { remember, mails, private: isPrivate, ...fields }) {
  const patience = new Promise((done) => setTimeout(done, PATIENCE_MS));
  await Promise.race([form.begin(), patience]);
  const { about, key, token } = form;
  if (isPrivate) {
    const { sendNote } = await import("./private.js").catch(again("form/private"));
    return sendNote(form, { ...fields, key, url: about.url });
  }
  const body = {
    ...fields,
    key,
    url: about.url,
    parent: about.parent?.id,
    agreed: fields.agreed && true,
    notify: mails == "notify",
    follow: mails == "follow",
    form_token: token.form_token,
    proof_of_work: token.solution ?? null,
  };
  return send("POST", pathOf(about, "comments"), body, storage.get("reader")?.token);
}
