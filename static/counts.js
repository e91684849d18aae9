// The counts on a page, where there is a thread too, or not in English

import { countText, loadMessages } from "./common.js";

/** Show in an element how many comments there are, in its language. */
export async function showCount(element, number) {
  element.text = countText(await loadMessages(element), number);
}

/** Show the number of comments of a page in each <comment-count> of it. */
export function showCounts(url, count) {
  for (const element of document.querySelectorAll("comment-count")) {
    if (element.url == url) element.count = count;
  }
}
