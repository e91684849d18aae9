const here = document.querySelector("[rel~=commentsvc]")?.href ?? import.meta.url;

export const base = new URL("..", here).href;

/** "p.hint" is a <p class="commentsvc-hint"> */
export function h(name, properties = {}, ...children) {
  const [tag, className] = name.split(".");
  const element = Object.assign(document.createElement(tag), properties);
  if (className) element.className = "commentsvc-" + className;
  element.append(...children);
  return element;
}

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

export function takeProperties(element) {
  for (const [name, value] of Object.entries(element)) {
    delete element[name];
    element[name] = value;
  }
}

export const anchorOf = ({ id, anchor = "commentsvc-" + id }) => anchor;

const policy = window.trustedTypes?.createPolicy("commentsvc", { createHTML: (html) => html });

export function setHTML(element, html) {
  element.innerHTML = policy?.createHTML(html) ?? html;
  return element;
}

export function icon(path) {
  const svg = `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${path}"/></svg>`;
  return setHTML(h("i"), svg).firstChild;
}

export function actionButton(name, path, title, properties = {}, text = "") {
  const more = { title, ariaLabel: title, ...properties };
  return h("button.link", { type: "button", name, ...more }, icon(path), text);
}

export function loadStylesheet(name) {
  return new Promise((loaded) => {
    const href = base + "static/" + name;
    const link = h("link", { rel: "stylesheet", href, onload: loaded, onerror: loaded });
    const insert = () => link.isConnected || document.head.prepend(link);
    insert();
    new MutationObserver(insert).observe(document.head, { childList: true });
  });
}

export const FEED = "M3 3a10 10 0 0 1 10 10M3 8a5 5 0 0 1 5 5M3 13h0";

export const TIMEOUT_MS = 40_000;

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

export const storage = {
  get(name) {
    try {
      return JSON.parse(store[PREFIX + name]);
    } catch {}
  },

  set(name, value) {
    try {
      if (value) store[PREFIX + name] = JSON.stringify(value);
      else delete store[PREFIX + name];
    } catch {}
  },
};

export const again = (name) => () => import(/* @vite-ignore */ `./${name}.js?` + Date.now());

const loading = {};

export function loadMessages(element, part = "") {
  const name = (element.closest("[lang]")?.lang || "en") + part;
  const file = base + `static/locales/${name}.json`;
  loading[name] ??= fetch(file).then((response) => response.json());
  loading[name].catch(() => delete loading[name]);
  return loading[name];
}

export function countText({ counts, tag, digits }, number) {
  const category = number ? new Intl.PluralRules(tag).select(number) : "zero";
  const shown = digits || number > 999 ? number.toLocaleString(tag) : number;
  return (counts[category] ?? counts.other).replace("#", shown);
}

const MINUTES = { year: 525_949, month: 43_829, day: 1440, hour: 60, minute: 1 };

export function showRelativeTime({ tag, digits, ago, now }, time) {
  const minutes = (Date.now() - Date.parse(time.dateTime)) / 60_000;
  const unit = Object.keys(MINUTES).find((name) => minutes >= MINUTES[name]);
  const number = Math.trunc(minutes / MINUTES[unit]);
  time.textContent = unit ? countText({ counts: ago[unit], tag, digits }, number) : now;
}
