const PREFIX = "commentsvc:";

/** localStorage as JSON; it may be forbidden or full */
export const storage = {
  get(name) {
    try {
      return JSON.parse(localStorage[PREFIX + name]);
    } catch {}
  },

  /** Store a value, or remove it: undefined */
  set(name, value) {
    try {
      if (value) localStorage[PREFIX + name] = JSON.stringify(value);
      else delete localStorage[PREFIX + name];
    } catch {}
  },
};
