// The widget: defines its elements.
import "./count.js";
import { CommentForm } from "./form.js";
import { CommentThread } from "./thread.js";

const link = document.createElement("link");
link.rel = "stylesheet";
link.href = new URL("comments.css", import.meta.url);
CommentThread.styled = new Promise((done) => (link.onload = link.onerror = done));
document.head.prepend(link); // first, so that the blog's styles win

CommentForm.define();
CommentThread.define();
