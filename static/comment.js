import { base } from "./api.js";
import { h, setHTML } from "./dom.js";
import { showRelativeTime } from "./i18n.js";
import { storage } from "./storage.js";

/** The author's initial, in a colour made of `text`; a picture covers it */
function avatar(author, text, path) {
  let hue = 0;
  for (const letter of text) hue = (hue * 31 + letter.codePointAt()) % 360;
  const element = h("span.avatar", { ariaHidden: true }, [...author][0]);
  element.style.setProperty("--commentsvc-hue", hue);
  if (path) element.append(h("img", { src: base + path, alt: "" }));
  return element;
}

function header(messages, comment, answered) {
  const { id, author, site } = comment;
  const name = h("a.author", { dir: "auto", rel: "nofollow ugc noopener" }, author);
  if (/^https?:/.test(site)) name.href = site;
  const time = h("time", { dateTime: comment.published || new Date().toJSON() });
  showRelativeTime(messages, time);
  const date = h("span.date", {}, h("a", { href: "#comment-" + id }, time));
  if (comment.edited) date.append(" · ", messages.edited);
  if (answered) {
    date.append(" ", h("a", { href: "#comment-" + answered.id }, "↪ " + answered.author));
  }
  const picture = avatar(author, comment.avatar || author, comment.picture);
  return h("header.meta", {}, picture, name, date);
}

/** A button for an action of actions.js */
const actionButton = (name, text, properties) =>
  h("button.link", { type: "button", name, ...properties }, text);

function voteButtons(messages, { id, votes }, voting) {
  const voted = storage.get("votes")?.[id];
  const button = (value, text, ariaLabel) =>
    actionButton("vote", text, { value, ariaLabel, ariaPressed: voted == value });
  const buttons = [button(1, "▲", messages.up), h("span.votes", {}, votes)];
  if (voting == "both") buttons.push(button(-1, "▼", messages.down));
  return buttons;
}

/** Return the element of a comment. It names `answered`, its parent, if that is not above it */
export function renderComment({ messages, closed, voting }, comment, answered) {
  const { own, note, author } = comment;
  const actions = h("footer.actions");
  if (!closed && !note) {
    const ariaLabel = messages.replyTo.replace("#", author);
    actions.append(actionButton("reply", messages.reply, { ariaLabel }));
  }
  if (voting && !note) actions.append(...voteButtons(messages, comment, voting));
  if (own?.token) {
    actions.append(actionButton("edit", messages.edit), actionButton("remove", messages.delete));
  }
  const body = setHTML(h("div.body", { dir: "auto" }), comment.html);
  const parts = [header(messages, comment, answered), body, actions];
  if (note) parts.splice(1, 0, h("p.note", {}, note));
  return h("article", {}, ...parts);
}
