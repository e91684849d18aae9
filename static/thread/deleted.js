// Deleted comments that have replies

/** Put each deleted comment of `page` before its first reply. */
export function placeDeleted(page) {
  const deleted = new Map(page.deleted.map((comment) => [comment.id, comment]));
  const placed = [];
  const add = (comment) => {
    const parent = deleted.get(comment.parent);
    deleted.delete(comment.parent);
    if (parent) add(parent);
    placed.push(comment);
  };
  page.data.forEach(add);
  page.data = placed;
}
