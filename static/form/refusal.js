// What a form says when its text was not taken

import { storage } from "../common.js";
import { errorText } from "../send.js";
import "../rich.js"; // its styles

/** Return what the browser says about faulty fields, by name, or undefined. The service knows more. */
export function faultsOf({ element, errors }) {
  element.message.readOnly = false; // or it would not be checked
  const isFaulty = ({ name, value, validity }) =>
    validity.valueMissing || (name == "email" && value && !/^\S+@\S+$/.test(value));
  const faulty = Object.keys(errors).map((name) => element[name]).filter(isFaulty);
  const texts = faulty.map((field) => [field.name, field.validationMessage]);
  element.message.readOnly = true;
  return faulty.length ? Object.fromEntries(texts) : undefined;
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
  const kept = form.element.message.value && messages.kept;
  form.error.textContent = isSaid ? "" : `${text} ${kept}`;
  if (marked.some((name) => form.identity.contains(form.element[name]))) {
    form.showIdentity(true);
    form.identity.hidden = false; // also while the reader is signed in
  }
  if (marked.length) form.element[marked[0]].focus();
}
