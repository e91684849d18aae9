// The choice of mails in a form

import { h, loadMessages } from "./common.js";

/** Add a choice to `form`: no mails, or mails about replies or about all comments on the page. */
export async function offerMails({ element }) {
  const texts = await loadMessages(element, "-form");
  if (element.mails) return; // it was added meanwhile
  const choice = h("select.input", { name: "mails" });
  for (const name of ["none", "notify", "follow"]) choice.append(new Option(texts[name], name));
  element.subject.before(h("label", {}, texts.mails, " ", choice));
}
