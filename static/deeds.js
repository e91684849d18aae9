// What readers do with comments that are there
import { button, call, make, memory, word, words } from "./comment.js";

const failed = ({ data, message }) => !data && (alert(message || words.unreached), true);

/** The buttons for a vote; `voting` is "up" or "both" */
export function ballots({ id, votes }, voting) {
  const number = make("span", "votes", {}, votes);
  const mark = (vote) => {
    for (const ballot of [up, down]) ballot.ariaPressed = ballot.value == vote;
  };
  const cast = async ({ target }) => {
    const vote = target.ariaPressed == "true" ? 0 : +target.value;
    const voter = memory("voter") || word();
    memory("voter", voter);
    const answer = await call(`comments/${id}/votes`, "POST", { vote, voter });
    if (failed(answer)) return;
    number.textContent = answer.data.votes;
    memory("votes", { ...memory("votes"), [id]: vote });
    mark(vote);
  };
  const up = button("▲", cast, words.up);
  const down = button("▼", cast, words.down);
  up.value = 1;
  down.value = -1;
  mark(memory("votes")?.[id]);
  return voting == "both" ? [up, number, down] : [up, number];
}

/** Deletes the comment of a receipt; says whether */
export async function withdraw({ comment, token }) {
  if (!confirm(words.sure)) return;
  return !failed(await call("comments/" + comment.id, "DELETE", undefined, token));
}
