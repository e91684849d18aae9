import { flushSync, mount as mountComponent, unmount } from "svelte";
import Element from "./Element.svelte";

export function mount(container, tag, values, listeners) {
  const on = Object.fromEntries(Object.keys(listeners).map((name) => ["on" + name, listeners[name]]));
  const component = mountComponent(Element, { target: container, props: { tag, values, listeners: on } });
  const update = (next) => {
    // What is left out keeps its value in a spread
    const removed = Object.fromEntries(Object.keys(values).map((name) => [name, undefined]));
    component.update({ ...removed, ...next });
    flushSync();
  };
  flushSync();
  return { update, unmount: () => unmount(component) };
}
