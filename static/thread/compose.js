// The button beside the heading that leads to the form

/** Give the focus to the field below the comments, which becomes a form. */
export function compose({ host }) {
  host.querySelector("section > textarea, section > form textarea").focus();
}
