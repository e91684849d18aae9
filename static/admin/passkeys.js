/* Signing in with a passkey, and adding one. A form has the options in `data-get` or `data-create`;
   the device's answer is sent with it, as JSON. Browsers since spring 2025 support this JSON. */

const TOO_OLD = !globalThis.PublicKeyCredential?.parseCreationOptionsFromJSON;

/** Ask the device; the promise is rejected if the moderator or the browser refuses. */
function ask({ create, get }) {
  if (create) {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(create));
    return navigator.credentials.create({ publicKey });
  }
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(JSON.parse(get));
  return navigator.credentials.get({ publicKey });
}

async function answer(event) {
  event.preventDefault();
  const form = event.currentTarget;
  const problem = form.querySelector("[role=alert]");
  problem.hidden = true;
  try {
    const credential = await ask(form.dataset);
    form.elements.credential.value = JSON.stringify(credential);
    form.submit();
  } catch {
    problem.hidden = false;
  }
}

const form = document.querySelector("form.passkey");
if (form && !TOO_OLD) {
  form.querySelector("button").disabled = false;
  form.querySelector(".missing").hidden = true;
  form.addEventListener("submit", answer);
}
