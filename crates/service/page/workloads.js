// The targets of scaling: replicas, floor, the count of a plain HPA, load and forecast.

import { ADVICE } from "./advice.js";
import { go, h, keyed, mark, place, setText } from "./dom.js";
import { NONE, UNKNOWN, amount, count, number } from "./format.js";
import { state, targetKey } from "./state.js";

const SHOWN = 200;
const choice = { text: "", show: "all", sort: "problems", more: 1 };
let parts = null;

const SHOW = {
  all: ["All", () => true],
  floors: ["With a floor", (target) => target.floor !== null],
  problems: ["With a problem", (target) => target.problems.length > 0],
};

export const workloads = {
  id: "workloads",
  title: "Workloads",
  parts: ["targets"],

  mount(main) {
    const body = h("tbody", {});
    const summary = h("p", { class: "summary" });
    const empty = h("p", { class: "empty" });
    const more = h("button", { type: "button", onclick: () => { choice.more += 1; draw(); } }, "Show more");
    const columns = ["Workload", "State", "Replicas", "Floor", "Plain HPA", "Load", "Forecast", "Mode"];
    main.append(
      h("div", { class: "tools" },
        h("label", {}, "Filter", h("input", {
          type: "search", id: "workload-filter", placeholder: "Namespace or name", autocomplete: "off", spellcheck: "false",
          oninput: (event) => { choice.text = event.target.value.trim().toLowerCase(); draw(); },
        })),
        h("label", {}, "Show", h("select", { onchange: (event) => { choice.show = event.target.value; draw(); } },
          Object.entries(SHOW).map(([value, [text]]) => h("option", { value, selected: choice.show === value }, text)))),
        h("label", {}, "Sort", h("select", { onchange: (event) => { choice.sort = event.target.value; draw(); } },
          [["problems", "Problems first"], ["name", "By name"], ["replicas", "Most replicas first"]]
            .map(([value, text]) => h("option", { value, selected: choice.sort === value }, text))))),
      summary, empty,
      h("div", { class: "scroll cards", tabindex: 0, role: "region", "aria-label": "Workloads" },
        h("table", { class: "list" }, h("caption", { class: "hidden" }, "Workloads that Evenkeel scales or watches"),
          h("thead", {}, h("tr", {}, columns.map((text, index) =>
            h("th", { scope: "col", class: index >= 2 && index <= 6 ? "number" : null }, text)))),
          body)),
      more,
      h("p", { class: "note" }, "Floor: the HPA’s minReplicas while Evenkeel raises it. Plain HPA: the count by the HPA’s formula for the "
        + "newest load, without floor, tolerance and stabilisation."));
    parts = { body, summary, empty, more };
    choice.more = 1;
    draw();
  },

  unmount() {
    parts = null;
  },

  update() {
    draw();
  },

  /** The place of the target that is worth a look first. */
  first() {
    const target = sorted()[0];
    return target && targetPlace(target);
  },
};

export function targetPlace(target) {
  return place("workloads", target.namespace, target.object.kind, target.object.name);
}

function sorted() {
  const { text, show, sort } = choice;
  const found = [...state.targets.values()].filter((target) =>
    (!text || `${target.namespace}/${target.workload.name} ${target.object.name}`.toLowerCase().includes(text)) && SHOW[show][1](target));
  const rank = {
    problems: (target) => target.problems.length * 2 + (target.floor !== null ? 1 : 0),
    replicas: (target) => target.current ?? -1,
    name: () => 0,
  }[sort];
  return found.sort((a, b) => rank(b) - rank(a) || targetKey(a).localeCompare(targetKey(b), "en", { numeric: true }));
}

/** The reason of a condition, or its type where only that has an entry in the advice. */
function problemName({ type, reason }) {
  return Object.hasOwn(ADVICE, reason) ? reason : type;
}

function draw() {
  if (!parts) return;
  const all = [...state.targets.values()];
  const found = sorted();
  const shown = found.slice(0, SHOWN * choice.more);
  setText(parts.summary, !state.known ? "" : `${count(all.length, "workload", "workloads")}, ${all.filter(SHOW.floors[1]).length} with a floor, `
    + `${all.filter(SHOW.problems[1]).length} with a problem`);
  setText(parts.empty, !state.known ? UNKNOWN : all.length === 0
    ? "No workload is scaled or watched. Opt in a namespace (kubectl annotate namespace NAME evenkeel.dev/enabled=true) that has an HPA."
    : found.length === 0 ? "No workload matches the filter." : "");
  parts.more.hidden = found.length <= shown.length;
  keyed(parts.body, shown, targetKey, row, fill);
}

function row(target) {
  return h("tr", {}, h("th", { scope: "row" }, go(targetPlace(target), `${target.namespace}/${target.workload.name}`)), h("td", { "data-label": "State" }),
    ...["Replicas", "Floor", "Plain HPA", "Load", "Forecast"].map((label) => h("td", { class: "number", "data-label": label })),
    h("td", { "data-label": "Mode" }));
}

function fill(element, target) {
  if (element.target === target) return;
  element.target = target;
  const [, status, replicas, floor, plain, load, forecast, mode] = element.children;
  setText(mode, target.mode);
  setText(replicas, `${number(target.current)} (${number(target.min)} to ${number(target.max)})`);
  setText(floor, number(target.floor));
  setText(plain, number(target.plainHpa));
  setText(load, target.load ? amount(target.load.now, target.load.unit) : NONE);
  setText(forecast, target.load?.forecast != null ? amount(target.load.forecast, target.load.unit) : NONE);
  const [kind, text] = target.problems.length > 0
    ? ["bad", problemName(target.problems[0]) + (target.problems.length > 1 ? ` and ${target.problems.length - 1} more` : "")]
    : target.floor !== null ? ["good", "floor raised"] : ["good", "in order"];
  status.replaceChildren(mark(kind, text));
}
