/** Create an element: "p.hint" is a <p> of the class commentsvc-hint */
export function h(name, properties, ...children) {
  const [tag, className] = name.split(".");
  const element = Object.assign(document.createElement(tag), properties);
  if (className) element.className = "commentsvc-" + className;
  element.append(...children);
  return element;
}

/** Show HTML of the service. No other code sets HTML */
export function setHTML(element, html) {
  element.innerHTML = html;
  return element;
}

/** Load a stylesheet, first in the head, so that the blog's rules win */
export function loadStylesheet(name) {
  return new Promise((loaded) => {
    const href = new URL(name, import.meta.url);
    document.head.prepend(h("link", { rel: "stylesheet", href, onload: loaded, onerror: loaded }));
  });
}
