// What the reader's browser keeps for us

const PREFIX = "commentsvc:";

/** localStorage as JSON. Where it is forbidden or full, nothing is kept. */
export const storage = {
  get(name) {
    try {
      return JSON.parse(localStorage[PREFIX + name]);
    } catch {}
  },

  /** Keep a value; undefined removes it. */
  set(name, value) {
    try {
      if (value) localStorage[PREFIX + name] = JSON.stringify(value);
      else delete localStorage[PREFIX + name];
    } catch {}
  },
};
