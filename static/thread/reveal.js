// Shows a comment that may be in a folded thread of replies

/** Unfold and return the item of a comment in `tree`; undefined if there is none. */
export function reveal(tree, id) {
  const item = tree.find(id);
  let fold = item?.closest("details");
  for (; fold; fold = fold.parentElement.closest("details")) fold.open = true;
  return item;
}
