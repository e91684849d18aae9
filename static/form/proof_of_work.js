// ALTCHA's proof of work, with PBKDF2, which browsers compute outside of the page's thread

const fromHex = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Return the solution of `challenge`, for the field `proof_of_work`. */
export async function solve(challenge) {
  const { nonce, salt, cost, keyLength, keyPrefix } = challenge.parameters;
  const algorithm = { name: "PBKDF2", hash: "SHA-256", salt: fromHex(salt), iterations: cost };
  for (let counter = 0; ; counter++) {
    const password = fromHex(nonce + counter.toString(16).padStart(8, "0"));
    const key = await crypto.subtle.importKey("raw", password, algorithm, false, ["deriveBits"]);
    const bits = await crypto.subtle.deriveBits(algorithm, key, keyLength * 8);
    const derivedKey = toHex(new Uint8Array(bits));
    if (derivedKey.startsWith(keyPrefix)) {
      return btoa(JSON.stringify({ challenge, solution: { counter, derivedKey } }));
    }
  }
}
