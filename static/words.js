// Every text of the widget, but for countText in count.js.

export const words = {
  write: "Leave a comment",
  replyTo: (author) => "Reply to " + author,
  reply: "Reply",
  cancel: "Cancel",
  more: "Show more comments",
  again: "Try again",
  message: "Comment",
  author: "Name",
  email: "E-mail",
  site: "Web site",
  optional: " (optional)",
  hint: "Markdown works. Your e-mail address is never shown.",
  send: "Send comment",
  sending: "Sending …",
  approved: "Thank you! Your comment is published.",
  pending: "Thank you! Your comment waits for approval. Until then only you see it here.",
  unread: "The comments cannot be loaded at the moment.",
};

const KEPT = " Your text is kept; please try again.";

const UNREACHED = "The comment service cannot be reached, or takes no comments from this page.";

const WHY = {
  403: "This page may not send comments here. Please tell the blog's owner.",
  409: "An earlier version of this text has already arrived. Send again to post this one too.",
  413: "Your comment is too long. Please shorten it.",
};

/** What a reader is told about a refusal. */
export function explain({ status, message, wait }, marked) {
  if (WHY[status]) return WHY[status];
  if (status == 429) {
    const time = wait > 1 ? wait + " seconds" : "a moment";
    return "That was a lot at once. Please wait " + time + "." + KEPT;
  }
  if (status >= 500) return "The comment service has a problem." + KEPT;
  if (status >= 400) return marked ? "Please look at the marked fields." : message;
  return (navigator.onLine ? UNREACHED : "You are offline.") + KEPT;
}
