import { anchorOf, h } from "./browser.js";

/** The list of comments; replies are below their parents */
export class CommentTree {
  element = h("ol.list");
  #items = new Map(); // <li> by id

  find(id) {
    return this.#items.get(id);
  }

  /** Show `comments`, a Map by id, in `depth` levels; `render` those that have changed */
  update(comments, depth, render, foldText) {
    const items = new Map();
    for (const [id, comment] of comments)
      items.set(id, this.find(id) ?? createItem(comment, foldText));
    this.#items = items;
    this.element.replaceChildren();
    for (const { replies } of items.values()) replies.replaceChildren();
    for (const [id, comment] of comments) {
      const ancestors = [];
      let parent = comment;
      while ((parent = comments.get(parent.parent))) ancestors.unshift(parent);
      const above = ancestors[Math.min(ancestors.length, depth) - 1];
      const answered = ancestors.at(-1);
      const item = items.get(id);
      const shown = [comment, answered == above ? undefined : answered];
      const state = JSON.stringify(shown);
      if (item.state != state) item.firstChild.replaceWith(render(...shown));
      item.state = state;
      (items.get(above?.id)?.replies ?? this.element).append(item);
    }
  }
}

function createItem(comment, foldText) {
  const replies = h("ol.replies");
  const fold = h("details.fold", { open: true }, h("summary.link", {}, foldText), replies);
  const item = h("li.comment", { tabIndex: -1, commentId: comment.id, replies }, "", fold);
  const id = anchorOf(comment);
  if (!document.getElementById(id)) item.id = id;
  return item;
}
