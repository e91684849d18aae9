// The work against bots. The browser does it beside the page's script, so nothing stands still.

const AT_ONCE = 4; // numbers that are tried at the same time

const bytes = (hex) => Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));
const text = (key) => Array.from(key, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The key that PBKDF2 gives for a number: see ALTCHA's proof of work, version 2. */
async function derive({ nonce, salt, cost, keyLength }, number) {
  const password = new Uint8Array([...bytes(nonce), 0, 0, 0, 0]);
  new DataView(password.buffer).setUint32(password.length - 4, number);
  const key = await crypto.subtle.importKey("raw", password, "PBKDF2", false, ["deriveBits"]);
  const how = { name: "PBKDF2", hash: "SHA-256", salt: bytes(salt), iterations: cost };
  return text(new Uint8Array(await crypto.subtle.deriveBits(how, key, keyLength * 8)));
}

/** Gives the solution of ALTCHA's `challenge`, encoded as it is sent. */
export async function solve(challenge) {
  for (let first = 0; ; first += AT_ONCE) {
    const numbers = Array.from({ length: AT_ONCE }, (_, index) => first + index);
    const keys = await Promise.all(numbers.map((n) => derive(challenge.parameters, n)));
    const found = keys.findIndex((key) => key.startsWith(challenge.parameters.keyPrefix));
    if (found >= 0) {
      const solution = { counter: first + found, derivedKey: keys[found] };
      return btoa(JSON.stringify({ challenge, solution }));
    }
  }
}
