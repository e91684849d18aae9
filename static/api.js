// What is read from the comment service; send.js has the rest

/** The service's address. */
export const base = new URL("..", import.meta.url).href;

export const TIMEOUT_MS = 40_000; // the service gives up after 30 s

/** Return the JSON that the service answers; throw if there is none. */
export async function get(path) {
  const response = await fetch(base + "api/" + path, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw response;
  return response.json();
}
