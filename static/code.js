// Buttons that copy code

import { actionButton, h, loadMessages } from "./common.js";
import { copyText } from "./copying.js";

const COPY = "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z";
const DONE = "M3 8.5l3.5 3.5L13 4.5";

/** Put a button into the corner of each of these `<pre>` elements. */
export async function addCopyButtons(codes, thread) {
  const { copyCode } = await loadMessages(thread.host, "-tools");
  for (const code of codes) {
    const button = actionButton("", COPY, copyCode);
    button.onclick = async () => {
      if (!(await copyText(button, code.textContent))) return;
      button.replaceChildren(...actionButton("", DONE, "").children);
      thread.status.textContent = "✓ " + copyCode;
    };
    code.before(h("div.code", { dir: "ltr" }, button));
  }
}
