// <comment-count>: how many comments a page has

const waiting = new Set();

// When one count is near the viewport, all counts of the page are fetched
const observer = new IntersectionObserver((entries) => {
  if (!entries.some((entry) => entry.isIntersecting)) return;
  observer.disconnect();
  fetchCounts([...waiting]);
  waiting.clear();
});

async function fetchCounts(elements) {
  const urls = [...new Set(elements.map((element) => element.url))].sort();
  const query = new URLSearchParams(urls.map((url) => ["url", url])).toString();
  // The service's limits for one request
  if (urls.length > 100 || (urls.length > 1 && query.length > 8000)) {
    fetchCounts(elements.splice(elements.length / 2));
    return fetchCounts(elements);
  }
  try {
    const target = new URL("../api/comments/counts?" + query, import.meta.url);
    const { counts } = await (await fetch(target)).json();
    for (const element of elements) element.count = counts[element.url];
  } catch {}
}

export class CommentCount extends HTMLElement {
  static define() {
    customElements.define("comment-count", this);
  }

  get url() {
    return this.getAttribute("url") || location.pathname;
  }

  set count(number) {
    if (this.matches(":lang(en)")) {
      this.text = (number || "No") + (number == 1 ? " comment" : " comments");
    } else {
      import("./counts.js").then(({ showCount }) => showCount(this, number));
    }
  }

  set text(text) {
    (this.querySelector("a") || this).textContent = text;
  }

  connectedCallback() {
    waiting.add(this);
    observer.observe(this);
  }

  disconnectedCallback() {
    waiting.delete(this);
  }
}

CommentCount.define();
