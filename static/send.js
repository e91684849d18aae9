// Sending a comment; loaded when somebody begins to write.
import { call } from "./api.js";
import { solve } from "./work.js";

const PATIENCE = 2000; // ms after pressing the button; then the comment goes as it is

/** Gets a stamp and does the work that comes with it; fails where there is no cryptography. */
async function prove(url, proof) {
  const { data } = await call("api/stamp?" + new URLSearchParams({ url }));
  proof.stamp = data?.stamp;
  if (data?.work) proof.work = await solve(data.work);
}

/** Begins to prove that a person writes; gives how to send one comment, and to tell why not. */
export function open(url) {
  const proof = {};
  const proved = prove(url, proof).catch(() => {});

  async function send(submission) {
    await Promise.race([proved, new Promise((done) => setTimeout(done, PATIENCE))]);
    return call("api/comments", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...submission, ...proof }),
    });
  }
  return { send, explain };
}

const KEPT = " Your text is kept; please try again.";

const UNREACHED = "The comment service cannot be reached, or takes no comments from this page.";

const WHY = {
  403: "This page may not send comments here. Please tell the blog's owner.",
  409: "An earlier version of this text has already arrived. Send again to post this one too.",
  413: "Your comment is too long. Please shorten it.",
};

/** What a reader is told about a refusal. */
function explain({ status, message, wait }, marked) {
  if (WHY[status]) return WHY[status];
  if (status == 429) {
    const time = wait > 1 ? wait + " seconds" : "a moment";
    return "That was a lot at once. Please wait " + time + "." + KEPT;
  }
  if (status >= 500) return "The comment service has a problem." + KEPT;
  if (status >= 400) return marked ? "Please look at the marked fields." : message;
  return (navigator.onLine ? UNREACHED : "You are offline.") + KEPT;
}
