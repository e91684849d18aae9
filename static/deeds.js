// What readers do with comments that are there
import { call, memory, word } from "./comment.js";

/** Casts the vote of the ballot `pressed`, or takes it back; gives the comment's votes */
export async function cast(pressed, id) {
  const vote = pressed.ariaPressed == "true" ? 0 : +pressed.value;
  const voter = memory("voter") || word();
  memory("voter", voter);
  const { votes } = await call(`comments/${id}/votes`, "POST", { vote, voter });
  memory("votes", { ...memory("votes"), [id]: vote });
  for (const ballot of pressed.parentNode.querySelectorAll("[aria-pressed]")) {
    ballot.ariaPressed = ballot.value == vote;
  }
  return votes;
}

/** Deletes the comment of a receipt; gives its id */
export async function withdraw(pressed, { comment: { id }, token }) {
  await call("comments/" + id, "DELETE", undefined, token);
  return id;
}
