// Replaces the elements for Stacosys on a page by our widget
import "../comments.js";
import "../count.js";

const IDS = ["stacosys-comments", "comment-form", "submit-button", "show-comments-button"];

function make(tag, url) {
  const element = document.createElement(tag);
  element.setAttribute("url", url);
  return element;
}

for (const counter of document.querySelectorAll(".comments-counter")) {
  const url = counter.textContent.trim();
  if (url) counter.replaceChildren(make("comment-count", url));
  counter.style.removeProperty("display"); // it was hidden until its number was known
}

const [thread, ...others] = IDS.map((id) => document.getElementById(id)).filter(Boolean);
if (thread) {
  const field = document.querySelector("#comment-form [name=url]");
  thread.replaceWith(make("comment-thread", field?.value || window.STACOSYS_PAGE || location.pathname));
  for (const other of others) other.remove();
}
