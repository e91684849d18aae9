import { createElement, StrictMode, version } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";

// React 18 knows no properties and events of custom elements
const isOld = version.startsWith("18");

/** Return the element of React for an element of ours, with the fallback that a blog would give. */
export function elementOf(tag, values, listeners) {
  const more = { ...values };
  if (isOld) {
    more.ref = (element) => {
      for (const name in listeners) element?.addEventListener(name, listeners[name]);
    };
  } else {
    for (const name in listeners) more["on" + name] = listeners[name];
  }
  return createElement(StrictMode, null, createElement(tag, more, createElement("i", null, "Fallback")));
}

export function mount(container, tag, values, listeners) {
  const root = createRoot(container);
  const show = (values) => flushSync(() => root.render(elementOf(tag, values, listeners)));
  show(values);
  return { update: show, unmount: () => flushSync(() => root.unmount()) };
}
