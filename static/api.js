/** The address of the service */
export const base = new URL("..", import.meta.url).href;

export const TIMEOUT_MS = 40_000; // the service gives up after 30 s

/** Return the JSON at a path */
export async function get(path) {
  const response = await fetch(base + "api/" + path, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw response;
  return response.json();
}
