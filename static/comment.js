// A comment, a form, and what all parts need
import { network } from "./count.js";

export async function speak(element) {
  const known = /^(ar|de|es|fr|it|ja|nl|pl|pt|ru|zh)\b/.exec(element.closest("[lang]")?.lang);
  return (await import(`./lang/${known ? known[0] : "en"}.js`)).default;
}

export const countText = ({ counts, tag }, n) =>
  counts[n ? new Intl.PluralRules(tag).select(n) : "zero"].replace("#", n.toLocaleString(tag));
export const count = async (element, n) => (element.text = countText(await speak(element), n));

/** `name` is a tag, or a tag and a class */
export function make(name, properties, ...children) {
  const [tag, own] = name.split(".");
  const element = Object.assign(document.createElement(tag), properties);
  if (own) element.className = "commentsvc-" + own;
  element.append(...children);
  return element;
}

export const button = (text, onclick, ariaLabel) =>
  make("button.link", { type: "button", onclick, ariaLabel }, text);
// The only way in for HTML
export const trusted = (element, html) => ((element.innerHTML = html), element);

/** Gives what the service answers, or throws what `why` explains */
export async function call(target, method, body, token) {
  const headers = method ? { "content-type": "application/json" } : {};
  if (token) headers.authorization = "Bearer " + token;
  const signal = AbortSignal.timeout(40000); // ms
  const fault = { status: navigator.onLine ? "unreached" : "offline" };
  body = JSON.stringify(body);
  try {
    const answer = await network.send("api/" + target, { method, headers, body, signal });
    fault.status = answer.ok || answer.status;
    fault.wait = answer.headers.get("retry-after");
    const data = answer.status == 204 || (await answer.json());
    if (answer.ok && data) return data;
    Object.assign(fault, data.error);
  } catch {}
  throw fault;
}

export function why(words, { status = "unreached", wait, message, fields = {} }) {
  const text = words[status > 500 ? 500 : status] || Object.values(fields).join(" ") || message;
  return (text || words.unreached).replace("#", wait ?? "…");
}

export function memory(name, value) {
  try {
    name = "commentsvc:" + name;
    if (value) localStorage[name] = JSON.stringify(value);
    else if (value === null) delete localStorage[name];
    return JSON.parse(localStorage[name]);
  } catch {} // may be forbidden
}
const SIZES = { hour: 60, day: 24, week: 7, month: 4.35, year: 12 };
export function tell({ tag }, time) {
  const moment = new Date(time.dateTime);
  let unit = "minute", number = (Date.now() - moment) / 60000;
  for (const larger in SIZES) {
    if (number < SIZES[larger]) break;
    number /= SIZES[larger];
    unit = larger;
  }
  const format = new Intl.RelativeTimeFormat(tag, { numeric: "auto" });
  time.textContent = format.format(-Math.trunc(number), unit);
  time.title = moment.toLocaleString(tag, { dateStyle: "long", timeStyle: "short" });
  return time;
}

function identicon(text, picture) {
  let hash = 7, path = "";
  for (const letter of text) hash = Math.imul(hash, 0x9e3779b1) ^ letter.codePointAt();
  for (let cell = 0; cell < 25; cell++) {
    const x = cell % 5;
    if ((hash >> (cell - x + Math.abs(x - 2))) & 1) path += `M${x} ${(cell - x) / 5}h1v1h-1z`;
  }
  if (picture) path += `"/><image x="-2" y="-2" width="9" href="${network.base + picture}`;
  const svg = `<svg viewBox="-2 -2 9 9" fill="hsl(${hash % 360} 50% 50%)"><path d="${path}"/></svg>`;
  return trusted(make("span.avatar", { ariaHidden: true }), svg);
}

export function article(words, comment, above, actions) {
  const { id, author, avatar, picture, site, html, published, edited } = comment;
  const note = comment.note ? make("p.note", {}, comment.note) : "";
  const time = tell(words, make("time", { dateTime: published || new Date().toJSON() }));
  const date = make("span.date", {}, make("a", { href: "#comment-" + id }, time));
  if (edited) date.append(" · ", words.edited);
  if (above) date.append(" ", make("a", { href: "#comment-" + above.id }, "↪ " + above.author));
  const name = make("a.author", { dir: "auto", rel: "nofollow ugc noopener" }, author);
  if (/^https?:/.test(site)) name.href = site;
  const meta = make("header.meta", {}, identicon(avatar || author, picture), name, date);
  const body = trusted(make("div.body", { dir: "auto" }), html);
  return make("article", {}, meta, note, body, make("footer.actions", {}, ...actions));
}

/** Fills `list` with what `draw` makes, nested `depth` levels at most */
export function arrange(list, comments, depth, draw) {
  const lists = { undefined: list };
  const below = (id) => (lists[id] ||= make("ol.replies"));
  list.replaceChildren();
  for (const [id, comment] of comments) {
    const line = [];
    for (let up = comment; (up = comments.get(up.parent)); ) line.unshift(up);
    const home = line[Math.min(line.length, depth) - 1];
    const drawn = draw(comment, home != line.at(-1) && line.at(-1));
    below(home?.id).append(make("li.comment", { id: "comment-" + id, tabIndex: -1 }, drawn, below(id)));
  }
}

const FIELDS = {
  message: { required: true },
  author: { required: true, autocomplete: "name" },
  email: { type: "email", autocomplete: "email" },
  site: { type: "url", autocomplete: "url" },
  remember: { type: "checkbox" },
  notify: { type: "checkbox" },
};

/** A form for the page `url`: to answer `parent`, or to change it, when it is `mine` */
export function makeForm(words, url, title, parent, mine) {
  const draft = url + "#" + (mine ? "=" : "") + (parent?.id || "");
  const texts = memory(draft) || (mine ? { message: parent.content } : memory("writer")) || {};
  const form = make("form.form", {}, make("h3", {}, title));
  const error = make("p.error", { role: "alert" });
  const send = make("button.button", {}, words[mine ? "save" : "send"]);
  const it = { words, url, parent, mine, draft, form, error, send, keep, key: texts.key };

  // The text stays until the service has it
  function keep() {
    const texts = { ...Object.fromEntries(new FormData(form)), key: it.key };
    return memory(draft, texts) || texts;
  }

  const use = (deed) => (event) => {
    event.preventDefault();
    it.writer ||= import("./deeds.js").then(({ write }) => write(it));
    it.writer.then((writer) => writer[deed](event)).catch(() => {
      it.writer = undefined;
      error.textContent = words.unreached + " " + words.kept;
    });
  };

  for (const name of mine ? ["message"] : Object.keys(FIELDS)) {
    const tag = name == "message" ? "textarea" : "input";
    const field = make(tag, { name, dir: "auto", value: texts[name] || "", ...FIELDS[name] });
    const box = field.type == "checkbox";
    form.append(make(box ? "label.box" : "label.field", {}, " ", words[name], " "));
    form.lastChild[box ? "prepend" : "append"](field);
  }
  if (!mine) {
    form.remember.checked = memory("writer");
    form.notify.parentNode.hidden = true;
    form.append(make("input", { name: "subject", hidden: true }), make("p.hint", {}, words.hint));
  }
  const cancel = parent ? make("button.link", { type: "reset" }, words.cancel) : "";
  form.append(error, make("div.actions", {}, send, button(words.preview, use("show")), cancel));
  form.addEventListener("focusin", use("begin"));
  form.addEventListener("input", keep);
  form.onsubmit = use("send");
  return form;
}

/** Shows `form` below the buttons of `opener` instead of another one, or hides it */
export function toggle(opener, form) {
  const open = opener.ariaExpanded == "true";
  opener.closest(".commentsvc-list").querySelector("form")?.reset();
  if (open) return;
  opener.ariaExpanded = true;
  opener.parentNode.after(form);
  form.message.focus();
  form.onreset = () => {
    form.remove();
    opener.ariaExpanded = false;
    opener.focus();
  };
}
