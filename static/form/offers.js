// What a form offers besides: mails about comments, comments as mails, pictures, and signing in; and
// what it asks for

import { again, base, h, loadMessages, storage } from "../common.js";

/** Add to `form` what the service offers. */
export async function offer(form) {
  const { notify, images, sign_in: mayEnter, asks, by_mail: takesMail, notes } = form.token;
  const asked = asks && import("./asked.js").then(({ ask }) => ask(form)).catch(() => {});
  if (mayEnter) {
    import("../reader/reader.js").then(({ offerSignIn }) => offerSignIn(form)).catch(() => {});
  }
  const isNote = form.about.sent;
  const pictured = images && !isNote && import("../pictures/attaching.js").then(({ attach }) => attach(form)).catch(() => {});
  if (notify && !isNote) await offerMails(form);
  if (takesMail && !form.about.parent && !isNote) await offerToMail(form);
  if (form.about.parent || !(notes || form.element.private)) return;
  await Promise.all([asked, pictured]); // which it hides
  const { offerPrivacy } = await import("./private.js").catch(again("form/private"));
  await offerPrivacy(form);
}

/** Link to the page from which a comment on this page can be written as a mail. */
async function offerToMail({ element, about }) {
  const texts = await loadMessages(element, "-form");
  const { tag } = about.messages;
  const query = new URLSearchParams({ url: about.url, lang: tag });
  const link = h("a", { href: base + "mail/write?" + query, rel: "nofollow" }, texts.byMail);
  element.append(h("p.hint", {}, link));
}

/** Add a choice, once there is an address: mails about replies, about all comments, or none. */
async function offerMails({ element, choices }) {
  const texts = await loadMessages(element, "-form");
  if (element.mails) return; // it was added meanwhile
  const choice = h("select.input", { name: "mails", ariaLabel: texts.mails });
  for (const name of ["none", "notify", "follow"]) choice.append(new Option(texts[name], name));
  const update = () => (choice.hidden = element.private?.checked || !element.email.value.trim() && !storage.get("reader"));
  update();
  element.addEventListener("input", update);
  choices.append(choice);
}
