// Updates of an open page: relative dates, new comments, approvals of the reader's own

import { base, showRelativeTime } from "../common.js";
import { showCounts } from "../counts.js";
import { watchLength } from "../rich.js";

/** Show the exact time of a comment when pointed at. */
function tellMoments({ messages, tree }) {
  for (const time of tree.element.querySelectorAll("time:not([title])")) {
    const date = new Date(time.dateTime);
    time.title = date.toLocaleString(messages.tag, { dateStyle: "long", timeStyle: "short" });
  }
}

/** Return a function that animates new comments, and tints those that were not there before. */
function watchArrivals(thread) {
  const items = () => thread.host.querySelectorAll(".commentsvc-comment");
  const known = new WeakSet(items());
  let { count } = thread.page;
  return () => {
    for (const item of items()) {
      if (known.has(item)) continue;
      known.add(item);
      if (!matchMedia("(prefers-reduced-motion)").matches) item.animate({ translate: ["0 1.5em", "0"] }, 300);
      if (thread.page.count > count) item.firstChild.style.animation = "commentsvc-fade 5s";
    }
    count = thread.page.count;
  };
}

/** Update the dates of `thread` and announce new comments until `signal` is aborted. */
export function follow(thread, signal) {
  if (signal.aborted) return;
  const url = base + thread.path("api/comments/stream");
  const slide = watchArrivals(thread);
  if ([...thread.all().values()].some(({ lang }) => lang)) {
    import("./languages.js").then(({ showLanguages }) => showLanguages(thread), () => {});
  }
  const watch = () => thread.host.querySelectorAll(".commentsvc-body").forEach((body) => watchLength(body, thread));
  const arrive = () => {
    slide();
    tellMoments(thread);
    watch();
  };
  let stream;

  async function checkOwn() {
    if (!thread.own) return;
    const approval = await import("./approval.js").catch(() => null);
    await approval?.checkApproval(thread).catch(() => {});
  }

  /** Listen while the page is visible: connections are few. */
  function listen() {
    stream?.close();
    if (document.hidden) return;
    checkOwn();
    import("./visits.js").then(({ markNew }) => markNew(thread), () => {});
    stream = new EventSource(url);
    stream.onmessage = async ({ data }) => {
      const { count } = JSON.parse(data);
      await checkOwn();
      if (count > thread.page.count) {
        import("./fresh.js").then(({ announce }) => announce(thread, count), () => {});
      }
      showCounts(thread.url, count);
    };
  }

  const clock = setInterval(() => {
    for (const time of thread.host.querySelectorAll("time")) showRelativeTime(thread.messages, time);
    if (stream?.readyState == EventSource.CLOSED && !document.hidden) checkOwn();
  }, 60_000);
  document.addEventListener("visibilitychange", listen, { signal });
  thread.host.addEventListener("comments-shown", arrive, { signal });
  signal.addEventListener("abort", () => {
    clearInterval(clock);
    stream?.close();
  });
  listen();
  tellMoments(thread);
  watch();
  if (thread.page.posts) import("./fediverse.js").then(({ offerReply }) => offerReply(thread), () => {});
  if (thread.page.count > 50) import("./searching.js").then(({ offerSearch }) => offerSearch(thread), () => {});
  import("./contrast.js").then(({ keepAccent }) => keepAccent(thread.host), () => {});
}
