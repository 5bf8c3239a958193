// Elements from names, attributes and texts. A text is always a text node, so nothing that comes from
// the cluster can become markup.

/** Makes an element; strings among the children become text. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, String(value));
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    if (Array.isArray(child)) add(element, child);
    else element.append(child);
  }
}

/** Sets a text only if it differs, so that nothing is laid out anew for nothing. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setClass(element, name) {
  if (element.className !== name) element.className = name;
}

/**
 * Brings the children of `parent` into line with `items`. Elements are kept by key, so that focus and
 * scroll position survive; `create` makes one, `update` fills it.
 */
export function keyed(parent, items, key, create, update) {
  const known = (parent.keyedChildren ??= new Map());
  const seen = new Set();
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  let next = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    seen.add(name);
    let element = known.get(name);
    if (!element) known.set(name, (element = create(item)));
    update(element, item);
    if (element === next) next = next.nextElementSibling;
    else parent.insertBefore(element, next);
  }
  for (const [name, element] of known) {
    if (seen.has(name)) continue;
    element.remove();
    known.delete(name);
  }
  if (focused && focused.isConnected && document.activeElement !== focused) {
    focused.focus({ preventScroll: true });
  }
}

/** Tables with more columns than this become cards on a narrow screen. */
const NARROW = 2;
/** A label with a text of more letters than this takes the whole width of a card. */
const LONG = 22;

function isLong(label, cell) {
  return `${label} ${cell?.textContent ?? cell ?? ""}`.length > LONG;
}

/** A table with a caption for screen readers; cells are texts or elements. `numbers` are columns of figures. */
export function table(caption, columns, rows, { numbers = [], className = "" } = {}) {
  const align = (index) => (numbers.includes(index) ? "number" : null);
  const classes = (cell, index) => [align(index), isLong(columns[index], cell) && "long"].filter(Boolean).join(" ") || null;
  return h("div", { class: columns.length > NARROW ? "scroll cards" : "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h("table", { class: className },
      h("caption", { class: "hidden" }, caption),
      h("thead", {}, h("tr", {}, columns.map((column, index) =>
        h("th", { scope: "col", class: align(index) }, column)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, index) =>
        index === 0 ? h("th", { scope: "row", class: align(index) }, cell)
          : h("td", { class: classes(cell, index), "data-label": columns[index] }, cell)))))));
}

/** Pairs of a name and a value. */
export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/** A mark with a shape and a word, so that it does not depend on colour. */
export function mark(kind, text) {
  const shapes = { bad: "▲", warn: "◆", good: "●", quiet: "○" };
  return h("span", { class: `mark ${kind}` }, h("span", { "aria-hidden": "true" }, shapes[kind] ?? "○"), ` ${text}`);
}

/** A link to a place of this page. */
export function go(hash, text, className) {
  return h("a", { href: hash, class: className }, text);
}

/** The address of a place: its parts, each escaped. */
export function place(...parts) {
  return `#${parts.map(encodeURIComponent).join("/")}`;
}
