import { createSignal } from "solid-js";
import h from "solid-js/h";
import { render } from "solid-js/web";

export function mount(container, tag, values, listeners) {
  const [shown, show] = createSignal(values);
  const props = {};
  for (const name in values) props[name] = () => shown()[name];
  for (const name in listeners) props["on:" + name] = listeners[name];
  const unmount = render(() => h(tag, props, h("i", {}, "Fallback")), container);
  return { update: (values) => show(values), unmount };
}
