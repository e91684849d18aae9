// What a site asks for beside the text, if it is not the usual: fields, guidelines, a box to tick

import { h, loadMessages, setHTML, storage } from "../common.js";

// Their labels, where a site asks otherwise for them than others do
const LABELS = { author: "authorOptional", email: "emailRequired", site: "siteRequired" };

/** Ask in `form` for what its site says. */
export async function ask(form) {
  const { element, token } = form;
  const { guidelines, agreement, members_only: isForMembers, ...fields } = token.asks;
  const texts = await loadMessages(element, "-form");
  if (form.asked) return;
  form.asked = { nothing: true };
  for (const name in LABELS) {
    const field = element[name];
    const how = isForMembers ? "hidden" : fields[name];
    if (how != "hidden") form.asked.nothing = false;
    if (!how) continue;
    field.disabled = field.closest(".commentsvc-field").hidden = how == "hidden";
    field.required = how == "required" && (name != "email" || !storage.get("reader"));
    field.labels[0].firstChild.data = texts[LABELS[name]];
  }
  if (fields.email == "hidden" && !isForMembers) element.querySelector("p.commentsvc-hint:last-child")?.remove();
  form.showIdentity(!form.identity.hidden);
  if (guidelines) element.prepend(setHTML(h("div.guidelines"), guidelines));
  if (agreement) addBox(form, agreement);
}

/** Add a box that has to be ticked for each comment. */
function addBox({ element, errors, choices }, text) {
  const box = h("input", { name: "agreed", type: "checkbox", required: true });
  const error = h("p.error", { id: errors.message.id + "-agreed" });
  box.setAttribute("aria-describedby", error.id);
  errors.agreed = error;
  choices.after(h("div.field", {}, h("label", {}, box, " ", text), error));
  element.addEventListener("comment-submitted", () => (box.checked = false));
}
