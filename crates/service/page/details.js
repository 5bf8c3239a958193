// The details of a node, of a Pod or of a workload, beside the view. Figures come from the service when
// details are opened and when the stream says that they changed; nothing is read from the API server.

import { ADVICE } from "./advice.js";
import { fetchJson } from "./api.js";
import { COLUMN, HistoryCharts } from "./chart.js";
import { facts, go, h, mark, place, setText, table } from "./dom.js";
import { nodeTerms, podExplanation } from "./explain.js";
import { NONE, amount, count, distance, number, percent, sentence, timeOfDay, millis, title, words } from "./format.js";
import { hpaDetails } from "./hpas.js";
import { nodeState } from "./nodes.js";
import { changed, state, targetKey } from "./state.js";

/** The least time between two reads of the same details, where they do not say. */
const PACE = 2000;

/** A Pod that asks for nothing, by which the service explains a node. */
const NO_POD = { kind: "Pod", metadata: { name: "none", namespace: "default" }, spec: { containers: [] } };

let open = null;

/** Shows the details of a place, or closes them without one. */
export function showDetails(aside, route) {
  open?.close?.();
  open = null;
  aside.replaceChildren();
  aside.hidden = !route;
  if (!route) return;
  const content = h("div", { class: "details-content" });
  const failure = h("p", { class: "failure", role: "alert" });
  aside.append(
    h("div", { class: "details-head" },
      h("div", {}, h("p", { class: "kind" }, route.kind), h("h2", { id: "details-title" }, route.title)),
      go(route.back, "Close", "close")),
    failure, content);
  const mine = { ...makers[route.type](route, content), due: false, read: 0 };
  open = mine;
  mine.refresh = async () => {
    // An older answer must not overwrite a newer one.
    if (mine.reading) return;
    mine.reading = true;
    mine.read = performance.now();
    mine.due = false;
    try {
      await mine.load(() => open === mine);
      if (open === mine) setText(failure, "");
    } catch (error) {
      if (open === mine) setText(failure, error.message);
    } finally {
      mine.reading = false;
      mine.read = performance.now();
    }
    if (mine.due) updateDetails(new Set());
  };
  mine.refresh();
}

/** Reads open details anew if `parts` of the state changed, at most every few seconds. */
export function updateDetails(parts) {
  if (!open) return;
  if (open.parts.some((part) => parts.has(part))) open.due = open.due || open.concerns();
  if (!open.due) return;
  const early = (open.pace ?? PACE) - (performance.now() - open.read);
  clearTimeout(open.later);
  const mine = open;
  mine.later = setTimeout(() => { if (open === mine && mine.due) mine.refresh(); }, Math.max(0, early));
}

const makers = {
  node(route, content) {
    let shown = null;
    return {
      parts: ["nodes"],
      concerns: () => state.nodes.get(route.name) !== shown,
      async load(isOpen) {
        shown = state.nodes.get(route.name);
        const explanation = await fetchJson("api/v1/explain", { nodes: route.name }, NO_POD);
        const node = explanation.now.nodes[0];
        if (!isOpen() || !node) return;
        const row = state.nodes.get(route.name);
        const placed = state.placements.filter((one) => one.node === route.name).slice(0, 20);
        const focus = keepOpen(content);
        content.replaceChildren(
          facts([
            ["State", row ? nodeState(row) : NONE],
            ["Open to new Pods", node.schedulable ? "yes" : "no: not ready or cordoned"],
            ["Taint of Evenkeel", row?.overload ?? "none"],
            ["Line", percent(state.headroom)],
          ]),
          h("h3", {}, "Every figure behind a decision"),
          nodeTerms(node, state.headroom, false),
          h("h3", {}, "Pods placed here"),
          placed.length > 0 ? h("ul", { class: "plain" }, placed.map((one) => h("li", {},
            go(place("placements", one.namespace, one.pod), `${one.namespace}/${one.pod}`), `: ${one.reason}`)))
            : h("p", { class: "empty" }, "None among the last 500 placements."));
        focus();
      },
    };
  },

  pod(route, content) {
    return {
      parts: ["placements"],
      entry: null,
      concerns() {
        return find(route)?.sequence !== this.sequence;
      },
      async load(isOpen) {
        const entry = find(route);
        this.sequence = entry?.sequence;
        const explanation = await fetchJson("api/v1/explain", { namespace: route.namespace, pod: route.name });
        if (isOpen()) content.replaceChildren(podExplanation(explanation, entry, state.now));
      },
    };
  },

  target(route, content) {
    return targetDetails(route, content);
  },

  hpa(route, content) {
    return hpaDetails(route, content);
  },
};

function find(route) {
  return state.placements.find((one) => one.namespace === route.namespace && one.pod === route.name);
}

/** Remembers which parts were unfolded, to unfold them again after a new drawing. */
function keepOpen(content) {
  const unfolded = [...content.querySelectorAll("details")].map((one) => one.open);
  return () => [...content.querySelectorAll("details")].forEach((one, index) => { one.open = unfolded[index] ?? false; });
}

function targetDetails(route, content) {
  const replay = new HistoryPlayer();
  const head = h("div", {});
  const rest = h("div", {});
  content.append(head, replay.element, rest);
  const key = targetKey({ namespace: route.namespace, object: { kind: route.object, name: route.name } });
  let shown = null;
  return {
    parts: ["targets"],
    concerns: () => state.targets.get(key) !== shown,
    close: () => replay.close(),
    async load(isOpen) {
      shown = state.targets.get(key);
      const { targets } = await fetchJson("api/v1/scaling", { namespace: route.namespace, name: route.name });
      const target = targets.find((one) => one.object.kind === route.object);
      if (!isOpen()) return;
      if (!target) throw new Error(`${route.object} ${route.namespace}/${route.name} is not a target of Evenkeel.`);
      head.replaceChildren(targetHead(target));
      const focus = keepOpen(rest);
      rest.replaceChildren(...targetRest(target, shown?.problems ?? []));
      focus();
      if (target.loads.length > 0) {
        await replay.load(route, target.loads, isOpen);
      }
    },
  };
}

/** The history of one load, with a slider over its time. */
class HistoryPlayer {
  constructor() {
    this.resource = null;
    this.rows = [];
    this.follows = true;
    this.timer = 0;
    this.charts = new HistoryCharts((index) => this.look(index));
    this.choice = h("select", { onchange: () => { this.resource = this.choice.value; this.again?.().catch(() => changed("targets")); } });
    this.chosen = h("label", { class: "of-load" }, "Load", this.choice);
    this.slider = h("input", { type: "range", min: 0, max: 0, step: 1, id: "time", oninput: () => this.look(Number(this.slider.value)) });
    this.play = h("button", { type: "button", onclick: () => this.toggle() }, "Play");
    this.newest = h("button", { type: "button", onclick: () => { this.stop(); this.follows = true; this.toNow(); } }, "Now");
    this.readout = h("dl", { class: "readout", "aria-live": "off" });
    this.element = h("section", { class: "replay", hidden: true }, this.chosen, this.charts.element,
      h("div", { class: "slider" }, h("label", { for: "time" }, "Time"), this.slider, this.play, this.newest), this.readout,
      h("p", { class: "note" }, "Kept in memory: two hours of load, forecast, replicas, floor and plain HPA, since this replica started. "
        + "Not kept: past conditions and reasons, and the past load of nodes."));
  }

  close() {
    this.stop();
    this.charts.destroy();
  }

  async load(route, loads, isOpen) {
    this.again = () => this.load(route, loads, isOpen);
    const names = loads.map((load) => load.resource);
    this.resource = names.includes(this.resource) ? this.resource : names[0];
    if ([...this.choice.options].map((option) => option.value).join() !== names.join()) {
      this.choice.replaceChildren(...names.map((name) => h("option", { value: name }, title(name))));
    }
    this.choice.value = this.resource;
    this.chosen.hidden = names.length < 2;
    const resource = this.resource;
    const history = await fetchJson("api/v1/scaling/history",
      { namespace: route.namespace, name: route.name, kind: route.object, resource });
    // The reader may have chosen another load meanwhile.
    if (!isOpen() || resource !== this.resource) return;
    const looked = this.rows[Number(this.slider.value)]?.[COLUMN.at];
    this.rows = history.points;
    this.unit = loads.find((load) => load.resource === this.resource)?.unit ?? "";
    this.element.hidden = this.rows.length === 0;
    this.charts.show(this.rows, this.unit, title(this.resource));
    this.slider.max = String(Math.max(0, this.rows.length - 1));
    if (this.follows) this.toNow();
    else this.look(Math.max(0, this.rows.findIndex((row) => row[COLUMN.at] >= looked)));
  }

  /** The newest time with a count: later points are forecasts. */
  toNow() {
    const index = this.rows.findLastIndex((row) => row[COLUMN.replicas] !== null);
    this.look(Math.max(0, index), true);
  }

  look(index, isNow = false) {
    const row = this.rows[index];
    if (!row) return;
    this.follows = isNow;
    this.slider.value = String(index);
    const at = row[COLUMN.at] * 1000;
    const text = `${timeOfDay(at)}, ${distance(new Date(at).toISOString(), state.now)}`;
    this.slider.setAttribute("aria-valuetext", text);
    const value = (column) => amount(row[column], this.unit);
    const band = row[COLUMN.lower] === null ? NONE : `${value(COLUMN.lower)} to ${value(COLUMN.upper)}`;
    this.readout.replaceChildren(...figures([["Time", text], ["Load", value(COLUMN.load)], ["Forecast", value(COLUMN.forecast)], ["80 % band", band],
      ["Replicas", number(row[COLUMN.replicas])], ["Floor", number(row[COLUMN.floor])], ["Plain HPA", number(row[COLUMN.plain])]]).children);
    this.charts.mark(index);
  }

  toggle() {
    if (this.timer) {
      this.stop();
      return;
    }
    // Without motion a replay goes on in large steps.
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    setText(this.play, "Stop");
    let index = 0;
    this.timer = setInterval(() => {
      this.look(index);
      index += calm ? 10 : 1;
      if (index >= this.rows.length) this.stop();
    }, calm ? 1000 : 60);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    setText(this.play, "Play");
  }
}

function targetHead(target) {
  const pairs = [
    ["Decision", number(target.decided)],
    ["Replicas", `${number(target.current)} (${number(target.min)} to ${number(target.max)})`],
    ["Floor", target.floor ? `${target.floor.replicas} until ${timeOfDay(millis(target.floor.until)).slice(0, 5)}` : "not raised"],
    ["Plain HPA", number(target.plainHpa)],
    ["Limited by", target.limitedBy ? words(target.limitedBy) : "nothing"],
    ["Mode", target.mode],
    ["Based on", target.grounds],
    ["Past read", target.refill],
  ];
  const isHpa = target.object.kind === "HorizontalPodAutoscaler";
  return h("div", {}, h("p", { class: "why" }, sentence(target.reason)), figures(pairs),
    isHpa ? h("p", {}, go(place("hpas", target.namespace, target.object.name), "Why the HPA has its count")) : null);
}

/** Short figures side by side. */
function figures(pairs) {
  return h("dl", { class: "readout" }, pairs.map(([name, shown]) => h("div", {}, h("dt", {}, name), h("dd", {}, shown))));
}

function targetRest(target, problems) {
  return [
    h("h3", {}, "Conditions and what to do"),
    target.conditions.length > 0 ? h("div", { class: "conditions" }, target.conditions.map((one) => advised(one, problems.some(({ type }) => type === one.type))))
      : h("p", { class: "empty" }, "No condition is reported yet."),
    h("h3", {}, "Every figure behind the decision"),
    loadTable(target),
    horizon(target),
    traffic(target.traffic),
  ].filter(Boolean);
}

/** Conditions that are no problem if they are `False`; the service has the same list. */
const MAY_BE_FALSE = new Set(["WorthEnabling", "ScalingLimited", "ScaledToZero", "GrayProgressing"]);

/** The advice for a reason or type. Names come from the cluster, so inherited properties do not count. */
const advice = (name) => (Object.hasOwn(ADVICE, name) ? ADVICE[name] : undefined);

/** A condition of a CronHPA, a portrait or an IHPA, with what its reason means. */
export function condition(one) {
  const known = advice(one.reason) ?? advice(one.type);
  return advised(one, (one.status === "False" && !MAY_BE_FALSE.has(one.type)) || (known && one.status !== "False"));
}

function advised(one, problem) {
  const [meaning, fix] = advice(one.reason) ?? advice(one.type) ?? [];
  const kind = one.type === "WorthEnabling" ? "quiet" : problem ? "bad" : one.status === "True" ? "good" : "warn";
  return h("article", { class: "condition" },
    h("h4", {}, mark(kind, `${one.type}: ${one.status}`), h("span", { class: "since" }, `${words(one.reason)}, since ${timeOfDay(millis(one.lastTransitionTime))}`)),
    one.message ? h("p", {}, one.message) : null,
    problem && meaning ? h("p", { class: "meaning" }, meaning) : null,
    h("p", { class: "fix" }, h("strong", {}, "What to do: "), problem && fix ? fix : problem ? "The message says what is wrong." : "Nothing."));
}

function loadTable(target) {
  const of = (text, value) => [text, ...target.loads.map((load) => value(load, (figure) => amount(figure, load.unit)))];
  return table("Loads", ["Figure", ...target.loads.map((load) => title(load.resource))], [
    of("Load", (load, value) => value(load.now)),
    of("Measured", (load) => (load.measuredAt ? distance(load.measuredAt, state.now) : NONE)),
    of("Estimate", (load, value) => value(load.estimate)),
    of("Request of a Pod", (load, value) => value(load.request)),
    of("Target", (load) => percent(load.target)),
    of("Each Pod carries", (load, value) => value(load.request * load.target)),
    of("Forecast", ({ forecast }, value) => value(forecast?.mean)),
    of("80 % band", ({ forecast }, value) => (forecast ? `${value(forecast.lower80)} to ${value(forecast.upper80)}` : NONE)),
    of("95 % band", ({ forecast }, value) => (forecast ? `${value(forecast.lower95)} to ${value(forecast.upper95)}` : NONE)),
    of("Forecast for", ({ forecast }) => (forecast ? dueText(target, forecast) : NONE)),
    of("Model", ({ forecast, waitsFor }) => [forecast?.model, waitsFor && `waits for ${waitsFor}`].filter(Boolean).join(", ") || NONE),
    of("Trust", ({ trust }) => (trust ? sentence(trust.reason) : NONE)),
    of("Error compared with the naive forecast (below 1 is better)", ({ trust }) => number(trust?.ratio, 2)),
    of("Inside the 80 % band", ({ trust }) => percent(trust?.coverage)),
    of("Risk asked", ({ risk }) => percent(risk?.asked, 1)),
    of("Risk achieved", ({ risk }) => percent(risk?.achieved, 1)),
  ]);
}

function horizon(target) {
  const parts = target.horizonParts;
  if (!parts) return null;
  const names = { age: "Age of measurements", halfWindow: "Half of the rate window", sync: "HPA’s interval", tick: "Evenkeel’s interval",
    startUp: "Start of a Pod", nodeStartUp: "Start of a node" };
  const rows = Object.entries(parts).map(([part, seconds]) => [names[part] ?? words(part), `${seconds} s`]);
  const sum = Object.values(parts).reduce((all, seconds) => all + seconds, 0);
  return h("div", {}, h("h4", {}, `Horizon: ${target.horizonSeconds} s from a load to the capacity for it`),
    h("p", {}, `A measurement describes the load ${parts.age + parts.halfWindow} s ago: its age and half of its window. `
      + `The forecast looks over the other ${ahead(target)} s.`),
    // The service rounds each part, so a second of difference has no meaning.
    Math.abs(sum - target.horizonSeconds) > 5 ? h("p", {}, `The parts are ${sum} s. The horizon is at least 60 s and at most 900 s.`) : null,
    table("Parts of the horizon", ["Part", "Time"], rows, { numbers: [1] }));
}

/** Seconds of the horizon that are left at the time of a decision: measurements are late by the other part. */
function ahead({ horizonSeconds, horizonParts: { age, halfWindow } }) {
  return Math.max(0, horizonSeconds - age - halfWindow);
}

function dueText(target, forecast) {
  return timeOfDay(millis(forecast.at)) + (target.horizonParts ? `, ${ahead(target)} s after the decision` : `, ${distance(forecast.at, state.now)}`);
}

function traffic(of) {
  if (!of) return null;
  const { need, model } = of;
  return h("div", {}, h("h4", {}, "Traffic"), facts([
    ["State", of.standing], ["Why", of.why],
    ["Needs", need ? `${count(need.replicas, "replica", "replicas")}, each with ${number(need.utilisation)} of at most ${number(need.target)} ${need.resource}` : null],
    ["Limited by", need?.limitedBy],
    ["Model explains", model ? `${percent(model.explained)} of the variance; without traffic ${percent(model.explainedWithout)}` : null],
    ["Mean error", model ? `${number(model.error)}; of the linear part ${number(model.linearError)}` : null],
  ]),
  need ? table("Kinds of traffic", ["Traffic", "Now", "Expected", "Basis"],
    need.kinds.map((kind) => [kind.resource, number(kind.now), number(kind.expected), kind.basis]), { numbers: [1, 2] }) : null);
}
