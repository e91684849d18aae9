// Shows the number of comments where a theme made for Disqus' count.js wants it
import "../count.js";

const COUNTERS = 'a[href$="#disqus_thread"], .disqus-comment-count';

/** The page that an element of a theme is about; an identifier may be its path, or any word. */
function page({ dataset, href }) {
  const word = dataset.disqusIdentifier ?? "";
  return dataset.disqusUrl || href?.replace(/#.*/, "") || (/[/.]/.test(word) && word);
}

/** Show the numbers; themes call it after they have added posts to a page. */
function getCount() {
  for (const element of document.querySelectorAll(COUNTERS)) {
    const url = page(element);
    if (!url || element.querySelector("comment-count")) continue;
    const count = document.createElement("comment-count");
    count.setAttribute("url", url);
    element.replaceChildren(count);
  }
}

window.DISQUSWIDGETS = { getCount };
getCount();
