// The button for pictures in a comment; they can be pasted and dropped too

import { actionButton, again, h, loadMessages } from "../common.js";

const KINDS = "image/jpeg,image/png,image/webp,image/gif";
const PICTURE = "M2 3h12v10H2zM2 11l3.5-4 3 3 2-2L14 12M10.5 6h0";
const SOURCES = { paste: "clipboardData", drop: "dataTransfer" };

/** Let the author of `form` add pictures. */
export async function attach(form) {
  const { element } = form;
  if (element.pictures) return;
  element.pictures = new Map(); // by their future URLs
  const texts = { ...form.about.messages, ...(await loadMessages(element, "-images")) };
  let panel;
  const open = async (file) => {
    const { PicturePanel } = await import("./picture_panel.js").catch(again("pictures/picture_panel"));
    panel ??= new PicturePanel(form, texts);
    panel.open(file);
  };
  const input = h("input", { type: "file", accept: KINDS, hidden: true });
  input.onchange = () => {
    open(input.files[0]);
    input.value = ""; // so that the same file can be chosen again
  };
  const button = actionButton("", PICTURE, texts.add, { onclick: () => input.click() });
  form.pictures = [button, input];
  form.tools.append(...form.pictures);
  for (const type in SOURCES) {
    element.message.addEventListener(type, (event) => {
      const data = event[SOURCES[type]];
      const file = [...data.files].find(({ type }) => type.startsWith("image/"));
      if (!file || button.disabled || data.getData("text")) return; // programs for texts add a picture of the text
      event.preventDefault();
      open(file);
    });
  }
}
