// The nodes as tiles. The more there are, the smaller a tile: with figures, with bars and a name, or as
// five bars alone, which are one element. Every state has a word or a shape beside its colour.

import { h, place, setClass, setText } from "./dom.js";
import { RESOURCES, UNKNOWN, count, percent, title } from "./format.js";
import { changedNodes, ratio, state } from "./state.js";

/** The most nodes that are shown with figures, and with a name. */
const LARGE = 60;
const MEDIUM = 400;
/** A sorted list is sorted again this often, so that tiles do not jump. */
const SORT_EVERY = 5000;
/** Milliseconds of a frame in which tiles are written. */
const BUDGET = 6;
/** Tiles that are written in a frame, because each is styled and painted anew. */
const MOST = 60;

const choice = { text: "", show: "all", sort: "fullest" };
let parts = null;
/** The names of the shown nodes, and the place of each. */
let order = [];
let places = new Map();
/** Places whose tile is to be written. */
const dirty = new Set();
/** Where the next frame goes on. Neighbours are written together, because they are painted together. */
let cursor = 0;
/** Tiles on the screen. */
const seen = new Set();
const visible = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting) seen.add(entry.target);
    else seen.delete(entry.target);
  }
}, { rootMargin: "200px" });
let frame = 0;
let sortedAt = 0;
let summarisedAt = 0;
let timer = 0;

const SHOW = {
  all: ["All nodes", () => true],
  over: ["Over the line", (node) => node.over.length > 0],
  tainted: ["Tainted or closed", (node) => node.overload || node.tainted || !node.schedulable],
  unmeasured: ["Measurement missing", (node) => node.estimated],
};

export const nodes = {
  id: "nodes",
  title: "Nodes",
  parts: ["nodes"],

  mount(main) {
    const line = h("span", { class: "line-sample", "aria-hidden": "true" });
    const summary = h("p", { class: "summary" });
    const grid = h("div", { class: "grid", role: "group", "aria-label": "Nodes", onkeydown: move });
    const empty = h("p", { class: "empty" });
    const lineText = h("span", {});
    main.append(
      h("div", { class: "tools" },
        h("label", {}, "Filter", h("input", {
          type: "search", id: "node-filter", placeholder: "Name contains", autocomplete: "off", spellcheck: "false",
          oninput: (event) => choose({ text: event.target.value.trim() }),
        })),
        select("Show", "show", Object.entries(SHOW).map(([value, [text]]) => [value, text])),
        select("Sort", "sort", [["fullest", "Fullest first"], ["name", "By name"],
          ...RESOURCES.map((resource) => [resource, `Fullest by ${title(resource)}`])]),
      ),
      summary,
      h("p", { class: "legend" },
        h("span", {}, line, lineText),
        h("span", {}, h("i", { class: "key over", "aria-hidden": "true" }, "▲"), "over the line"),
        h("span", {}, h("i", { class: "key taint", "aria-hidden": "true" }, "◆"), "tainted or closed"),
        h("span", {}, h("i", { class: "key unmeasured", "aria-hidden": "true" }, "~"), "a measurement is missing: requests count"),
        h("span", { class: "bar-order" }, `Bars: ${RESOURCES.map(title).join(", ")}`)),
      empty, grid);
    parts = { summary, grid, empty, lineText };
    order = [];
    places = new Map();
    sortedAt = 0;
    timer = setInterval(() => draw(false), SORT_EVERY);
    draw(true);
  },

  unmount() {
    clearInterval(timer);
    visible.disconnect();
    seen.clear();
    dirty.clear();
    parts = null;
  },

  update() {
    draw(false);
  },
};

function select(label, name, options) {
  return h("label", {}, label, h("select", {
    onchange: (event) => choose({ [name]: event.target.value }),
  }, options.map(([value, text]) => h("option", { value, selected: choice[name] === value }, text))));
}

function choose(change) {
  Object.assign(choice, change);
  draw(true);
}

function sorted() {
  const text = choice.text.toLowerCase();
  const shown = [...state.nodes.values()].filter((node) =>
    (!text || node.name.toLowerCase().includes(text)) && SHOW[choice.show][1](node));
  const byName = (a, b) => a.name.localeCompare(b.name, "en", { numeric: true });
  const share = (node) => choice.sort === "fullest" ? node.fullest : ratio(node.resources[choice.sort]) ?? -1;
  return shown.sort((a, b) =>
    (choice.sort === "name" ? 0 : share(b) - share(a)) || byName(a, b)).map((node) => node.name);
}

function size(total) {
  return total <= LARGE ? "large" : total <= MEDIUM ? "medium" : total <= 1500 ? "small" : "tiny";
}

function draw(sorts) {
  if (!parts) return;
  const isGone = (name) => places.has(name) && !state.nodes.has(name);
  const now = sorts || order.length === 0 || [...changedNodes].some(isGone);
  // Tiles do not move under a pointer or under the focus, unless a node is gone.
  const busy = parts.grid.contains(document.activeElement) || parts.grid.matches(":hover");
  if (now || (!busy && performance.now() - sortedAt > SORT_EVERY)) {
    order = sorted();
    sortedAt = performance.now();
    arrange();
  }
  for (const name of changedNodes) {
    const index = places.get(name);
    if (index !== undefined) dirty.add(index);
    else if (state.nodes.has(name) && !busy) sortedAt = 0;
  }
  changedNodes.clear();
  schedule();
}

/** Decides which tile shows which node. Tiles stay where they are; only their content changes. */
function arrange() {
  const { grid } = parts;
  const wanted = size(state.nodes.size);
  if (grid.dataset.size !== wanted) {
    visible.disconnect();
    grid.replaceChildren();
    seen.clear();
    grid.dataset.size = wanted;
  }
  while (grid.childElementCount > order.length) {
    visible.unobserve(grid.lastElementChild);
    seen.delete(grid.lastElementChild);
    grid.lastElementChild.remove();
  }
  if (grid.firstElementChild && !grid.querySelector('[tabindex="0"]')) grid.firstElementChild.tabIndex = 0;
  const before = places;
  places = new Map(order.map((name, index) => [name, index]));
  order.forEach((name, index) => { if (before.get(name) !== index) dirty.add(index); });
  for (const index of dirty) if (index >= order.length) dirty.delete(index);
}

function schedule() {
  if (frame || !parts) return;
  frame = requestAnimationFrame(work);
}

/** Makes and fills tiles for a few milliseconds, those on the screen first; the rest waits for the next frame. */
function work() {
  frame = 0;
  if (!parts) return;
  const end = performance.now() + BUDGET;
  const { grid } = parts;
  const create = grid.dataset.size === "large" ? largeTile : smallTile;
  const tiles = grid.children;
  let left = MOST;
  while (tiles.length < order.length && left > 0 && performance.now() < end) {
    left -= 20;
    const fresh = document.createDocumentFragment();
    const first = tiles.length;
    for (let index = first; index < Math.min(order.length, first + 20); index += 1) {
      const tile = create();
      tile.tabIndex = index === 0 ? 0 : -1;
      visible.observe(tile);
      show(tile, index);
      fresh.append(tile);
    }
    grid.append(fresh);
  }
  for (const onScreen of [true, false]) {
    const from = cursor;
    for (let step = 0; step < order.length && left > 0 && performance.now() < end; step += 1) {
      const index = (from + step) % order.length;
      const tile = dirty.has(index) && tiles[index];
      if (!tile || (onScreen && !seen.has(tile))) continue;
      show(tile, index);
      cursor = index + 1;
      left -= 1;
    }
  }
  if (performance.now() - summarisedAt > 250 || dirty.size === 0) {
    summarisedAt = performance.now();
    summarise();
  }
  if (dirty.size > 0 || tiles.length < order.length) schedule();
}

function show(tile, index) {
  dirty.delete(index);
  const found = state.nodes.get(order[index]);
  if (found) fill(tile, found);
}

function summarise() {
  const all = [...state.nodes.values()];
  const of = (name) => all.filter(SHOW[name][1]).length;
  const line = percent(state.headroom);
  setText(parts.lineText, `the ${line} line: Evenkeel refuses a node that a Pod would bring to it`);
  setText(parts.summary, !state.known ? "" : `${count(all.length, "node", "nodes")}, ${of("over")} over the ${line} line, `
    + `${of("tainted")} tainted or closed, ${of("unmeasured")} without a measurement`);
  setText(parts.empty, !state.known ? UNKNOWN : all.length === 0
    ? !state.synced ? "Evenkeel is still listing the cluster." : "No node is known yet."
    : order.length === 0 ? "No node matches the filter." : "");
}

/** The state of a node in words. */
export function nodeState(node) {
  const found = [];
  if (node.over.length > 0) found.push(`over the line: ${node.over.map(title).join(", ")}`);
  if (node.overload) found.push("tainted by Evenkeel");
  else if (node.tainted) found.push("tainted");
  if (!node.schedulable) found.push("closed: not ready or cordoned");
  if (node.estimated) found.push("a measurement is missing");
  return found.length > 0 ? found.join("; ") : "in order";
}

function marks(node) {
  return (node.over.length > 0 ? "▲" : "") + (node.overload || node.tainted || !node.schedulable ? "◆" : "")
    + (node.estimated ? "~" : "");
}

function states(node) {
  return [node.over.length > 0 && "is-over", (node.overload || node.tainted || !node.schedulable) && "is-tainted",
    node.estimated && "is-unmeasured"].filter(Boolean).join(" ");
}

function smallTile() {
  const tile = h("a", { class: "tile" }, h("span", { class: "tile-mark", "aria-hidden": "true" }), h("span", { class: "tile-name" }),
    h("span", { class: "tile-bars", "aria-hidden": "true" }));
  const [mark, name, bars] = tile.children;
  tile.own = { mark, name, bars };
  return tile;
}

function largeTile() {
  const name = h("span", { class: "tile-name" });
  const mark = h("span", { class: "tile-mark", "aria-hidden": "true" });
  const status = h("span", { class: "tile-state" });
  const rows = RESOURCES.map((resource) => h("span", { class: "meter-row" }, h("span", { class: "meter-name" }, title(resource)),
    h("span", { class: "meter" }, h("span", { class: "meter-fill" })), h("span", { class: "meter-value" })));
  const tile = h("a", { class: "tile" }, h("span", { class: "tile-head" }, name, mark), status, rows);
  tile.own = { mark, name, status, rows };
  return tile;
}

/** Writes a node into a tile; what is there already is not written again. */
function fill(tile, node) {
  const { mark, name, status, rows, bars } = tile.own;
  const words = nodeState(node);
  const shares = RESOURCES.map((resource) => ratio(node.resources[resource]));
  const label = `${node.name}: ${words}. ${RESOURCES.map((resource, index) => `${title(resource)} ${percent(shares[index])}`).join(", ")}`;
  if (tile.own.label === label) return;
  tile.own.label = label;
  tile.setAttribute("aria-label", label);
  tile.title = label;
  if (name.textContent !== node.name) {
    tile.href = place("nodes", node.name);
    name.textContent = node.name;
  }
  setClass(tile, `tile ${states(node)}`);
  setText(mark, marks(node));
  if (bars) {
    const style = RESOURCES.map((resource, index) => `--v${index}:${(Math.min(1, shares[index] ?? 0) * 100).toFixed(0)}%;`
      + (node.over.includes(resource) ? `--c${index}:var(--bad);` : "")).join("");
    if (tile.own.style !== style) bars.style.cssText = tile.own.style = style;
    return;
  }
  setText(status, words);
  RESOURCES.forEach((resource, index) => {
    const [, meter, value] = rows[index].children;
    const over = node.over.includes(resource);
    setClass(rows[index], `meter-row${over ? " over" : ""}${shares[index] === null ? " unknown" : ""}`);
    meter.firstElementChild.style.transform = `scaleX(${Math.min(1, shares[index] ?? 0).toFixed(3)})`;
    setText(value, `${over ? "▲ " : ""}${percent(shares[index])}`);
  });
}

/** Arrow keys move between the tiles. */
function move(event) {
  const tiles = [...parts.grid.children];
  const here = tiles.indexOf(event.target.closest(".tile"));
  if (here < 0) return;
  const top = tiles[0].offsetTop;
  const columns = Math.max(1, tiles.findIndex((tile) => tile.offsetTop > top + 4));
  const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, Home: -here, End: tiles.length - 1 - here };
  const step = steps[event.key];
  const next = tiles[here + step];
  if (step === undefined || !next) return;
  event.preventDefault();
  event.target.closest(".tile").tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
