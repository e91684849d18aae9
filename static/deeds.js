// What readers do: write, vote, delete their own
import { call, make, memory, trusted, why } from "./comment.js";

const word = () => crypto.getRandomValues(new Uint32Array(4)).join("-");
const bytes = (hex) => Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, 0)).join("");

// ALTCHA's proof of work; PBKDF2 runs beside the script
async function solve(challenge) {
  const { nonce, salt, cost, keyLength, keyPrefix } = challenge.parameters;
  const how = { name: "PBKDF2", hash: "SHA-256", salt: bytes(salt), iterations: cost };
  for (let counter = 0; ; counter++) {
    const password = bytes(nonce + counter.toString(16).padStart(8, 0));
    const secret = await crypto.subtle.importKey("raw", password, how, false, ["deriveBits"]);
    const bits = await crypto.subtle.deriveBits(how, secret, keyLength * 8);
    const derivedKey = hex(new Uint8Array(bits));
    if (derivedKey.startsWith(keyPrefix)) {
      return btoa(JSON.stringify({ challenge, solution: { counter, derivedKey } }));
    }
  }
}

/** Gives what the form `it` can do */
export function write(it) {
  const { words, url, parent, mine, form, error } = it;
  const preview = make("div.preview", { role: "status", dir: "auto" });
  const left = make("small");
  let invitation = {};
  let asked;

  function setBusy(busy) {
    form.message.readOnly = busy;
    it.send.textContent = words[busy ? "sending" : mine ? "save" : "send"];
    error.textContent = "";
  }

  async function prove() {
    invitation = await call("form-token?" + new URLSearchParams({ url }));
    form.notify.parentNode.hidden = !invitation.notify;
    measure(); // they may write already
    invitation.solution = invitation.proof_of_work && (await solve(invitation.proof_of_work));
  }

  const begin = () => (asked ||= mine || prove().catch(() => {}));

  async function post(texts) {
    const { message } = texts;
    const lang = "?lang=" + words.tag;
    if (mine) return call("comments/" + parent.id + lang, "PATCH", { message }, mine.token);
    await Promise.race([begin(), new Promise((done) => setTimeout(done, 1500))]);
    const more = { url, parent: parent?.id, title: document.title, remember: undefined };
    const { form_token, solution: proof_of_work } = invitation;
    const proof = { form_token, proof_of_work, notify: form.notify.checked };
    return call("comments" + lang, "POST", { ...texts, ...more, ...proof });
  }

  function fail(fault) {
    const twice = fault.status == 409;
    if (twice) it.key = undefined;
    asked = undefined;
    error.textContent = (twice ? words.twice : why(words, fault)) + " " + words.kept;
    for (const field of form.querySelectorAll("label > *")) {
      field.ariaInvalid = !!fault.fields?.[field.name];
    }
    form.querySelector("[aria-invalid=true]")?.focus();
  }

  async function send() {
    if (form.message.readOnly) return;
    it.key ||= word();
    const texts = it.keep();
    setBusy(true);
    const detail = await post(texts).finally(() => setBusy(false)).catch(fail);
    if (!detail) return;
    const { author, email, site, remember } = texts;
    if (!mine) memory("writer", remember ? { author, email, site } : null);
    memory(it.draft, null);
    it.key = asked = undefined;
    form.message.value = "";
    form.dispatchEvent(new CustomEvent("comment-submitted", { bubbles: true, detail }));
  }

  function measure() {
    const rest = invitation.length - form.message.value.length;
    left.textContent = rest < 200 ? words.left.replace("#", rest) : "";
  }

  function look({ target }) {
    target.ariaInvalid = false;
    measure();
    preview.textContent = "";
  }

  async function show() {
    if (!form.message.reportValidity()) return;
    const body = { message: form.message.value };
    await call("preview", "POST", body).then(({ html }) => trusted(preview, html), fail);
  }

  error.before(left, preview);
  form.addEventListener("input", look);
  return { begin, send, show };
}

/** Casts the vote of the ballot `pressed` on the comment `id`, or takes it back */
export async function cast(pressed, id) {
  const vote = pressed.ariaPressed == "true" ? 0 : +pressed.value;
  const voter = memory("voter") || word();
  memory("voter", voter);
  const { votes } = await call(`comments/${id}/votes`, "POST", { vote, voter });
  memory("votes", { ...memory("votes"), [id]: vote });
  const buttons = pressed.parentNode;
  buttons.querySelector("span").textContent = votes;
  for (const ballot of buttons.querySelectorAll("[aria-pressed]"))
    ballot.ariaPressed = ballot.value == vote;
}

/** Deletes the comment of a receipt, and this one of `receipts`, if its author is sure */
export async function withdraw(_, { comment: { id }, token }, words, receipts) {
  if (!confirm(words.sure)) return;
  await call("comments/" + id, "DELETE", undefined, token);
  return delete receipts[id];
}
