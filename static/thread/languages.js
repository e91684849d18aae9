// The languages of comments: their marks, the choice of one, and translations by the browser itself

import { h, loadMessages, loadStylesheet } from "../common.js";

loadStylesheet("form.css"); // which has the style of buttons in a line of text

const known = new WeakSet(); // threads whose comments are watched
const primary = (lang) => lang.split("-")[0];

/** Mark each comment up with its language, and offer to show one language and to translate. */
export async function showLanguages(thread) {
  if (known.has(thread)) return;
  known.add(thread);
  const { messages, host } = thread;
  const tools = await loadMessages(host, "-tools");
  const names = new Intl.DisplayNames(messages.tag, { type: "language", fallback: "code" });
  const nameOf = (lang) => {
    try {
      return names.of(lang);
    } catch {
      return lang; // no tag of a language: the browser takes fewer than blogs write
    }
  };
  const choice = h("select.link", { ariaLabel: tools.allLanguages, onchange: () => filter() });
  const items = () => [...thread.tree.element.querySelectorAll(".commentsvc-comment")];
  const availability = new Map(); // of translations from each language

  function filter() {
    const comments = thread.all();
    const isShown = ({ commentId }) => !choice.value || comments.get(commentId)?.lang == choice.value;
    // What a shown comment answers stays
    for (const item of items()) item.hidden = !isShown(item) && !items().some((each) => item.contains(each) && isShown(each));
  }

  function update() {
    const comments = thread.all();
    const found = new Set();
    for (const item of items()) {
      const lang = comments.get(item.commentId)?.lang;
      const body = item.firstChild.querySelector(".commentsvc-body");
      if (!lang || !body) continue;
      found.add(lang);
      if (body.lang == lang) continue;
      body.lang = lang;
      if (primary(lang) != primary(messages.tag)) offerTranslation(body, lang);
    }
    const chosen = found.has(choice.value) ? choice.value : "";
    choice.replaceChildren(new Option(tools.allLanguages, ""), ...[...found].map((lang) => new Option(nameOf(lang), lang)));
    choice.value = chosen;
    if (found.size > 1) host.querySelector(".commentsvc-heading").after(choice);
    else choice.remove();
    filter();
  }

  async function offerTranslation(body, sourceLanguage) {
    const { Translator } = /** @type {any} */ (self);
    const pair = { sourceLanguage, targetLanguage: messages.tag };
    availability.set(sourceLanguage, availability.get(sourceLanguage) ?? Translator?.availability(pair).catch(() => {}));
    if (((await availability.get(sourceLanguage)) ?? "unavailable") == "unavailable") return;
    const button = h("button.link", { type: "button" }, tools.translate);
    let translated;
    button.onclick = async () => {
      if (!translated) {
        button.disabled = true;
        translated = await translate(Translator, pair, body).catch(() => {});
        button.disabled = false;
        if (!translated) return button.remove(); // the browser cannot do it after all
        body.after(translated);
        translated.hidden = true;
        button.focus();
      }
      body.hidden = !body.hidden;
      translated.hidden = !body.hidden;
      button.textContent = body.hidden ? tools.original : tools.translate;
    };
    body.parentElement.querySelector(".commentsvc-actions")?.append(button);
  }

  host.addEventListener("comments-shown", () => thread.hasEnded || update());
  update();
}

/** Return an element with the text of a comment in another language; it is translated on the device. */
async function translate(Translator, pair, body) {
  const translator = await Translator.create(pair);
  const element = h("div.body", { dir: "auto", lang: pair.targetLanguage });
  for (const part of body.innerText.split(/\n{2,}/)) {
    if (part.trim()) element.append(h("p", {}, await translator.translate(part)));
  }
  translator.destroy?.();
  return element;
}
