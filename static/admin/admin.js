/* The moderation pages work without this script. It adds the keys and a checkbox for all comments.
   It sends the decisions of a list, takes the new list from the page that answers, and focuses the
   next comment; after undoing, the restored comment. Texts that were typed, but not stored yet,
   stay in this tab, so that no failure of the network and no other decision loses them. */

const TYPED = "commentsvc-typed"; // in sessionStorage: texts by what they are about, and what was sent

let areas, comments, boxes;
let others; // what is selected on other pages
let deciding = false;
const known = new Set(); // the ids of all comments that this page has shown
const QUEUE = "commentsvc-queue"; // names the channel of all tabs, and the lock of the one that listens
let newest = 0; // the id of the newest comment that waited when the page was loaded
let last; // event of the queue

/** Find what the page has, at first and when its list was replaced. */
function read() {
  areas = [...document.querySelectorAll("textarea:not([name^=reason])")];
  comments = [...document.querySelectorAll(".comments .comment")];
  others = document.querySelector(".others");
  boxes = comments.map((comment) => comment.querySelector("[type=checkbox]")).filter(Boolean);
  comments.forEach((comment) => known.add(comment.id));
}

/** Return the index of the comment with the focus; -1 for none. */
function current() {
  return comments.findIndex((comment) => comment.contains(document.activeElement));
}

/** Focus the comment with that index, or the first or last one. */
function go(number) {
  if (number < 0) {
    return;
  }
  const comment = comments[Math.max(0, Math.min(number, comments.length - 1))];
  comment?.focus({ preventScroll: true });
  comment?.scrollIntoView({ block: "nearest" });
}

/**
 * Leave the focus where it is when something in a comment is pressed: the comment that loses it
 * becomes lower, so that the button would be elsewhere when the press ends, and the click be lost.
 */
function keepFocus(event) {
  if (event.target.closest(".comments .comment :is(button, a, summary, [type=checkbox])")) {
    event.preventDefault();
  }
}

/** Return the button or link for a key: of the comment with the focus, else of the page. */
function find(key) {
  const inside = comments[current()] ?? document.querySelector(".comment.whole");
  const selector = `[data-key="${CSS.escape(key)}"]`;
  return inside?.querySelector(selector) ?? document.querySelector(`${selector}:not(.comment *)`);
}

function tick() {
  const box = comments[current()]?.querySelector("[type=checkbox]");
  if (box) {
    box.checked = !box.checked;
    count();
  }
}

function openAnswer() {
  const details = find("r")?.parentElement;
  if (details) {
    details.open = true;
    details.querySelector("textarea").focus();
  }
}

function showKeys() {
  document.querySelector("#keys")?.showModal();
}

const keys = {
  "?": showKeys,
  j: () => go(current() + 1),
  k: () => go(Math.max(0, current() - 1)),
  x: tick,
  r: openAnswer,
  "/": () => find("/")?.focus(),
};

function press(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) {
    event.target.closest(".answer")?.querySelector("button").click();
    return;
  }
  if (document.querySelector("dialog[open]")) {
    return;
  }
  const typing = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) {
    return;
  }
  const act = keys[event.key] ?? ("asduo".includes(event.key) && (() => find(event.key)?.click()));
  if (act) {
    event.preventDefault();
    act();
  }
}

/** Show how many comments are ticked, and disable the buttons for them if none is. */
function count() {
  const ticked = boxes.filter((box) => box.checked).length;
  if (!all) {
    return;
  }
  const number = ticked + (others?.isConnected ? Number(others.dataset.number) : 0);
  const chosen = document.querySelector(".chosen");
  chosen.textContent = number ? chosen.dataset.text.replace("#", number) : "";
  all.checked = ticked === boxes.length;
  all.indeterminate = ticked > 0 && ticked < boxes.length;
  for (const button of document.querySelectorAll(".bulk button")) {
    button.disabled = !number;
  }
}

/** Replace the link that ticks all comments by a checkbox. */
function boxForAll() {
  const box = document.createElement("input");
  box.type = "checkbox";
  const link = document.querySelector("a.every");
  const label = document.createElement("label");
  label.className = "every";
  label.append(box, ` ${link.textContent}`);
  box.addEventListener("change", () => {
    for (const one of boxes) {
      one.checked = box.checked;
    }
    if (!box.checked) {
      others?.remove();
    }
    count();
  });
  link.replaceWith(label);
  return box;
}

/** Send a decision on comments of the list, and show the list that is the answer. */
async function decide(event) {
  const { target: form, submitter } = event;
  if (!submitter || !form.closest("#list")) {
    return;
  }
  event.preventDefault();
  if (deciding) {
    return;
  }
  const action = submitter.hasAttribute("formaction") ? submitter.formAction : form.action;
  const body = new URLSearchParams(new FormData(form));
  body.append(submitter.name, submitter.value);
  deciding = true;
  try {
    const answer = await fetch(action, { method: "POST", body });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (page.querySelector("#list")) {
      const pressed = comments.findIndex((comment) => comment.contains(submitter));
      show(page, pressed < 0 ? current() : pressed);
    } else {
      document.removeEventListener("submit", decide); // it was refused: the browser shows why
      submitter.click();
    }
  } catch {
    document.querySelector(".lost").hidden = false;
  }
  deciding = false;
}

/** Leave comments out of a list that would move the others: they are counted, and shown on request. */
function leaveOutNew(list) {
  const cards = [...list.querySelectorAll(".comments .comment")];
  const late = cards.filter(({ id }) => Number(id.slice(1)) > newest && !known.has(id));
  if (late.length === cards.length || "oldestFirst" in list.dataset) {
    newest = Number(list.dataset.newest);
  } else {
    late.forEach((card) => card.closest("li").remove());
  }
}

/**
 * Replace the list and the numbers by those of another page, keep what is ticked, and focus the
 * comment with that index, or the one that was restored.
 */
function show(page, index) {
  const was = new Set(comments.map((comment) => comment.id));
  leaveOutNew(page.querySelector("#list"));
  const ticked = boxes.filter((box) => box.checked).map((box) => box.value);
  for (const part of ["#list", ".side nav"]) {
    document.querySelector(part).replaceWith(document.adoptNode(page.querySelector(part)));
  }
  document.title = page.title;
  const restored = [...document.querySelectorAll(".comments .comment")].findIndex(
    ({ id }) => known.has(id) && !was.has(id),
  );
  read();
  restoreTexts();
  for (const box of boxes) {
    box.checked ||= ticked.includes(box.value);
  }
  begin();
  if (last) {
    update(last);
  }
  go(restored < 0 ? index : restored);
}

const ofOne = (area) => ["message", "internal"].includes(area.name);

/** Return what a text is about: the answer to a comment, the text of one, or a note on it. */
function about(area) {
  return ofOne(area) ? `${area.name}.${area.form.elements.id.value}` : area.name;
}

/** Store the texts that were typed, and which of them is sent by the event, if it sends one. */
function keepTexts({ submitter }) {
  const { texts = {}, sent } = JSON.parse(sessionStorage.getItem(TYPED) ?? "{}");
  for (const area of areas) {
    texts[about(area)] = area.value === area.defaultValue ? undefined : area.value;
  }
  const answered = submitter?.name === "answer" && `text.${submitter.value}`;
  const edited = areas.find((area) => ofOne(area) && area.form === submitter?.form);
  const now = answered || (edited && about(edited)) || sent;
  sessionStorage.setItem(TYPED, JSON.stringify({ texts, sent: now }));
}

/** Put texts back into their fields, except one that was stored. */
function restoreTexts() {
  const { texts = {}, sent } = JSON.parse(sessionStorage.getItem(TYPED) ?? "{}");
  if (document.querySelector(".note.good")) {
    delete texts[sent];
  }
  for (const area of areas) {
    const text = texts[about(area)];
    if (text !== undefined && !document.querySelector("main.sheet")) {
      area.value = text;
      area.closest("details")?.setAttribute("open", "");
    }
  }
  sessionStorage.setItem(TYPED, JSON.stringify({ texts }));
}

let all;

/** Make the list ready. */
function begin() {
  all = document.querySelector("a.every") && boxForAll();
  document.querySelector(".list")?.addEventListener("change", count);
  count();
}

/** Show the numbers of an event, and how many comments are newer than the list. */
function update(event) {
  const { pending, spam, reported, ids } = event;
  last = event;
  const numbers = { queue: pending + reported, "comments?status=spam": spam };
  for (const [target, number] of Object.entries(numbers)) {
    for (const link of document.querySelectorAll(`nav a[href="${target}"]`)) {
      const span = link.querySelector(".number") ?? document.createElement("span");
      span.className = "number";
      span.textContent = number > 1000 ? "1000+" : number;
      link.append(" ", span);
      span.hidden = !number;
    }
  }
  entitle(numbers.queue);
  const fresh = document.querySelector(".fresh");
  const number = ids.filter((id) => id > newest && !known.has(`c${id}`)).length;
  if (fresh) {
    fresh.hidden = !number;
    fresh.firstChild.textContent = fresh.dataset.text.replace("#", number < 50 ? number : "50+");
  }
}

/** Begin the page's title with the number of comments in the queue. */
function entitle(number) {
  const title = document.title.replace(/^\(\d+\+?\) /, "");
  document.title = number ? `(${number > 1000 ? "1000+" : number}) ${title}` : title;
}

/** Listen to the queue, in one tab for all: a browser opens few connections to a server. */
function listen() {
  const channel = new BroadcastChannel(QUEUE);
  channel.addEventListener("message", ({ data }) => update(data));
  navigator.locks?.request(QUEUE, () => {
    new EventSource("stream").addEventListener("message", ({ data }) => {
      const event = JSON.parse(data);
      update(event);
      channel.postMessage(event);
    });
    return new Promise(() => {});
  });
}

document.documentElement.classList.add("scripted");
document.addEventListener("keydown", press);
document.addEventListener("mousedown", keepFocus);
document.addEventListener("submit", keepTexts);
document.addEventListener("submit", decide);
addEventListener("pagehide", keepTexts);
document.querySelector(".who")?.addEventListener("submit", () => {
  removeEventListener("pagehide", keepTexts);
  document.removeEventListener("submit", keepTexts);
  sessionStorage.removeItem(TYPED);
});
document.querySelector("#answer details")?.addEventListener("click", (event) => {
  const text = event.target.closest("a")?.dataset.reply;
  const area = document.querySelector("#answer textarea");
  if (text !== undefined) {
    event.preventDefault(); // the page of the link would take the place of what is typed
    area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    area.focus();
  }
});
document.querySelector(".keys button")?.addEventListener("click", showKeys);
read();
restoreTexts();
begin();
go(comments.findIndex((comment) => comment.matches(":target")));
const shown = document.querySelector(`nav a[href="queue"] .number`)?.textContent;
if (document.querySelector(".side")) {
  newest = Number(document.querySelector("#list")?.dataset.newest ?? 0);
  entitle(parseInt(shown ?? 0, 10));
  listen();
}
document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
