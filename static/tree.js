import { h } from "./dom.js";

/** The list of comments; replies are below their parents */
export class CommentTree {
  element = h("ol.list");
  #items = new Map(); // { element, replies, state } by id

  find(id) {
    return this.#items.get(id)?.element;
  }

  /** Show `comments`, a Map by id, in `depth` levels; `render` those that have changed */
  update(comments, depth, render) {
    const items = new Map();
    for (const id of comments.keys()) items.set(id, this.#items.get(id) ?? this.#create(id));
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
      if (item.state != state) item.element.firstChild.replaceWith(render(...shown));
      item.state = state;
      (above ? items.get(above.id).replies : this.element).append(item.element);
    }
  }

  #create(id) {
    const replies = h("ol.replies");
    const element = h("li.comment", { id: "comment-" + id, tabIndex: -1 }, "", replies);
    element.dataset.id = id;
    return { element, replies };
  }
}
