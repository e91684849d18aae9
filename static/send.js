// Requests that write to the service, and the texts for their errors

import { base, countText, storage, TIMEOUT_MS } from "./common.js";
/** @import { Failure } from "./types.d.ts" */

/** Return a random id for a comment or a voter. */
export const randomId = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

/** Return the random word that identifies this browser's votes and reports. */
export function readerWord() {
  const word = storage.get("voter") ?? randomId();
  storage.set("voter", word);
  return word;
}

/** Return the JSON of the service's answer, or true for none; throw a Failure for errorText(). */
export async function send(method, path, body, token) {
  /** @type {Failure} */
  const failure = { status: navigator.onLine ? "unreached" : "offline" };
  const headers = {};
  const isFile = body instanceof Blob;
  if (body) headers["content-type"] = isFile ? "application/octet-stream" : "application/json";
  if (token) headers.authorization = "Bearer " + token;
  try {
    const response = await fetch(base + "api/" + path, {
      method,
      headers,
      body: isFile ? body : JSON.stringify(body),
      keepalive: method == "DELETE", // the page may be left
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok) failure.status = response.status;
    failure.retryAfter = response.headers.get("retry-after");
    const answer = response.status == 204 || (await response.json());
    if (response.ok) return answer;
    Object.assign(failure, answer.error);
  } catch {} // no answer, or not from our service
  throw failure;
}

/** Return a time in words of the language: in minutes or hours where that is easier to read. */
function duration(seconds, { units, tag, digits }) {
  const lengths = { hour: 3600, minute: 60, second: 1 };
  const unit = Object.keys(lengths).find((name) => seconds > 1.5 * lengths[name]) ?? "second";
  return countText({ counts: units[unit], tag, digits }, Math.ceil(seconds / lengths[unit]));
}

/** Return the text for a Failure of send(); what a browser threw is for programmers only. */
export function errorText(messages, { status, retryAfter, message, fields = {} }) {
  const known = messages[status > 500 ? 500 : status];
  const text = known?.replace("#", () => duration(Number(retryAfter) || 60, messages));
  return text || Object.values(fields).join(" ") || (status && message) || messages.unreached;
}
