// Updates of an open page: relative dates, new comments, likes on other sites

import { base, h, showRelativeTime } from "./common.js";
import { showCounts } from "./counts.js";

/** Show a button for new comments, unless there is one. */
function announce(thread, count) {
  const button = thread.querySelector(".commentsvc-thread > .commentsvc-button");
  if (!button.hidden || count <= thread.page.count) return;
  thread.status.textContent = thread.messages.fresh;
  thread.offer("fresh");
}

/** Show next to the heading how often the page was liked and shared on other sites. */
export function showLikes(thread) {
  const heading = thread.querySelector(".commentsvc-heading");
  const { likes, reposts } = thread.page;
  const totals = [likes && `♥ ${likes}`, reposts && `↻ ${reposts}`].filter(Boolean).join(" ");
  heading.querySelector("span")?.remove();
  if (totals) heading.append(h("span", {}, ` ${totals}`));
}

/** Show the exact time of a comment when pointed at. */
function tellMoments({ messages, tree }) {
  for (const time of tree.element.querySelectorAll("time:not([title])")) {
    const date = new Date(time.dateTime);
    time.title = date.toLocaleString(messages.tag, { dateStyle: "long", timeStyle: "short" });
  }
}

/** Return a function that animates new comments, and tints those that were not there before. */
function watchArrivals(thread) {
  const items = () => thread.querySelectorAll(".commentsvc-comment");
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

/** Update the dates of `thread` and announce new comments; return a function that stops both. */
export function follow(thread) {
  const url = base + thread.path("api/comments/stream");
  const slide = watchArrivals(thread);
  const arrive = () => {
    slide();
    tellMoments(thread);
  };
  let stream;

  /** Listen while the page is visible: connections are few. */
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
  tellMoments(thread);
  return () => {
    clearInterval(clock);
    document.removeEventListener("visibilitychange", listen);
    thread.removeEventListener("comments-shown", arrive);
    stream?.close();
  };
}
