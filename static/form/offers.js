// What a form offers besides: mails about comments, pictures, and signing in

import { h, loadMessages } from "../common.js";

/** Add to `form` what the service offers. */
export async function offer(form) {
  const { notify, images, sign_in: mayEnter } = form.token;
  if (mayEnter) {
    import("../reader/reader.js").then(({ offerSignIn }) => offerSignIn(form)).catch(() => {});
  }
  if (images) import("../pictures/attaching.js").then(({ attach }) => attach(form)).catch(() => {});
  if (notify) await offerMails(form);
}

/** Add a choice: no mails, or mails about replies or about all comments on the page. */
async function offerMails({ element }) {
  const texts = await loadMessages(element, "-form");
  if (element.mails) return; // it was added meanwhile
  const choice = h("select.input", { name: "mails" });
  for (const name of ["none", "notify", "follow"]) choice.append(new Option(texts[name], name));
  element.subject.before(h("label", {}, texts.mails, " ", choice));
}
