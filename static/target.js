// The comment that the address names, also as the system did that it was imported from

/** How other systems called the whole thread */
const THREADS = /^(disqus_thread|isso-thread|remark42|commento|comentario|schnack|cusdis_thread)$/;

/** Go to what `thread.target` names. It may be on a later page */
export async function seekTarget(thread) {
  if (thread.target.endsWith("?moderate")) (await import("./moderate.js")).begin(thread);
  const { target, page, tree } = thread;
  const own = /^comment(?:svc)?-(\d+)$/.exec(target);
  const mayFollow = own || page.data.some(({ anchor }) => anchor);
  let element =
    document.getElementById(target) ?? document.getElementById("remark42__" + target);
  if (!element && mayFollow && page.next) return thread.load(page.next);
  thread.target = "";
  element ??= own && tree.find(+own[1]); // a link of ours to an imported comment
  if (element?.id == target) location.replace(location.href);
  else if (element || THREADS.test(target)) (element ?? thread).scrollIntoView();
}
