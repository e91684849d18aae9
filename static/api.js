// What the widget asks of the service.
import { network } from "./count.js";

const DEADLINE = 40000; // ms; the service's is 30 s

/** {data}, or why not: {status, wait, message, fields}. */
export async function call(target, options) {
  let answer, data;
  try {
    answer = await network.send(target, { signal: AbortSignal.timeout(DEADLINE), ...options });
    data = await answer.json();
  } catch {} // no answer: no status
  if (answer?.ok && data) return { data };
  return { status: answer?.status, wait: answer?.headers.get("retry-after"), ...data?.error };
}

export const list = (url, after) =>
  call("api/comments?" + new URLSearchParams(after ? { url, after } : { url }));
