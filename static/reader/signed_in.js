// The last page of a sign-in: passes the token to the page of the blog

export {};

const PATIENCE_MS = 1000; // that the blog's page has to answer

const { handed, origin, page } = document.getElementById("signed-in").dataset;

document.getElementById("without-scripts")?.remove();

/** Go to the blog's page in this window, with the token in the fragment. */
function goThere() {
  location.replace(page + "#commentsvc-reader=" + encodeURIComponent(handed));
}

if (opener) {
  const timer = setTimeout(goThere, PATIENCE_MS);
  addEventListener("message", (event) => {
    if (event.origin != origin || event.data != "commentsvc-reader") return;
    clearTimeout(timer);
    close();
  });
  opener.postMessage({ reader: handed }, origin);
} else goThere();
