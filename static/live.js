// What goes on while a page stays open: dates grow older, and new comments are announced

import { base, h, showRelativeTime } from "./common.js";
import { showCounts } from "./counts.js";

/** Offer comments that have come, unless a button offers some already. */
function announce(thread, count) {
  const button = thread.querySelector(".commentsvc-thread > .commentsvc-button");
  if (!button.hidden || count <= thread.page.count) return;
  thread.status.textContent = thread.messages.fresh;
  thread.offer("fresh");
}

/** Tell beside the heading how often the page was liked and shared on other sites. */
function showLikes(thread) {
  const heading = thread.querySelector(".commentsvc-heading");
  const { likes, reposts } = thread.page;
  const told = [likes && `♥ ${likes}`, reposts && `↻ ${reposts}`].filter(Boolean).join(" ");
  heading.querySelector("span")?.remove();
  if (told) heading.append(h("span", {}, ` ${told}`));
}

/** Return what lets comments that come into `thread` from now on slide into their places. */
function watchArrivals(thread) {
  const items = () => thread.querySelectorAll(".commentsvc-comment");
  const known = new WeakSet(items());
  return () => {
    const isStill = matchMedia("(prefers-reduced-motion)").matches;
    for (const item of items()) {
      if (!known.has(item) && !isStill) item.animate({ translate: ["0 1.5em", "0"] }, 300);
      known.add(item);
    }
  };
}

/** Keep the dates in `thread` true, and let it announce what comes. Return what ends both. */
export function follow(thread) {
  const url = base + thread.path("api/comments/stream");
  const slide = watchArrivals(thread);
  const arrive = () => {
    slide();
    showLikes(thread);
  };
  let stream;

  /** Listen only while the page is seen: a browser has few connections. */
  function listen() {
    stream?.close();
    if (document.hidden) return;
    stream = new EventSource(url);
    stream.onmessage = ({ data }) => {
      const { count } = JSON.parse(data);
      announce(thread, count);
      showCounts(thread.url, count);
    };
  }

  const clock = setInterval(() => {
    for (const time of thread.querySelectorAll("time")) showRelativeTime(thread.messages, time);
  }, 60_000);
  document.addEventListener("visibilitychange", listen);
  thread.addEventListener("comments-shown", arrive);
  listen();
  showLikes(thread);
  return () => {
    clearInterval(clock);
    document.removeEventListener("visibilitychange", listen);
    thread.removeEventListener("comments-shown", arrive);
    stream?.close();
  };
}
