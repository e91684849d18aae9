// The search in a long thread

import { actionButton, loadMessages } from "../common.js";

/** Offer to search the comments of `thread` beside its heading. */
export async function offerSearch(thread) {
  const bar = thread.host.querySelector(".commentsvc-bar");
  const actions = bar.lastChild;
  if (actions.querySelector("[name=search]")) return;
  const { search: title } = await loadMessages(thread.host, "-tools");
  if (thread.hasEnded || actions.querySelector("[name=search]")) return;
  const button = actionButton("search", "M10.5 10.5L14 14M2 7a5 5 0 1 0 10 0A5 5 0 1 0 2 7", title, { ariaExpanded: "false" });
  actions.prepend(button);
  button.onclick = () => toggle(thread, bar, button);
}

async function toggle(thread, bar, button) {
  const open = thread.host.querySelector("comment-search");
  button.ariaExpanded = String(!open);
  if (open) return open.remove();
  await import("../search.js");
  const element = Object.assign(document.createElement("comment-search"), { url: thread.url });
  bar.after(element);
  element.addEventListener("click", (event) => goTo(thread, event));
  new MutationObserver((_, observer) => {
    element.querySelector("input").focus();
    observer.disconnect();
  }).observe(element, { childList: true });
}

/** Lead to a result in the thread, also to one that is not loaded yet. */
function goTo(thread, event) {
  const { hash } = event.target.closest("a") ?? {};
  if (!hash || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  location.hash = hash;
  thread.target = hash.slice(1);
  thread.seek();
}
