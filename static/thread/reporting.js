// The form that asks why a comment is reported

import { h, loadMessages, loadStylesheet, storage } from "../common.js";
import { errorText, readerWord, send } from "../send.js";

const REASONS = ["illegal", "abuse", "spam", "other"];
const LENGTH = 500; // of the explanation, in characters

/** Show the form below a comment, in place of its menu. */
export async function ask(thread, _button, { id, author }) {
  const { host, tree, messages, status } = thread;
  const draft = "report " + id;
  const { notices } = thread.page;
  const [texts, labels] = await Promise.all([
    loadMessages(host, "-tools"),
    notices ? loadMessages(host, "-form") : {},
    loadStylesheet("form.css"),
  ]);
  const choices = REASONS.map((value) =>
    h("label", {}, h("input", { type: "radio", name: "reason", value, required: true }), " ", texts[value]),
  );
  const reasons = h("div.field", { role: "radiogroup", ariaLabel: texts.why }, h("label", {}, texts.why), ...choices);
  const value = storage.get(draft) ?? "";
  const explanation = h("textarea.input", { name: "explanation", value, dir: "auto", rows: 2, maxLength: LENGTH });
  const error = h("p.error", { role: "alert" });
  const buttons = h(
    "div.actions",
    {},
    h("button.button", {}, texts.sendReport),
    h("button.link", { type: "reset" }, messages.cancel),
  );
  const details = h("div.field", {}, h("label", {}, texts.details, explanation));
  const contact = notices ? contactFields(texts, labels) : [];
  const form = h("form.form", { ariaLabel: `${texts.report}: ${author}` }, reasons, details, ...contact, error, buttons);

  // The comment, and with it the button, may be drawn again
  function close() {
    form.remove();
    tree.find(id)?.querySelector("article [name=menu]")?.focus();
  }

  async function submit(event) {
    event.preventDefault();
    if (explanation.readOnly) return;
    explanation.readOnly = true;
    error.textContent = "";
    const { faith, ...fields } = Object.fromEntries(new FormData(form));
    const body = { reporter: readerWord(), ...fields, ...(faith && { in_good_faith: true }) };
    try {
      await send("POST", `comments/${id}/reports`, body);
      storage.set(draft, undefined);
      close();
      tree.find(id)?.firstChild.append(h("p.note", {}, texts.reported));
      status.textContent = texts.reported;
    } catch (failure) {
      explanation.readOnly = false;
      error.textContent = errorText(messages, failure);
    }
  }

  explanation.addEventListener("input", () => storage.set(draft, explanation.value));
  form.addEventListener("submit", submit);
  form.addEventListener("reset", close);
  form.addEventListener("keydown", ({ key }) => key == "Escape" && close());
  tree.element.querySelector("form")?.reset();
  // Which may have closed the menu, and taken its button away
  tree.find(id)?.firstChild.after(form);
  choices[0].firstChild.focus();
}

/** Return the fields for a reader who wants to hear what is decided. */
function contactFields(texts, labels) {
  const field = (name, maxLength, more) =>
    h("div.field", {}, h("label", {}, labels[name == "name" ? "author" : name], h("input.input", { name, maxLength, ...more })));
  const faith = h("input", { type: "checkbox", name: "faith" });
  return [
    h("p", {}, texts.hear),
    field("name", 100, { autocomplete: "name", dir: "auto" }),
    field("email", 254, { autocomplete: "email", inputMode: "email" }),
    h("div.field", {}, h("label", {}, faith, " ", texts.faith)),
  ];
}
