// What only some comments have: code, tables, formulas, lists, footnotes, mentions, pictures

import { loadStylesheet } from "./common.js";

export const stylesheet = loadStylesheet("rich.css");

const watched = new WeakSet();

/** Fold a comment that becomes long: in a narrower window, or when its pictures or styles come. */
export function watchLength(body, thread) {
  if (watched.has(body)) return;
  watched.add(body);
  new ResizeObserver(() => {
    if (body.scrollHeight <= body.clientHeight + 9) return;
    import("./thread/folding.js").then(({ foldLong }) => foldLong(thread, [body]), () => {});
  }).observe(body);
}

/** Make wide parts of a comment scroll by keys, and mentions of comments on later pages work. */
export function enrich(body, thread) {
  const codes = [...body.querySelectorAll("pre")];
  if (codes[0]) import("./code.js").then(({ addCopyButtons }) => addCopyButtons(codes, thread));
  for (const wide of body.querySelectorAll("pre, table, math[display]")) wide.tabIndex = 0;
  linkHere(body);
  watchLength(body, thread);
  body.addEventListener("click", ({ target }) => follow(thread, target));
}

/** Make links to fragments lead to this page, whatever the page's `<base>` says. */
export function linkHere(element) {
  if (!document.querySelector("base")) return;
  for (const link of element.querySelectorAll("a[href^='#']")) {
    const lead = () => Object.assign(link, { href: location.href.split("#")[0] + link.hash, target: "_self" });
    lead();
    link.addEventListener("click", lead); // a router may have changed the page's address
  }
}

function follow(thread, target) {
  const [page, fragment] = target.closest("a")?.href.split("#") ?? [];
  const [id] = /^commentsvc-\d+$/.exec(fragment) ?? [];
  if (page != location.href.split("#")[0]) return;
  if (!id || document.getElementById(id)) return;
  thread.target = id;
  thread.seek();
}
