// Looks at every control of the widget, and returns what a reader cannot see or use

const CONTROLS = "button, select, summary, textarea, input, a.commentsvc-link";
const ROOTS = "comment-thread, comment-corrections, comment-search, page-reactions, latest-comments, popular-pages, comment-count, page-views";
const STATES = { rest: [], hover: ["hover"], focus: ["focus", "focus-visible"], press: ["hover", "active"] };

/** Let attributes stand for what a pointer and the focus do, so that all controls can be in one state. */
const withoutPointer = (css) => css.replace(/(?<!\\):(hover|active|focus(-visible|-within)?)(?![-\w])/g, "[data-$1]");

/** Replace the widget's stylesheets by their texts, in the same order. */
function takeOver(texts) {
  for (const link of document.querySelectorAll("head > [rel=stylesheet]")) {
    link.after(Object.assign(document.createElement("style"), { textContent: withoutPointer(texts[link.href]) }));
    link.disabled = true;
  }
  const still = "*, ::before, ::after { transition: none !important; animation: none !important }";
  for (const [id, textContent] of [["theme", ""], ["still", still]]) {
    document.head.append(Object.assign(document.createElement("style"), { id, textContent }));
  }
}

/** Return the faults in all states under the stylesheet `css`. */
function wear(css) {
  const theme = document.querySelector("#theme");
  if (theme.textContent != css) theme.textContent = withoutPointer(css);
}

function lookAt() {
  const faults = [];
  let still;
  for (const [state, names] of Object.entries(STATES)) {
    for (const element of document.querySelectorAll("*")) {
      const isControl = element.matches(CONTROLS);
      for (const name of ["hover", "active", "focus", "focus-visible"]) {
        element.toggleAttribute("data-" + name, names.includes(name) && (isControl || !name.startsWith("focus")));
      }
    }
    const seen = measure(state);
    faults.push(...seen.faults);
    still ??= seen.positions;
    const moved = seen.positions.findIndex((position, index) => position != still[index]);
    if (moved >= 0) faults.push(`${state}: moved: ${still[moved]} -> ${seen.positions[moved]}`);
  }
  return faults;
}

function measure(state) {
  const faults = [];
  const roots = [...document.querySelectorAll(ROOTS)];
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();

  /** Return red, green, blue and alpha of a computed colour, from 0 to 1. */
  function parse(color) {
    if (!known.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(color, [r / 255, g / 255, b / 255, a / 255]);
    }
    return known.get(color);
  }

  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a), 1];

  function luminance(color) {
    const [r, g, b] = color.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function contrast(one, other) {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  }

  const probe = document.createElement("i");
  probe.style.cssText = "all: initial; color: Canvas !important";
  document.documentElement.append(probe);
  const root = parse(getComputedStyle(probe).color);
  probe.remove();

  /** Return all colours that are behind the text of an element: a gradient has several. */
  function behind(element) {
    const layers = [];
    for (let node = element; node; node = node.parentElement) {
      const pseudo = node == document.body ? [getComputedStyle(node, "::before")] : [];
      for (const style of [...pseudo, getComputedStyle(node)]) {
        if (style.content == "none" || (pseudo.includes(style) && style.position != "fixed")) continue;
        const stops = style.backgroundImage.match(/(?:rgba?|oklch|oklab|color)\([^()]*\)/g) ?? [];
        if (stops.length) layers.push(stops.map(parse));
        const color = parse(style.backgroundColor);
        if (color[3]) layers.push([color]);
      }
    }
    let found = [root];
    for (const stops of layers.reverse()) found = stops.flatMap((stop) => found.map((under) => over(stop, under)));
    return found;
  }

  function opacity(element) {
    let product = 1;
    for (let node = element; node; node = node.parentElement) product *= Number(getComputedStyle(node).opacity);
    return product;
  }

  const name = (element) => `${element.tagName.toLowerCase()}.${element.className?.baseVal ?? element.className}[${element.getAttribute("name") ?? ""}] "${(element.textContent || element.value || element.title || "").slice(0, 20)}"`;
  const say = (element, text) => faults.push(`${state}: ${name(element)}: ${text}`);
  const worst = (color, element, layers = behind(element)) => {
    const [r, g, b, a] = parse(color);
    return Math.min(...layers.map((under) => contrast(over([r, g, b, a * opacity(element)], under), under)));
  };
  const isShown = (element) => {
    const { width, height } = element.getBoundingClientRect();
    return element.checkVisibility({ visibilityProperty: true }) && width && height && !element.closest(".commentsvc-status, [class$=form] > :empty");
  };
  const all = roots.flatMap((each) => [...each.querySelectorAll("*")]);
  const inText = (element) => element.closest(".commentsvc-body") && !element.matches(".commentsvc-body");
  const shown = all.filter((element) => isShown(element) && !inText(element) && !element.closest("option"));
  const controls = shown.filter((element) => element.matches(CONTROLS));
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType == 3 && node.data.trim());

  const needed = 4.5;
  const page = worst(getComputedStyle(roots[0].parentElement).color, roots[0].parentElement);
  for (const element of shown) {
    const style = getComputedStyle(element);
    if (element.matches(".commentsvc-avatar, .commentsvc-body, [type=checkbox], [type=radio]")) continue;
    if (hasText(element) || element.matches("svg, input, textarea, select")) {
      const color = element.matches("svg") ? style.stroke : style.webkitTextFillColor;
      const value = worst(color, element);
      if (value < Math.min(needed, page)) say(element, `contrast ${value.toFixed(2)} ${color}, of the page ${page.toFixed(2)}`);
      if (element.placeholder && worst(getComputedStyle(element, "::placeholder").color, element) < Math.min(needed, page)) say(element, "placeholder");
    }
    if (hasText(element) && !element.matches("sup, sup *")) {
      const ratio = parseFloat(style.lineHeight) / parseFloat(style.fontSize);
      if (!(ratio >= 1.25 && ratio <= 1.85)) say(element, `line height ${style.lineHeight} of ${style.fontSize}`);
    }
    if (element.matches("time") && page >= needed && worst(style.color, element) > page + 0.3) say(element, `date is brighter: ${worst(style.color, element)} ${page}`);
    for (const pseudo of ["::before", "::after"]) {
      const { content } = getComputedStyle(element, pseudo);
      if (!["none", "normal"].includes(content) && element.className) say(element, pseudo + content);
    }
  }

  const visibleEdge = (element) => {
    const style = getComputedStyle(element);
    const layers = behind(element.parentElement);
    const sides = ["Top", "Right", "Bottom", "Left"].map((side) => style[`border${side}Style`] != "none" && parseFloat(style[`border${side}Width`]) >= 1 && worst(style[`border${side}Color`], element, layers));
    return Math.max(sides.every(Boolean) ? Math.min(...sides) : 0, worst(style.backgroundColor, element, layers));
  };
  for (const element of controls) {
    const style = getComputedStyle(element);
    const { width, height, left, right, top, bottom } = element.getBoundingClientRect();
    if (width < 23.9 || height < 23.9) say(element, `is small: ${width} ${height}`);
    const field = element.matches("textarea, input:not([type=checkbox], [type=radio]), select.commentsvc-input");
    if (element.type == "file") say(element, "raw file field");
    if (element.matches(".commentsvc-button")) {
      const range = document.createRange();
      range.selectNodeContents(element);
      const text = range.getBoundingClientRect();
      const off = [text.left + text.right - left - right, text.top + text.bottom - top - bottom];
      if (off.some((twice) => Math.abs(twice) > 4)) say(element, `text is not in the middle: ${off}`);
    }
    if (style.pointerEvents == "none" && !element.disabled) say(element, "cannot be pressed");
    for (const text of element.matches("label input") ? element.closest("label").childNodes : []) {
      if (text.nodeType != 3 || !text.data.trim()) continue;
      const range = document.createRange();
      range.selectNodeContents(text);
      const covered = [...range.getClientRects()].some((box) => Math.min(box.right, right) - Math.max(box.left, left) > 1 && Math.min(box.bottom, bottom) - Math.max(box.top, top) > 1);
      if (covered) say(element, "covers its label");
    }
    if (field || element.matches(".commentsvc-form .commentsvc-button")) {
      const box = element.matches(".commentsvc-editor > textarea") ? element.parentElement : element;
      const edge = visibleEdge(box);
      if (edge < 3) say(element, `edge ${edge.toFixed(2)}`);
    }
    const isAtWords = element.matches(".commentsvc-at-words"); // it is where words of the article are
    const thread = element.closest(isAtWords ? "article" : `dialog, ${ROOTS}`).getBoundingClientRect();
    if (left < thread.left - 1 || right > thread.right + 1) say(element, `is outside: ${left} ${right} of ${thread.left} ${thread.right}`);
    if (!element.matches("select, input, textarea") && element.scrollWidth > element.clientWidth + 2 && style.display != "inline" && element.clientWidth) say(element, `text is wider: ${element.scrollWidth} > ${element.clientWidth}`);
    if (state == "focus" && !element.disabled) {
      const box = element.matches(".commentsvc-editor > textarea") ? element.parentElement : element;
      const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element);
      const ring = outlineStyle != "none" && parseFloat(outlineWidth) >= 2 ? worst(outlineColor, box.parentElement) : 0;
      if (Math.max(ring, box == element ? 0 : visibleEdge(box)) < 3) say(element, `focus ring ${ring} ${outlineStyle} ${outlineWidth} ${outlineColor}`);
    }
  }

  // Fields of a row have one width, and all of a form one height
  for (const form of document.querySelectorAll(".commentsvc-form")) {
    const fields = [...form.querySelectorAll("input.commentsvc-input, select.commentsvc-input")].filter(isShown);
    const boxes = fields.map((field) => field.getBoundingClientRect());
    const heights = boxes.map(({ height }) => height);
    if (Math.max(...heights) - Math.min(...heights) > 1.5) faults.push(`${state}: heights ${heights}`);
    const row = boxes.slice(0, 3).filter(({ top }) => Math.abs(top - boxes[0].top) < 2).map(({ width }) => width);
    if (Math.max(...row) - Math.min(...row) > 1.5) faults.push(`${state}: widths ${row}`);
  }
  for (const thread of document.querySelectorAll("comment-thread")) {
    const before = thread.previousElementSibling;
    if (before) {
      const gap = thread.getBoundingClientRect().top - before.getBoundingClientRect().bottom;
      const inner = thread.querySelector(".commentsvc-bar, .commentsvc-button")?.getBoundingClientRect().top - thread.getBoundingClientRect().top || 0;
      if (gap + inner < 15) faults.push(`${state}: space above ${gap} ${inner}`);
    }
    const items = [...thread.querySelectorAll(".commentsvc-list > .commentsvc-comment")].map((item) => item.getBoundingClientRect());
    items.slice(1).forEach((item, index) => item.top - items[index].bottom < 8 && faults.push(`${state}: space between comments ${item.top - items[index].bottom}`));
  }
  const positions = controls.map((element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    return [name(element), Math.round(left), Math.round(top + scrollY), Math.round(width), Math.round(height)].join(" ");
  });
  return { faults, positions };
}

/** Set a colour scheme in all the ways in which themes do, and a direction with it. */
function setScheme(scheme) {
  const root = document.documentElement;
  root.dir = scheme == "light" ? "ltr" : "rtl";
  root.className = scheme;
  for (const name of ["theme", "scheme", "colorScheme", "bsTheme"]) root.dataset[name] = scheme;
  document.body.className = `${scheme} colorscheme-${scheme}`;
}
