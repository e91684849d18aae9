// Elements

/** Create an element: "p" is a tag, "p.hint" a tag with the class commentsvc-hint. */
export function h(name, properties, ...children) {
  const [tag, className] = name.split(".");
  const element = Object.assign(document.createElement(tag), properties);
  if (className) element.className = "commentsvc-" + className;
  element.append(...children);
  return element;
}

/** Show HTML of the service in `element`. No other code may set HTML. */
export function setHTML(element, html) {
  element.innerHTML = html;
  return element;
}

/** Load a stylesheet of ours. It comes first, so that the blog's rules win. */
export function loadStylesheet(name) {
  return new Promise((loaded) => {
    const href = new URL(name, import.meta.url);
    document.head.prepend(h("link", { rel: "stylesheet", href, onload: loaded, onerror: loaded }));
  });
}
