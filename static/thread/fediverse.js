// Replying from the reader's own account on Mastodon, where the page has a post there

import { h, loadMessages, loadStylesheet, storage } from "../common.js";

loadStylesheet("elements.css"); // which has the style of a field beside its button

/** Return the host in what somebody typed: "example.social", "@rosa@example.social" or an address. */
function hostOf(typed) {
  const [name] = typed.trim().replace(/^https?:\/\//, "").split("/");
  try {
    const { host } = new URL("https://" + name.split("@").at(-1));
    return /^[^%]+\.[^%]+$/.test(host) ? host : "";
  } catch {
    return "";
  }
}

/** Offer to open the posts about the page of `thread` on the reader's server, which only this browser knows. */
export async function offerReply(thread) {
  const { mastodon, server, open } = await loadMessages(thread.host, "-tools");
  if (thread.hasEnded || thread.host.querySelector(".commentsvc-mastodon")) return;
  const offers = thread.page.posts.map((post) => {
    const button = h("button.link", { type: "button", ariaExpanded: "false" }, mastodon);
    const field = h("input.input", { value: storage.get("server") ?? "", ariaLabel: server, placeholder: server });
    Object.assign(field, { maxLength: 255, required: true, autocomplete: "off", autocapitalize: "none", spellcheck: false });
    const form = h("form.search", { hidden: true }, field, h("button.button", {}, open));
    button.onclick = () => {
      form.hidden = !form.hidden;
      button.ariaExpanded = String(!form.hidden);
      if (!form.hidden) field.focus();
    };
    form.onsubmit = (event) => {
      event.preventDefault();
      const host = hostOf(field.value);
      field.setCustomValidity(host ? "" : server);
      if (!form.reportValidity()) return;
      storage.set("server", host);
      window.open(`https://${host}/authorize_interaction?uri=${encodeURIComponent(post)}`, "_blank", "noopener");
    };
    field.oninput = () => field.setCustomValidity("");
    return h("div.mastodon", {}, button, form);
  });
  thread.tree.element.after(...offers);
}
