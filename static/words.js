// Every text of the widget, but for countText in count.js and explain in send.js.

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
