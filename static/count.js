// Counts, fetched when the first comes into view

const here = document.querySelector("[rel~=commentsvc]")?.href ?? import.meta.url;
const waiting = new Set();

const observer = new IntersectionObserver((entries) => {
  if (!entries.some((entry) => entry.isIntersecting)) return;
  observer.disconnect();
  fetchAll([...waiting].filter((element) => element.isConnected));
  waiting.clear();
});

async function fetchAll(elements) {
  const asked = new Set(elements.flatMap((element) => element.asks));
  const query = [...asked].sort().join("&");
  if (elements.length > 1 && (asked.size > 100 || query.length > 8000)) {
    fetchAll(elements.splice(elements.length / 2));
    return fetchAll(elements);
  }
  try {
    const answer = await fetch(new URL("../api/comments/counts?" + query, here));
    const body = await answer.json();
    for (const element of elements) {
      if (element.asks.every((each) => asked.has(each))) element.show(body);
    }
  } catch {}
}

export class CommentCount extends HTMLElement {
  static observedAttributes = ["url", "lang"];

  constructor() {
    super();
    if (!Object.hasOwn(this, "url")) return;
    const { url } = this;
    delete this.url;
    this.url = url;
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
    const number = counts[this.url];
    if (number === null) return;
    if (this.matches(":lang(en)")) {
      this.text = (number || "No") + (number == 1 ? " comment" : " comments");
    } else {
      import("./counts.js").then(({ showCount }) => showCount(this, number));
    }
  }

  set text(text) {
    (this.querySelector("a") || this).textContent = text;
  }
}

customElements.define("comment-count", CommentCount);
