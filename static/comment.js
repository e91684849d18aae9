import { base } from "./api.js";
import { anchorOf, h, setHTML, storage } from "./browser.js";
import { showRelativeTime } from "./i18n.js";

/** The author's initial, in a colour of their own; a picture covers it */
function avatar({ author, avatar: digest, picture }) {
  let hue = 0;
  for (const letter of digest || author) hue = (hue * 31 + letter.codePointAt()) % 360;
  const element = h("span.avatar", { ariaHidden: true }, [...author][0]);
  element.style.setProperty("--commentsvc-hue", hue);
  const onerror = ({ target }) => target.remove();
  if (picture) element.append(h("img", { src: base + picture, alt: "", onerror }));
  return element;
}

function header(messages, comment, answered) {
  const { author, site } = comment;
  const link = /^https?:/.test(site) && { href: site, rel: "nofollow ugc noopener" };
  const name = h(link ? "a.author" : "span.author", { dir: "auto", ...link }, author);
  const time = h("time", { dateTime: comment.published || new Date().toJSON() });
  showRelativeTime(messages, time);
  const date = h("span.date", {}, h("a", { href: "#" + anchorOf(comment) }, time));
  for (const mark of ["pinned", "edited"]) if (comment[mark]) date.append(" · ", messages[mark]);
  if (answered) {
    date.append(" ", h("a", { href: "#" + anchorOf(answered) }, "↪ " + answered.author));
  }
  const badge = messages[comment.isWaiting ? "awaiting" : comment.role];
  return h("div.meta", {}, name, date, badge ? h("span.badge", {}, badge) : "");
}

const actionButton = (name, text, properties) =>
  h("button.link", { type: "button", name, ...properties }, text);

function voteButtons(messages, { id, votes }, voting) {
  const voted = storage.get("votes")?.[id];
  const button = (value, text, title) =>
    actionButton("vote", text, { value, title, ariaLabel: title, ariaPressed: voted == value });
  const down = voting == "both" ? button(-1, "▼", messages.down) : "";
  return [button(1, "▲", messages.up), h("span.votes", {}, votes || ""), down];
}

/** Return the element of a comment; it names `answered`, unless that is above it */
export function renderComment({ messages, closed, voting }, comment, answered) {
  const { own, note, author, isWaiting } = comment;
  if (comment.deleted) return h("p.hint", {}, messages.gone);
  const actions = h("div.actions");
  if (!closed && !isWaiting) {
    const ariaLabel = messages.replyTo.replace("#", author);
    actions.append(actionButton("reply", messages.reply, { ariaLabel }));
  }
  if (voting && !isWaiting) actions.append(...voteButtons(messages, comment, voting));
  for (const name of own?.token ? ["edit", "delete"] : []) {
    actions.append(actionButton(name, messages[name]));
  }
  const body = setHTML(h("div.body", { dir: "auto" }), comment.html);
  for (const pre of body.querySelectorAll("pre")) pre.tabIndex = 0;
  const head = header(messages, comment, answered);
  const thanks = note ? h("p.note", {}, note) : "";
  return h("article", {}, avatar(comment), head, body, actions, thanks);
}
