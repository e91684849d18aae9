import { createApp, h, shallowRef } from "vue";

export function mount(container, tag, values, listeners) {
  const shown = shallowRef(values);
  const camel = (name) => name.replace(/(?:^|-)(.)/g, (_, letter) => letter.toUpperCase());
  const on = Object.fromEntries(Object.keys(listeners).map((name) => ["on" + camel(name), listeners[name]]));
  const app = createApp({ render: () => h(tag, { ...shown.value, ...on }, h("i", "Fallback")) });
  app.mount(container);
  return { update: (values) => (shown.value = values), unmount: () => app.unmount() };
}
