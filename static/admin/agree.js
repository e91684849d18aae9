/* A click that began on another page must not agree to anything: the button takes none in the first
   moments after this window is shown, or comes to the front. Keys and later clicks work.

   This is no module: it runs in the head, before there is a button. */

const PAUSE_MS = 700; // longer than between the two clicks of a double click

let since = Infinity;

for (const type of ["DOMContentLoaded", "focus"]) addEventListener(type, () => (since = performance.now()));
addEventListener("click", (event) => {
  const isTooSoon = event.detail && performance.now() - since < PAUSE_MS;
  if (isTooSoon && event.target.closest("#agree")) event.preventDefault();
});
