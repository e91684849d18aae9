// Reads JSON with pages by name from stdin, and writes the lines of html-validate's complaints
import { readFileSync } from "node:fs";
import { HtmlValidate } from "html-validate";

// Rules that differ from the recommended ones, each with its reason
const rules = {
  // The boxes of a list, of which several may be ticked, share a name
  "form-dup-name": ["error", { shared: ["radio", "button", "reset", "submit", "checkbox"] }],
};

const judge = new HtmlValidate({ extends: ["html-validate:recommended"], rules });
for (const [name, html] of Object.entries(JSON.parse(readFileSync(0, "utf8")))) {
  const { results } = await judge.validateString(html);
  for (const { line, message, ruleId } of results.flatMap((result) => result.messages)) {
    console.log(`${name}: ${ruleId}: ${message} ${html.split("\n")[line - 1].slice(0, 200)}`);
  }
}
