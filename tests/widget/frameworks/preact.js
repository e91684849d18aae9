import { h, render } from "preact";

export function mount(container, tag, values, listeners) {
  const on = Object.fromEntries(Object.keys(listeners).map((name) => ["on" + name, listeners[name]]));
  const update = (values) => render(h(tag, { ...values, ...on }, h("i", null, "Fallback")), container);
  update(values);
  return { update, unmount: () => render(null, container) };
}
