import "@angular/compiler";
import { Component, CUSTOM_ELEMENTS_SCHEMA, signal } from "@angular/core";
import { bootstrapApplication } from "@angular/platform-browser";

let last = 0;

export async function mount(container, tag, values, listeners) {
  const shown = signal(values);
  const bound = Object.keys(values).map((name) => `[${name}]="shown()['${name}']"`);
  const heard = Object.keys(listeners).map((name) => `(${name})="listeners['${name}']($event)"`);
  class App {
    shown = shown;
    listeners = listeners;
  }
  const selector = "app-" + ++last;
  Component({
    selector,
    schemas: [CUSTOM_ELEMENTS_SCHEMA],
    template: `<${tag} ${[...bound, ...heard].join(" ")}><i>Fallback</i></${tag}>`,
  })(App);
  container.append(document.createElement(selector));
  const app = await bootstrapApplication(App);
  return { update: (values) => shown.set(values), unmount: () => app.destroy() };
}
