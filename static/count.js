// Counts, fetched when the first comes into view

const here = document.querySelector("[rel~=commentsvc]")?.href ?? import.meta.url;
const waiting = new Set();

const observer = new IntersectionObserver((entries) => {
  if (entries.some(({ isIntersecting }) => isIntersecting)) {
    observer.disconnect();
    fetchAll([...waiting].filter((element) => element.isConnected));
    waiting.clear();
  }
});

async function fetchAll(elements) {
  const asked = new Set(elements.flatMap((element) => element.asks).sort());
  const query = [...asked].join("&");
  if (elements.length > 1 && (asked.size > 100 || query.length > 8000)) {
    fetchAll(elements.splice(elements.length / 2));
    return fetchAll(elements);
  }
  try {
    const answer = await (await fetch(new URL("../api/comments/counts?" + query, here))).json();
    for (const element of elements) {
      if (element.asks.every(asked.has, asked)) element.show(answer);
    }
  } catch {}
}

export class CommentCount extends HTMLElement {
  static observedAttributes = ["url", "lang"];

  constructor() {
    super();
    const { url } = { ...this };
    delete this.url;
    if (url) this.url = url;
  }

  get url() {
    return this.getAttribute("url") || location.pathname;
  }

  set url(url) {
    if (url) this.setAttribute("url", url);
    else this.removeAttribute("url");
  }

  get asks() {
    return ["url=" + encodeURIComponent(this.url)];
  }

  connectedCallback() {
    waiting.add(this);
    observer.observe(this);
  }

  attributeChangedCallback() {
    if (this.isConnected) this.connectedCallback();
  }

  show({ counts }) {
    const count = (this.count = counts[this.url]);
    if (count === null) return;
    if (this.matches(":lang(en)")) this.text = (count || "No") + " comment" + (count == 1 ? "" : "s");
    else import("./counts.js").then(({ showCount }) => showCount(this, count));
  }

  set text(text) {
    (this.querySelector("a") || this).textContent = text;
  }
}

customElements.define("comment-count", CommentCount);
