// Long comments, of which the stylesheet shows only the beginning; rich.css has the other styles

import { h, loadMessages } from "../common.js";

const unfolded = new WeakSet(); // items, which stay when their comments are drawn again

/** Add to the comments with these bodies a button that shows the rest; without its text, show all. */
export async function foldLong(thread, bodies) {
  for (const body of bodies) {
    if (unfolded.has(itemOf(body))) body.style.maxHeight = "none";
  }
  const texts = await loadMessages(thread.host, "-tools").catch(() => null);
  for (const body of bodies) {
    if (!texts) body.style.maxHeight = "none";
    if (body.style.maxHeight || body.classList.contains("commentsvc-cut")) continue;
    body.classList.add("commentsvc-cut");
    const onclick = () => show(body, button);
    const button = h("button.link", { type: "button", ariaExpanded: "false", onclick }, texts.unfold);
    body.after(button);
    // What gets the focus, or is the target of a link, must be seen
    body.addEventListener("focusin", onclick, { once: true });
    body.addEventListener("click", ({ target }) => target.closest("a[href*='#']") && onclick());
    if (body.querySelector(":target, :focus")) onclick();
  }
}

const itemOf = (body) => body.closest(".commentsvc-comment");

function show(body, button) {
  unfolded.add(itemOf(body));
  body.style.maxHeight = "none";
  body.classList.remove("commentsvc-cut");
  if (document.activeElement == button) itemOf(body).focus({ preventScroll: true });
  button.remove();
}
