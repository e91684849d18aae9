// A form; its text stays until the service has it
import { button, call, make, memory, trusted, word, words } from "./comment.js";

const FIELDS = {
  message: { required: true, rows: 4 },
  author: { required: true, autocomplete: "name" },
  email: { type: "email", autocomplete: "email" },
  site: { type: "url", autocomplete: "url" },
};

const bytes = (hex) => Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));

// ALTCHA's proof of work; PBKDF2 runs beside the script
async function solve(challenge) {
  const { nonce, salt, cost, keyLength, keyPrefix } = challenge.parameters;
  const how = { name: "PBKDF2", hash: "SHA-256", salt: bytes(salt), iterations: cost };
  const password = bytes(nonce + "00000000");
  for (let counter = 0; ; counter++) {
    new DataView(password.buffer).setUint32(password.length - 4, counter);
    const secret = await crypto.subtle.importKey("raw", password, "PBKDF2", false, ["deriveBits"]);
    const bits = new Uint8Array(await crypto.subtle.deriveBits(how, secret, keyLength * 8));
    const derivedKey = Array.from(bits, (byte) => byte.toString(16).padStart(2, "0")).join("");
    if (derivedKey.startsWith(keyPrefix)) {
      return btoa(JSON.stringify({ challenge, solution: { counter, derivedKey } }));
    }
  }
}

export function makeForm(url, parent, mine) {
  const draft = url + "#" + (mine ? "=" : "") + (parent?.id || "");
  const names = mine ? ["message"] : Object.keys(FIELDS);
  const form = make("form", "form");
  const preview = make("div", "preview", { role: "status", dir: "auto" });
  const error = make("p", "error", { role: "alert" });
  const send = make("button", "button");
  const left = make("small");
  const remember = make("input", "", { type: "checkbox", checked: memory("writer") });
  const notify = make("input", "", { type: "checkbox", name: "notify" });
  let key, limit, proof, proved;


  function add(name) {
    const field = make(name == "message" ? "textarea" : "input", "", { name, dir: "auto" });
    Object.assign(field, FIELDS[name]);
    const optional = field.required ? "" : make("small", "", {}, " ", words.optional);
    form.append(make("label", "field", {}, words[name], optional, field));
  }

  function restore() {
    const texts = memory(draft) || (mine ? { message: parent.content } : memory("writer")) || {};
    key = texts.key;
    for (const name of names) form[name].value = texts[name] || "";
  }

  function keep() {
    key ||= word();
    const texts = { ...Object.fromEntries(new FormData(form)), key };
    memory(draft, texts);
    return texts;
  }

  function setBusy(busy) {
    form.message.readOnly = busy;
    send.textContent = words[busy ? "sending" : mine ? "save" : "send"];
    error.textContent = "";
  }

  async function prove() {
    const { data } = await call("stamp?" + new URLSearchParams({ url }));
    proof = { stamp: data.stamp };
    limit = data.length;
    notify.parentNode.hidden = !data.notify;
    proof.work = data.work && (await solve(data.work));
  }

  const ready = () => (proved ||= prove().catch(() => {}));

  async function post(texts) {
    const { message } = texts;
    if (mine) return call("comments/" + parent.id, "PATCH", { message }, mine.token);
    await Promise.race([ready(), new Promise((done) => setTimeout(done, 2000))]);
    const more = { url, parent: parent?.id, notify: notify.checked, title: document.title };
    return call("comments", "POST", { ...texts, ...more, ...proof });
  }

  function fail({ status, message, wait, fields: faults = {} }) {
    if (status == 409) key = undefined;
    proved = undefined;
    const why = status > 499 ? 500 : status || (navigator.onLine ? "unreached" : "offline");
    const text = words[why] || Object.values(faults).join(" ") || message || words.unreached;
    error.textContent = text.replace("#", wait ?? "…") + " " + words.kept;
    for (const name of names) form[name].ariaInvalid = name in faults;
    form.querySelector("[aria-invalid=true]")?.focus();
  }

  form.onsubmit = async (event) => {
    event.preventDefault();
    if (form.message.readOnly) return;
    const texts = keep();
    setBusy(true);
    const answer = await post(texts);
    setBusy(false);
    if (!answer.data) return fail(answer);
    const { author, email, site } = texts;
    if (!mine) memory("writer", remember.checked ? { author, email, site } : null);
    memory(draft, null);
    key = proved = undefined;
    form.message.value = "";
    const { data: detail } = answer;
    form.dispatchEvent(new CustomEvent("comment-submitted", { bubbles: true, detail }));
  };

  form.oninput = ({ target }) => {
    if (names.includes(target.name)) target.ariaInvalid = false;
    const rest = limit - form.message.value.length;
    left.textContent = rest < 200 ? words.left.replace("#", rest) : "";
    preview.textContent = "";
    keep();
  };

  async function show() {
    if (!form.message.reportValidity()) return;
    const answer = await call("preview", "POST", { message: form.message.value });
    if (answer.data) trusted(preview, answer.data.html);
    else fail(answer);
  }

  const box = (input, text) => form.append(make("label", "box", {}, input, text));
  const heading = parent ? words.replyTo.replace("#", parent.author) : words.write;
  form.append(make("h3", "heading", {}, mine ? words.edit : heading));
  names.forEach(add);
  if (!mine) {
    box(remember, words.remember);
    box(notify, words.notify);
    notify.parentNode.hidden = true;
    form.append(make("p", "hint", {}, words.hint));
    form.append(make("input", "", { name: "subject", hidden: true }));
    form.addEventListener("focusin", ready);
  }
  const actions = make("div", "actions", {}, send, button(words.preview, show));
  if (parent) actions.append(make("button", "link", { type: "reset" }, words.cancel));
  form.append(left, preview, error, actions);
  setBusy(false);
  restore();
  return form;
}
