// A comment as it is shown, and what all parts need
import { network } from "./count.js";

export let words;

export async function speak(element) {
  const known = /^(ar|de|es|fr|it|ja|nl|pl|pt|ru|zh)\b/.exec(element.closest("[lang]")?.lang);
  const tag = known ? known[0] : "en";
  words = { tag, ...(await import(`./lang/${tag}.js`)).default };
}

export function countText(n) {
  const category = n ? new Intl.PluralRules(words.tag).select(n) : "zero";
  return words.counts[category].replace("#", n.toLocaleString(words.tag));
}

export async function count(element, n) {
  await speak(element);
  element.text = countText(n);
}

export function make(tag, name, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  if (name) element.className = "commentsvc-" + name;
  element.append(...children);
  return element;
}

export const word = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

export const button = (text, onclick, ariaLabel) =>
  make("button", "link", { type: "button", onclick, ariaLabel }, text);

// The only way in for HTML
export const trusted = (element, html) => ((element.innerHTML = html), element);

export async function call(target, method, body, token) {
  const headers = {};
  if (body) headers["content-type"] = "application/json";
  if (token) headers.authorization = "Bearer " + token;
  const signal = AbortSignal.timeout(40000); // ms
  body = JSON.stringify(body);
  let answer, data;
  try {
    answer = await network.send("api/" + target, { method, headers, body, signal });
    data = answer.status == 204 || (await answer.json());
  } catch {}
  if (answer?.ok && data) return { data };
  return { status: answer?.status, wait: answer?.headers.get("retry-after"), ...data?.error };
}

export function memory(name, value) {
  try {
    name = "commentsvc:" + name;
    if (value) localStorage[name] = JSON.stringify(value);
    else if (value === null) delete localStorage[name];
    return JSON.parse(localStorage[name]);
  } catch {} // storage may be forbidden
}

function ago(moment) {
  const seconds = Math.max(0, (Date.now() - moment) / 1000);
  const units = { year: 31557600, month: 2629800, week: 604800, day: 86400, hour: 3600, minute: 60, second: 1 };
  const unit = Object.keys(units).find((name) => seconds >= units[name]) || "second";
  const format = new Intl.RelativeTimeFormat(words.tag, { numeric: "auto" });
  return format.format(-Math.floor(seconds / units[unit]), unit);
}

function identicon(text, picture) {
  let hash = 7;
  for (const letter of text) hash = Math.imul(hash, 0x9e3779b1) ^ letter.codePointAt();
  let path = "";
  for (let bit = 0; bit < 15; bit++) {
    if ((hash >> bit) & 1) {
      for (const x of [bit % 3, 4 - (bit % 3)]) path += `M${x} ${bit % 5}h1v1h-1z`;
    }
  }
  const tile = make("span", "avatar", { ariaHidden: true });
  if (picture) path += `"/><image x="-2" y="-2" width="9" href="${network.base + picture}`;
  trusted(tile, `<svg viewBox="-2 -2 9 9"><path d="${path}"/></svg>`);
  tile.style.setProperty("--commentsvc-hue", hash % 360);
  return tile;
}

export function article(comment, above, note, ...actions) {
  const { id, author, avatar, picture, site, html, published, edited } = comment;
  const link = /^https?:/.test(site) && { href: site, rel: "nofollow ugc noopener" };
  const dateTime = published || new Date().toJSON();
  const moment = new Date(dateTime);
  const title = moment.toLocaleString(words.tag, { dateStyle: "long", timeStyle: "short" });
  const time = make("time", "", { dateTime, title }, ago(moment));
  const date = make("span", "date", {}, make("a", "", { href: "#comment-" + id }, time));
  if (edited) date.append(" · ", words.edited);
  if (above) date.append(" ", make("a", "", { href: "#comment-" + above.id }, "↪ " + above.author));
  const name = make(link ? "a" : "bdi", "author", { dir: "auto", ...link }, author);
  const meta = make("header", "meta", {}, identicon(avatar || author, picture), name, date);
  const body = trusted(make("div", "body", { dir: "auto" }), html);
  return make("article", "", {}, meta, note, body, make("footer", "actions", {}, ...actions));
}

/** Fills `list` with items that `draw` makes, nested `depth` levels at most */
export function arrange(list, comments, depth, draw) {
  const items = new Map();
  for (const [id, comment] of comments) {
    const above = [];
    for (let up = comment; (up = comments.get(up.parent)); ) above.unshift(up);
    const home = above[Math.min(above.length, depth) - 1];
    const drawn = draw(comment, home != above.at(-1) && above.at(-1));
    const properties = { id: "comment-" + id, tabIndex: -1 };
    const item = make("li", "comment", properties, drawn, make("ol", "replies"));
    items.set(id, { item, home });
  }
  list.replaceChildren();
  for (const { item, home } of items.values()) {
    (home ? items.get(home.id).item.lastChild : list).append(item);
  }
}
