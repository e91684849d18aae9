// Markdown formats for the text, for keys and the toolbar's buttons

const AROUND = { bold: "**", italic: "*" };
const BEFORE_LINES = { quote: "> ", list: "- " };

/** Format the selected text of `field`; `url` is for a link. */
export function format(field, name, url = "https://") {
  const { value, selectionStart, selectionEnd } = field;
  const selected = value.slice(selectionStart, selectionEnd);
  field.focus();
  if (name == "link") insertLink(field, selected, url);
  else if (name in BEFORE_LINES) changeLines(field, BEFORE_LINES[name]);
  else if (name == "code" && selected.includes("\n")) replace(field, "```\n" + selected + "\n```");
  else surround(field, selected, AROUND[name] ?? "`");
}

/** Put `mark` around the selected text, or remove it there. */
function surround(field, text, mark) {
  const { value, selectionStart: start, selectionEnd: end } = field;
  const isMarked = value.slice(0, start).endsWith(mark) && value.slice(end).startsWith(mark);
  if (isMarked) {
    field.setSelectionRange(start - mark.length, end + mark.length);
    replace(field, text);
    field.setSelectionRange(start - mark.length, end - mark.length);
  } else {
    replace(field, mark + text + mark);
    field.setSelectionRange(start + mark.length, end + mark.length);
  }
}

/** Make a link from the selected text; then select the part to type next. */
function insertLink(field, text, url) {
  const start = field.selectionStart;
  replace(field, `[${text}](${url})`);
  const end = start + text.length + 3 + url.length;
  if (!text) field.setSelectionRange(start + 1, start + 1);
  else if (url == "https://") field.setSelectionRange(end - url.length, end);
}

/** Put `mark` before each line of the selection, or remove it if each has it. */
function changeLines(field, mark) {
  const { value, selectionStart, selectionEnd } = field;
  const start = value.lastIndexOf("\n", selectionStart - 1) + 1;
  const lines = value.slice(start, selectionEnd).split("\n");
  const areMarked = lines.every((line) => line.startsWith(mark));
  const changed = lines.map((line) => (areMarked ? line.slice(mark.length) : mark + line));
  field.setSelectionRange(start, selectionEnd);
  replace(field, changed.join("\n"));
}

/** Replace the selection by `text`, so that the browser can undo it. */
export function replace(field, text) {
  const command = text ? "insertText" : "delete";
  if (document.execCommand(command, false, text)) return;
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
}
