// The HPAs of all namespaces, those that Evenkeel does not touch among them, and why one has its count.

import { fetchJson } from "./api.js";
import { facts, go, h, keyed, mark, place, setText, table } from "./dom.js";
import { NONE, count, number, sentence, timeOfDay, millis } from "./format.js";
import { state } from "./state.js";

const SHOWN = 200;
/** The least time between two reads of the list. */
const PACE = 5000;
/** The same for an explanation, which reads the API server: as often as the HPA controller decides by default. */
const EXPLANATION_PACE = 15000;

const choice = { text: "", show: "all", more: 1 };
let parts = null;
const list = { hpas: null, read: 0, reading: false, failure: "" };

const SHOW = {
  all: ["All", () => true],
  "not-opted-in": ["Not opted in", (hpa) => !hpa.optedIn],
  watch: ["Worth a look", (hpa) => warning(hpa) !== null],
};

export const hpas = {
  id: "hpas",
  title: "HPAs",
  parts: ["time"],

  mount(main) {
    const body = h("tbody", {});
    const summary = h("p", { class: "summary" });
    const empty = h("p", { class: "empty" });
    const failure = h("p", { class: "failure", role: "alert" });
    const more = h("button", { type: "button", onclick: () => { choice.more += 1; draw(); } }, "Show more");
    main.append(
      h("div", { class: "tools" },
        h("label", {}, "Filter", h("input", {
          type: "search", id: "hpa-filter", placeholder: "Namespace or name", autocomplete: "off", spellcheck: "false",
          oninput: (event) => { choice.text = event.target.value.trim().toLowerCase(); draw(); },
        })),
        h("label", {}, "Show", h("select", { onchange: (event) => { choice.show = event.target.value; draw(); } },
          Object.entries(SHOW).map(([value, [text]]) => h("option", { value, selected: choice.show === value }, text))))),
      summary, failure, empty,
      h("div", { class: "scroll cards", tabindex: 0, role: "region", "aria-label": "HPAs" },
        h("table", { class: "list" }, h("caption", { class: "hidden" }, "HPAs of all namespaces"),
          h("thead", {}, h("tr", {}, ["HPA", "State", "Target", "Replicas", "Decided", "Bounds", "Evenkeel"].map((text, index) =>
            h("th", { scope: "col", class: index >= 3 && index <= 5 ? "number" : null }, text)))),
          body)),
      more,
      h("p", { class: "note" }, "As each HPA reports itself. Open one to see why it has its count."));
    parts = { body, summary, empty, failure, more };
    choice.more = 1;
    draw();
    read();
  },

  unmount() {
    parts = null;
  },

  update() {
    if (performance.now() - list.read > PACE) read();
  },
};

async function read() {
  // An older answer must not overwrite a newer one.
  if (list.reading) return;
  list.reading = true;
  try {
    const { synced, hpas: all } = await fetchJson("api/v1/hpas");
    list.hpas = synced ? all : null;
    list.failure = "";
  } catch (error) {
    list.failure = error.message;
  }
  list.reading = false;
  list.read = performance.now();
  draw();
}

function warning(hpa) {
  if (hpa.active === false) return hpa.current === 0 ? null : "does not scale";
  return hpa.desired !== null && hpa.desired >= hpa.max && hpa.min < hpa.max ? "at its maximum" : null;
}

function draw() {
  if (!parts) return;
  const all = list.hpas ?? [];
  const found = all.filter((hpa) => (!choice.text || `${hpa.namespace}/${hpa.name}`.toLowerCase().includes(choice.text)) && SHOW[choice.show][1](hpa));
  const shown = found.slice(0, SHOWN * choice.more);
  setText(parts.failure, list.failure);
  setText(parts.summary, list.hpas === null ? "" : `${count(all.length, "HPA", "HPAs")}, ${all.filter(SHOW["not-opted-in"][1]).length} in namespaces that have not opted in, `
    + `${all.filter(SHOW.watch[1]).length} worth a look`);
  setText(parts.empty, list.hpas === null ? (list.failure ? "" : "Evenkeel is still listing the HPAs.")
    : all.length === 0 ? "The cluster has no HPA." : found.length === 0 ? "No HPA matches the filter." : "");
  parts.more.hidden = found.length <= shown.length;
  keyed(parts.body, shown, (hpa) => `${hpa.namespace}/${hpa.name}`, row, fill);
}

function row(hpa) {
  return h("tr", {}, h("th", { scope: "row" }, go(place("hpas", hpa.namespace, hpa.name), `${hpa.namespace}/${hpa.name}`)), h("td", { "data-label": "State" }),
    h("td", { "data-label": "Target" }), ...["Replicas", "Decided", "Bounds"].map((label) => h("td", { class: "number", "data-label": label })), h("td", { "data-label": "Evenkeel" }));
}

function fill(element, hpa) {
  const [, status, target, current, desired, bounds, opted] = element.children;
  const text = warning(hpa);
  const [kind, words] = text ? [hpa.active === false ? "bad" : "warn", text] : hpa.active === null ? ["quiet", "not reported"]
    : hpa.active ? ["good", "scales"] : ["quiet", "paused at 0 replicas"];
  if (!status.textContent.endsWith(words)) status.replaceChildren(mark(kind, words));
  setText(target, hpa.target);
  setText(current, number(hpa.current));
  setText(desired, number(hpa.desired));
  setText(bounds, `${hpa.min} to ${hpa.max}`);
  setText(opted, hpa.optedIn ? "opted in" : "not opted in");
}

/** The details of one HPA: the decision of its controller's algorithm on what the service reads now. */
export function hpaDetails(route, content) {
  return {
    parts: ["time"],
    pace: EXPLANATION_PACE,
    concerns: () => true,
    async load(isOpen) {
      const found = await fetchJson("api/v1/hpas/explain", { namespace: route.namespace, name: route.name });
      if (isOpen()) content.replaceChildren(explanation(found, route));
    },
  };
}

function explanation(found, route) {
  const target = [...state.targets.values()].find((one) => one.namespace === route.namespace && one.object.name === route.name
    && one.object.kind === "HorizontalPodAutoscaler");
  const [least, most] = found.tolerance;
  return h("div", {},
    found.summary.map((text) => h("p", { class: "why" }, text)),
    found.boundsSetBy.map((text) => h("p", {}, text)),
    facts([
      ["Read", timeOfDay(millis(found.at))],
      ["Target", found.target],
      ["Bounds", `${found.minReplicas} to ${found.maxReplicas}`],
      ["Tolerance", `ratios from ${number(least, 3)} to ${number(most, 3)} have no effect`],
      ["Last change", found.lastScaleTime ? timeOfDay(millis(found.lastScaleTime)) : null],
      ["Evenkeel", target ? go(place("workloads", route.namespace, "HorizontalPodAutoscaler", route.name), "load, forecast and floor") : "does not scale it"],
    ]),
    h("h3", {}, "Metrics"),
    table("Metrics", ["Metric", "Now", "Target", "Ratio", "Asks for", "Controller saw"], found.metrics.map((metric) =>
      [metric.isDeciding ? `${metric.name} (decides)` : metric.name, metric.current ?? NONE, metric.target, number(metric.adjustedRatio ?? metric.ratio, 3),
        metric.replicas === null ? metric.error ?? NONE : String(metric.replicas), metric.reported ?? NONE]), { numbers: [1, 2, 3, 4, 5] }),
    found.metrics.filter((metric) => metric.pods.length > 0).map(pods),
    found.directions.length > 0 ? [h("h3", {}, "Windows and policies"), table("Windows and policies", ["Direction", "Window", "Policies", "Select", "Next step to"],
      found.directions.map((one) => [one.direction, `${one.windowSeconds} s`, one.policies.map(({ policy, limit }) => `${policy} to ${limit}`).join(", ") || "none",
        one.selectPolicy ?? NONE, String(one.limit)]), { numbers: [1, 4] })] : null,
    found.conditions.length > 0 ? [h("h3", {}, "Conditions last reported by the controller"), table("Conditions", ["Condition", "Status", "Reason", "Meaning"],
      found.conditions.map((one) => [one.type, one.status, one.reason, sentence(one.meaning)]))] : null,
    found.unknown.length > 0 ? [h("h3", {}, "Not known from outside"), h("ul", { class: "plain" }, found.unknown.map((text) => h("li", {}, text)))] : null);
}

function pods(metric) {
  const sorted = [...metric.pods].sort((a, b) => (a.why === "measured") - (b.why === "measured"));
  return [h("h3", {}, `Pods by ${metric.name}`),
    table(`Pods by ${metric.name}`, ["Pod", "Measured", "Request", "Counts as", "Why"], sorted.slice(0, SHOWN).map((pod) =>
      [pod.pod, pod.measured ?? NONE, pod.request ?? NONE, pod.counted ?? NONE, pod.why]), { numbers: [1, 2, 3] }),
    sorted.length > SHOWN ? h("p", { class: "note" }, `${sorted.length - SHOWN} more Pods are in the JSON.`) : null];
}
