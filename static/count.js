// All counts of a page in one request
export const network = {
  base: new URL("..", import.meta.url).href,
  send: (target, options) => fetch(network.base + target, options),
};

const waiting = [];

const near = new IntersectionObserver((entries) => {
  if (entries.some((entry) => entry.isIntersecting)) ask(waiting.splice(0), near.disconnect());
});

async function ask(elements) {
  const urls = [...new Set(elements.map((element) => element.url))].sort();
  const target = "api/comments/counts?" + new URLSearchParams(urls.map((url) => ["url", url]));
  if (urls[100] || (urls[1] && target[8000])) {
    ask(elements.splice(elements.length / 2));
    return ask(elements);
  }
  try {
    const { counts } = await (await network.send(target)).json();
    for (const element of elements) element.count = counts[element.url];
  } catch {}
}

customElements.define("comment-count", class extends HTMLElement {
  get url() {
    return this.getAttribute("url") || location.pathname;
  }

  set count(n) {
    if (this.matches(":lang(en)")) this.text = (n || "No") + (n == 1 ? " comment" : " comments");
    else import("./comment.js").then(({ count }) => count(this, n));
  }

  set text(text) {
    (this.querySelector("a") || this).textContent = text;
  }

  connectedCallback() {
    near.observe(this, waiting.push(this));
  }
});
