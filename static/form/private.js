// Private notes: the box that sends a form's text to the author of the page alone

import { h, loadMessages, storage } from "../common.js";
import { send } from "../send.js";

/** Add to `form` the box "Only for the author of this page", and leave out what a note has not. */
export async function offerPrivacy(form) {
  const { about, element, choices, sendButton } = form;
  const isAlways = Boolean(about.sent);
  const texts = await loadMessages(element, "-note");
  if (form.noted) return;
  const { thank } = storage.get(form.draft) ?? {};
  const box = h("input", { name: "private", type: "checkbox", checked: Boolean(element.private) });
  const mayThank = h("label", {}, h("input", { name: "thank", type: "checkbox", checked: thank }), " ", texts.thank);
  let others = [];
  const update = () => {
    mayThank.hidden = !box.checked;
    sendButton.textContent = box.checked ? texts.send : about.messages.send;
    if (box.checked) {
      const fields = [element.site, element.agreed].filter((field) => field && !partOf(field).hidden);
      others = fields.map((field) => ({ field, required: field.required }));
    }
    for (const { field, required } of others) {
      partOf(field).hidden = box.checked;
      field.required = required && !box.checked;
    }
    for (const part of form.pictures ?? []) part.disabled = box.checked;
  };
  form.noted = h("p.status", { role: "status" });
  element.private?.remove(); // that of the draft
  choices.after(h("div.actions", {}, h("label", { hidden: isAlways }, box, " ", texts.private), mayThank), form.noted);
  box.addEventListener("change", update);
  element.addEventListener("input", () => (form.noted.textContent = ""));
  update();
}

const partOf = (field) => field.closest(".commentsvc-field");

/** Send what was written as a private note: no field of it makes a comment. */
export async function sendNote(form, fields) {
  const { element, about, token } = form;
  const { url, author, email, title, message, key, subject, quote, thank } = fields;
  const texts = await loadMessages(element, "-note");
  const work = { form_token: token.form_token, proof_of_work: token.solution ?? null };
  const note = { url, author, email, title, message, key, subject, quote, thank: Boolean(thank), ...work };
  const path = "notes?lang=" + about.messages.tag;
  const answer = await send("POST", path, note, storage.get("reader")?.token);
  await offerPrivacy(form);
  if (about.sent) about.sent(texts.sent);
  else form.noted.textContent = texts.sent;
  return answer;
}
