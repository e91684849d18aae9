import { html, nothing, render } from "lit";

/** Return the functions for templates that set properties, or else attributes. */
function mountBy(isProperty) {
  return (container, tag, values, listeners) => {
    const names = Object.keys(values);
    const binding = (name) => (isProperty ? "." : values[name] === true ? "?" : "") + name + "=";
    const parts = [...names.map(binding), ...Object.keys(listeners).map((name) => `@${name}=`)];
    const [first, ...others] = parts.map((part) => " " + part);
    const strings = [`<${tag}${first ?? ""}`, ...others, `><i>Fallback</i></${tag}>`];
    strings.raw = strings;
    const given = (value) => (isProperty ? value : value ?? nothing);
    const update = (values) => {
      const all = [...names.map((name) => given(values[name])), ...Object.values(listeners)];
      render(html(strings, ...all), container);
    };
    update(values);
    return { update, unmount: () => render(nothing, container) };
  };
}

export const mount = mountBy(true);
export const mountByAttributes = mountBy(false);
