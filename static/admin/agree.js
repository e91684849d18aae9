/* A click that began on another page must not agree to anything: the button takes none in the first
   moments after this window is shown, or comes to the front. Keys and later clicks work. */

const PAUSE_MS = 700; // longer than between the two clicks of a double click

let since = performance.now();

addEventListener("focus", () => (since = performance.now()));
document.querySelector("#agree").addEventListener("click", (event) => {
  if (event.detail && performance.now() - since < PAUSE_MS) event.preventDefault();
});
