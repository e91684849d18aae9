// Puts a text on the clipboard

import { h } from "./common.js";

/** Return whether `text` is copied; if not, a field after `button` has it, selected. */
export async function copyText(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(button, text); // without https://, or if the reader has forbidden it
  }
}

function copySelected(button, value) {
  const name = "copied";
  button.parentNode.querySelector(`[name=${name}]`)?.remove();
  const field = h("input.input", { name, value, readOnly: true, ariaLabel: button.title });
  button.after(field);
  field.select();
  if (!document.execCommand("copy")) return false;
  field.remove();
  button.focus();
  return true;
}
