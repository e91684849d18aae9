// What is sent to the comment service, and what is said when it refuses

import { base, storage, TIMEOUT_MS } from "./common.js";
/** @import { Failure } from "./types.d.ts" */

/** Return a random text to name a comment, or a voter. */
export const randomId = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

/** Return the random word by which the service knows this browser's votes and reports. */
export function readerWord() {
  const word = storage.get("voter") ?? randomId();
  storage.set("voter", word);
  return word;
}

/** Return the JSON that the service answers, or true for none; throw what errorText() explains. */
export async function send(method, path, body, token) {
  /** @type {Failure} */
  const failure = { status: navigator.onLine ? "unreached" : "offline" };
  const headers = {};
  if (body) headers["content-type"] = "application/json";
  if (token) headers.authorization = "Bearer " + token;
  try {
    const response = await fetch(base + "api/" + path, {
      method,
      headers,
      body: JSON.stringify(body),
      keepalive: method == "DELETE", // the page may be left
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok) failure.status = response.status;
    failure.retryAfter = response.headers.get("retry-after");
    const answer = response.status == 204 || (await response.json());
    if (response.ok) return answer;
    Object.assign(failure, answer.error);
  } catch {} // no answer, or none of ours
  throw failure;
}

/** Say in words why send() failed. */
export function errorText(messages, { status, retryAfter, message, fields = {} }) {
  const known = messages[status > 500 ? 500 : status];
  const text = known || Object.values(fields).join(" ") || message || messages.unreached;
  return text.replace("#", retryAfter ?? "…");
}
