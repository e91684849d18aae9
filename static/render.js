// How elements are made. Strings are text; HTML enters in trusted() alone.
import { words } from "./words.js";

export function make(tag, name, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  if (name) element.className = "commentsvc-" + name;
  element.append(...children);
  return element;
}

/** The HTML of a comment, sanitised by the service. */
function trusted(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

// Initials on a colour: no third party learns who reads what.
function avatar({ author, avatar }) {
  const initials = author.split(" ").map((word) => [...word][0]).slice(0, 2);
  const tile = make("span", "avatar", { ariaHidden: true }, initials.join(""));
  let hue = 0;
  for (const letter of avatar || author) hue = (hue * 31 + letter.codePointAt()) % 360;
  tile.style.setProperty("--commentsvc-hue", hue);
  return tile;
}

function date({ id, published }, lang) {
  const moment = new Date(published || Date.now());
  const style = { dateStyle: "medium", timeStyle: "short" };
  const time = make("time", "", { dateTime: moment.toISOString() });
  try {
    time.append(moment.toLocaleString(lang, style));
  } catch {
    time.append(moment.toLocaleString([], style)); // lang is no language
  }
  return make("a", "date", { href: "#comment-" + id }, time);
}

/** A comment and the list of its replies. */
export function render(comment, lang, notice, onclick) {
  const { id, author, site, html } = comment;
  const link = /^https?:/.test(site) && { href: site, rel: "nofollow ugc noopener" };
  const name = make(link ? "a" : "span", "author", link, author);
  const meta = make("header", "meta", {}, avatar(comment), name, date(comment, lang));
  const article = make("article", "", {}, meta);
  if (notice) article.append(make("p", "note", {}, notice));
  article.append(make("div", "body", {}, trusted(html)));
  if (onclick) {
    const ariaLabel = words.replyTo(author);
    article.append(make("button", "link", { type: "button", ariaLabel, onclick }, words.reply));
  }
  return make("li", "comment", { id: "comment-" + id, tabIndex: -1 }, article, make("ol", "replies"));
}
