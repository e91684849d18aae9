// Scrolls to the comment in the page's address, also by its id in an old system

import "../rich.js"; // its styles

/** Ids of the whole thread in other systems */
const THREADS = /^(disqus_thread|isso-thread|remark42|commento|comentario|schnack|cusdis_thread)$/;

/** Scroll to `thread.target`, which may be on a later page of the list */
export async function seekTarget(thread) {
  if (thread.target.endsWith("?moderate")) (await import("./moderator_token.js")).begin(thread);
  if (thread.target.startsWith("commentsvc-moderator=")) {
    return (await import("./moderator_token.js")).enter(thread);
  }
  if (thread.target.startsWith("commentsvc-reader=")) {
    return (await import("../reader/reader_token.js")).takeToken(thread);
  }
  const { target, page, tree } = thread;
  const own = /^comment(?:svc)?-(\d+)$/.exec(target);
  const mayFollow = own || page.data.some(({ anchor }) => anchor);
  let element =
    document.getElementById(target) ?? document.getElementById("remark42__" + target);
  if (!element && mayFollow && page.next) return thread.load(page.next);
  thread.target = "";
  element ??= own && tree.find(+own[1]); // a link of ours to an imported comment
  let fold = /** @type {any} */ (element);
  while ((fold = fold?.parentElement?.closest("details"))) fold.open = true;
  if (element?.id == target) location.replace(location.href);
  else if (element || THREADS.test(target)) (element ?? thread.host).scrollIntoView();
}
