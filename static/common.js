/** Create an element: "p.hint" is a <p> of the class commentsvc-hint */
export function h(name, properties = {}, ...children) {
  const [tag, className] = name.split(".");
  const element = Object.assign(document.createElement(tag), properties);
  if (className) element.className = "commentsvc-" + className;
  element.append(...children);
  return element;
}

/** The id of a comment's element */
export const anchorOf = ({ id, anchor = "commentsvc-" + id }) => anchor;

const policy = window.trustedTypes?.createPolicy("commentsvc", { createHTML: (html) => html });

/** Show HTML of the service or an icon. No other code sets HTML */
export function setHTML(element, html) {
  element.innerHTML = policy?.createHTML(html) ?? html;
  return element;
}

/** Return an icon of lines in a square of 16 units */
export function icon(path) {
  const svg = `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${path}"/></svg>`;
  return setHTML(h("span.icon"), svg).firstChild;
}

/** Return a button with an icon */
export function actionButton(name, path, title, properties = {}, text = "") {
  const more = { title, ariaLabel: title, ...properties };
  return h("button.link", { type: "button", name, ...more }, icon(path), text);
}

/** Load a stylesheet; the blog's rules win */
export function loadStylesheet(name) {
  return new Promise((loaded) => {
    const href = new URL(name, import.meta.url);
    document.head.prepend(h("link", { rel: "stylesheet", href, onload: loaded, onerror: loaded }));
  });
}

export const FEED = "M3 3a10 10 0 0 1 10 10M3 8a5 5 0 0 1 5 5M3 13h0";

/** The address of the service */
export const base = new URL("..", import.meta.url).href;

export const TIMEOUT_MS = 40_000; // the service gives up after 30 s

export async function get(path) {
  const response = await fetch(base + "api/" + path, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw response;
  return response.json();
}

const PREFIX = "commentsvc:";
let store = {};
try {
  store = localStorage;
} catch {}

/** localStorage as JSON; it may be forbidden or full */
export const storage = {
  get(name) {
    try {
      return JSON.parse(store[PREFIX + name]);
    } catch {}
  },

  /** Store a value; undefined removes it */
  set(name, value) {
    try {
      if (value) store[PREFIX + name] = JSON.stringify(value);
      else delete store[PREFIX + name];
    } catch {}
  },
};

const loading = {}; // promises

/** Return the messages in the language of an element, or English; `-form`, `-tools` on use */
export function loadMessages(element, part = "") {
  const name = (element.closest("[lang]")?.lang || "en") + part;
  loading[name] ??= fetchMessages(name);
  loading[name].catch(() => delete loading[name]); // to try again
  return loading[name];
}

async function fetchMessages(name) {
  const response = await fetch(new URL(`locales/${name}.json`, import.meta.url));
  return response.json();
}

export function countText({ counts, tag }, number) {
  const category = number ? new Intl.PluralRules(tag).select(number) : "zero";
  return (counts[category] ?? counts.other).replace("#", number.toLocaleString(tag));
}

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [
  // in minutes
  ["year", 525_949],
  ["month", 43_829],
  ["week", 10_080],
  ["day", 1440],
  ["hour", 60],
];

/** Show in a <time> how long ago it is */
export function showRelativeTime({ tag }, time) {
  const date = new Date(time.dateTime);
  const minutes = (Date.now() - +date) / 60_000;
  const [unit, length] = UNITS.find(([, length]) => minutes >= length) ?? ["minute", 1];
  const number = Math.trunc(minutes / length);
  const numeric = number ? "always" : "auto";
  time.textContent = new Intl.RelativeTimeFormat(tag, { numeric }).format(-number, unit);
  time.title = date.toLocaleString(tag, { dateStyle: "long", timeStyle: "short" });
}
