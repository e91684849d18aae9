// What goes on while a page stays open: dates grow older, and new comments are announced

import { showRelativeTime } from "./i18n.js";

/** Show the number of comments of a page in each <comment-count> of it. */
export function showCounts(url, count) {
  for (const element of document.querySelectorAll("comment-count")) {
    if (element.url == url) element.count = count;
  }
}

/**
 * Keep the dates in `thread` true, and call `onCount` with the number of comments whenever the
 * stream at `url` tells it. Return a function that ends both.
 */
export function follow(url, thread, onCount) {
  let stream;

  /** Listen only while the page is seen: a browser has few connections. */
  function listen() {
    stream?.close();
    if (document.hidden) return;
    stream = new EventSource(url);
    stream.onmessage = ({ data }) => {
      const { count } = JSON.parse(data);
      onCount(count);
      showCounts(thread.url, count);
    };
  }

  const clock = setInterval(() => {
    for (const time of thread.querySelectorAll("time")) showRelativeTime(thread.messages, time);
  }, 60_000);
  document.addEventListener("visibilitychange", listen);
  listen();
  return () => {
    clearInterval(clock);
    document.removeEventListener("visibilitychange", listen);
    stream?.close();
  };
}
