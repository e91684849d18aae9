// What all elements but the count share

// A bundle names the service by a link; otherwise it is where this file came from
export const base = new URL("..", document.querySelector("[rel~=commentsvc]")?.href ?? import.meta.url).href;

/** Make an element: "p.hint" is a <p class="commentsvc-hint">; children are elements or text */
export function h(name, properties = {}, ...children) {
  const [tag, className] = name.split(".");
  const element = Object.assign(document.createElement(tag), properties);
  if (className) element.className = "commentsvc-" + className;
  element.append(...children);
  return element;
}

/** Give the class of an element a property for each attribute, which a reader turns into a value */
export function reflect({ prototype }, readers) {
  for (const name in readers) {
    Object.defineProperty(prototype, name, {
      get() {
        return readers[name](this.getAttribute(name));
      },
      set(value) {
        if (value || value === 0) this.setAttribute(name, value === true ? "" : value);
        else this.removeAttribute(name);
      },
    });
  }
}

/** Make attributes of the properties that a framework set before the element was defined */
export function takeProperties(element) {
  for (const [name, value] of Object.entries(element)) {
    delete element[name];
    element[name] = value;
  }
}

/** The id of a comment's element: imported comments keep that of their old system */
export const anchorOf = ({ id, anchor = "commentsvc-" + id }) => anchor;

const policy = window.trustedTypes?.createPolicy("commentsvc", { createHTML: String });

/** The one place where HTML of the service enters the page */
export function setHTML(element, html) {
  element.innerHTML = policy?.createHTML(html) ?? html;
  return element;
}

const icons = {};

/** Make an icon; only the first of each kind is parsed, which takes a phone 2 ms */
export function icon(path) {
  const svg = `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${path}"/></svg>`;
  icons[path] ??= setHTML(h("i"), svg).firstChild;
  return icons[path].cloneNode(true);
}

export function actionButton(name, path, title, properties = {}, text = "") {
  return h("button.link", { type: "button", name, title, ariaLabel: title, ...properties }, icon(path), text);
}

/** Load a stylesheet before those of the blog, whose rules win; again if somebody replaces the head or all */
export function loadStylesheet(name) {
  return new Promise((loaded) => {
    const link = h("link", { rel: "stylesheet", href: base + "static/" + name, onload: loaded, onerror: loaded });
    const insert = () => link.isConnected || document.head?.prepend(link);
    insert();
    new MutationObserver(insert).observe(document, { childList: true, subtree: true });
  });
}

export const FEED = "M3 3a10 10 0 0 1 10 10M3 8a5 5 0 0 1 5 5M3 13h0";

export const TIMEOUT_MS = 40_000;

/** Get JSON from the service; throw the response if it is an error */
export async function get(path) {
  const response = await fetch(base + "api/" + path, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw response;
  return response.json();
}

let store = {};
try {
  store = localStorage;
} catch {} // it is blocked: this page alone remembers

export const storage = {
  get(name) {
    try {
      return JSON.parse(store["commentsvc:" + name]);
    } catch {}
  },

  set(name, value) {
    try {
      if (value) store["commentsvc:" + name] = JSON.stringify(value);
      else delete store["commentsvc:" + name];
    } catch {}
  },
};

/** For catch(): import a module under another address, since browsers remember that one failed */
export const again = (name) => () => import(/* @vite-ignore */ `./${name}.js?` + Date.now());

const loading = {};

/** Load the texts in the language of an element, or a part of them, as messages */
export function loadMessages(element, part = "") {
  const file = `static/locales/${element.closest("[lang]")?.lang || "en"}${part}.json`;
  loading[file] ??= fetch(base + file).then((response) => response.json());
  loading[file].catch(() => delete loading[file]);
  return loading[file];
}

/** Return "2 comments", from texts by plural category */
export function countText({ counts, tag, digits }, number) {
  const form = counts[number ? new Intl.PluralRules(tag).select(number) : "zero"] ?? counts.other;
  return form.replace("#", digits || number > 999 ? number.toLocaleString(tag) : number);
}

/** Show in a <time> how long ago it was; `Intl` would take a phone 0.1 s for the first */
export function showRelativeTime({ tag, digits, ago, now }, time) {
  const minutes = (Date.now() - Date.parse(time.dateTime)) / 60_000;
  const [unit, counts] = /** @type {[any, any][]} */ (Object.entries(ago)).filter(([unit]) => minutes >= unit).at(-1) ?? [];
  time.textContent = counts ? countText({ counts, tag, digits }, Math.trunc(minutes / unit)) : now;
}
