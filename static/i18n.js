// Messages in the language of the page

const LANGUAGES = /^(ar|de|es|fr|it|ja|nl|pl|pt|ru|zh)\b/;

/** Return the messages in the language of `element`, in English if it is another one. */
export async function loadMessages(element) {
  const [language] = LANGUAGES.exec(element.closest("[lang]")?.lang) ?? ["en"];
  return (await import(`./lang/${language}.js`)).default;
}

/** Say how many comments there are. */
export function countText({ counts, tag }, number) {
  const category = number ? new Intl.PluralRules(tag).select(number) : "zero";
  return counts[category].replace("#", number.toLocaleString(tag));
}

/** Say in `element`, a <comment-count>, how many comments there are. */
export async function showCount(element, number) {
  element.text = countText(await loadMessages(element), number);
}

// Each unit, and how many of it make the next larger one
const UNITS = { minute: 60, hour: 24, day: 7, week: 4.35, month: 12, year: Infinity };

/** Say in `time`, a <time>, how long ago it is. */
export function showRelativeTime({ tag }, time) {
  const date = new Date(time.dateTime);
  let elapsed = (Date.now() - date) / 60_000;
  for (const [unit, limit] of Object.entries(UNITS)) {
    if (elapsed < limit) {
      const format = new Intl.RelativeTimeFormat(tag, { numeric: "auto" });
      time.textContent = format.format(-Math.trunc(elapsed), unit);
      break;
    }
    elapsed /= limit;
  }
  time.title = date.toLocaleString(tag, { dateStyle: "long", timeStyle: "short" });
}
