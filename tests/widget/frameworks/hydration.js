// React renders the page on a server and takes it over in the browser

import { createElement, useEffect } from "react";
import { hydrateRoot } from "react-dom/client";
import { renderToString } from "react-dom/server.browser";

// As docs/embedding.md says for a page that is rendered on a server
const props = { suppressHydrationWarning: true, dangerouslySetInnerHTML: { __html: "<i>Fallback</i>" } };

function Page({ values, onReady }) {
  useEffect(onReady, [onReady]);
  return createElement("main", null, createElement("comment-thread", { ...values, ...props }));
}

export function serve(container, values) {
  container.innerHTML = renderToString(createElement(Page, { values }));
}

export function takeOver(container, values, onReady) {
  const errors = [];
  const onRecoverableError = (error) => errors.push(String(error));
  hydrateRoot(container, createElement(Page, { values, onReady }), { onRecoverableError });
  return errors;
}
