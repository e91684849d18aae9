const LANGUAGES = /^(ar|de|es|fr|it|ja|nl|pl|pt|ru|zh)\b/;
const loading = {}; // promises

/** Return the messages in the language of an element */
export function loadMessages(element) {
  const [language] = LANGUAGES.exec(element.closest("[lang]")?.lang) ?? ["en"];
  loading[language] ??= fetchMessages(language);
  loading[language].catch(() => delete loading[language]); // to try again
  return loading[language];
}

async function fetchMessages(language) {
  const response = await fetch(new URL(`locales/${language}.json`, import.meta.url));
  return response.json();
}

export function countText({ counts, tag }, number) {
  const category = number ? new Intl.PluralRules(tag).select(number) : "zero";
  return counts[category].replace("#", number.toLocaleString(tag));
}

export async function showCount(element, number) {
  element.text = countText(await loadMessages(element), number);
}

const UNITS = { minute: 60, hour: 24, day: 7, week: 4.35, month: 12, year: Infinity };

/** Show in a <time> how long ago it is */
export function showRelativeTime({ tag }, time) {
  const date = new Date(time.dateTime);
  let elapsed = (Date.now() - date) / 60_000;
  for (const [unit, limit] of Object.entries(UNITS)) {
    if (elapsed < limit) {
      const number = Math.trunc(elapsed);
      const numeric = number ? "always" : "auto";
      time.textContent = new Intl.RelativeTimeFormat(tag, { numeric }).format(-number, unit);
      break;
    }
    elapsed /= limit;
  }
  time.title = date.toLocaleString(tag, { dateStyle: "long", timeStyle: "short" });
}
