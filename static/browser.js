/** Create an element: "p.hint" is a <p> of the class commentsvc-hint */
export function h(name, properties, ...children) {
  const [tag, className] = name.split(".");
  const element = Object.assign(document.createElement(tag), properties);
  if (className) element.className = "commentsvc-" + className;
  element.append(...children);
  return element;
}

/** The id of a comment's element */
export const anchorOf = ({ id, anchor }) => anchor ?? "commentsvc-" + id;

const policy = window.trustedTypes?.createPolicy("commentsvc", { createHTML: (html) => html });

/** Show HTML of the service. No other code sets HTML */
export function setHTML(element, html) {
  element.innerHTML = policy ? policy.createHTML(html) : html;
  return element;
}

/** Load a stylesheet; the blog's rules win */
export function loadStylesheet(name) {
  return new Promise((loaded) => {
    const href = new URL(name, import.meta.url);
    document.head.prepend(h("link", { rel: "stylesheet", href, onload: loaded, onerror: loaded }));
  });
}

const PREFIX = "commentsvc:";
let store = {};
try {
  store = localStorage;
} catch {} // it is forbidden

/** localStorage as JSON; it may be full */
export const storage = {
  get(name) {
    try {
      return JSON.parse(store[PREFIX + name]);
    } catch {}
  },

  /** Store a value, or remove it: undefined */
  set(name, value) {
    try {
      if (value) store[PREFIX + name] = JSON.stringify(value);
      else delete store[PREFIX + name];
    } catch {}
  },
};
