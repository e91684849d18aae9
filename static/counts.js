// Counts in other languages, and on pages with a thread

import { countText, loadMessages } from "./common.js";

/** Show the number of comments in an element, in its language. */
export async function showCount(element, number) {
  element.text = countText(await loadMessages(element), number);
}

/** Show the number of a page's comments in each <comment-count> for that page. */
export function showCounts(url, count) {
  for (const element of document.querySelectorAll("comment-count")) {
    if (element.url == url) element.show({ counts: { [url]: count } });
  }
}
