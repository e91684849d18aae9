// What a build has put into the page, taken over by the widget
import { call } from "./comment.js";

/** The whole list, of which only what is newer than the build is asked for */
export async function newer(thread, target, sort) {
  const since = sort == "oldest" && thread.querySelector("[data-since]")?.dataset.since;
  const answer = await call(target + (since ? "&since=" + since : ""));
  if (thread.querySelector("textarea")?.value) delete answer.closes; // let it be sent
  if (!since) return answer;
  const comments = new Map();
  for (const item of thread.querySelectorAll("[data-comment]")) {
    const html = item.querySelector(".commentsvc-body").innerHTML;
    const comment = { ...JSON.parse(item.dataset.comment), html };
    comments.set(comment.id, comment);
  }
  for (const comment of answer.data) comments.set(comment.id, comment);
  if (comments.size != answer.count) return call(target); // some are shown no more
  answer.data = [...comments.values()];
  for (const comment of answer.data) comment.votes = answer.votes[comment.id] || 0;
  return answer;
}

/** Puts what was typed into the plain form into `form`; gives the field that has the focus */
export function carry(thread, form) {
  const plain = thread.querySelector(".commentsvc-form");
  if (!plain || !form.message) return; // one of both is closed
  for (const name of ["message", "author", "email", "site"]) {
    const typed = plain[name].value;
    const kept = form[name].value;
    if (!typed || typed == kept) continue;
    form[name].value = name == "message" && kept ? kept + "\n\n" + typed : typed;
    form[name].dispatchEvent(new Event("input", { bubbles: true }));
  }
  const { activeElement } = document;
  return plain.contains(activeElement) ? form[activeElement.name] : undefined;
}
