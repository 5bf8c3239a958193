// The newest placements with their reasons, newest first.

import { go, h, keyed, mark, place, setText } from "./dom.js";
import { NONE, UNKNOWN, count, millis, timeOfDay } from "./format.js";
import { state } from "./state.js";

/** Rows that are shown at a time. */
const SHOWN = 100;

const choice = { text: "", outcome: "all", paused: false, more: 1 };
let parts = null;
let frozen = null;

const OUTCOMES = {
  chosen: ["good", "placed"],
  expected: ["quiet", "expected"],
  passed: ["quiet", "several nodes"],
  refused: ["bad", "no node"],
};

export const placements = {
  id: "placements",
  title: "Placements",
  parts: ["placements"],

  mount(main) {
    const body = h("tbody", {});
    const summary = h("p", { class: "summary" });
    const empty = h("p", { class: "empty" });
    const pause = h("button", { type: "button", "aria-pressed": "false", onclick: toggle }, "Pause");
    const more = h("button", { type: "button", onclick: () => { choice.more += 1; draw(); } }, "Show more");
    main.append(
      h("div", { class: "tools" },
        h("label", {}, "Filter", h("input", {
          type: "search", id: "placement-filter", placeholder: "Pod, node or reason", autocomplete: "off", spellcheck: "false",
          oninput: (event) => { choice.text = event.target.value.trim().toLowerCase(); draw(); },
        })),
        h("label", {}, "Show", h("select", { onchange: (event) => { choice.outcome = event.target.value; draw(); } },
          [["all", "All"], ["chosen", "Placed"], ["expected", "Expected"], ["passed", "Several nodes passed"], ["refused", "No node has headroom"]]
            .map(([value, text]) => h("option", { value, selected: choice.outcome === value }, text)))),
        pause),
      summary, empty,
      h("div", { class: "scroll cards", tabindex: 0, role: "region", "aria-label": "Placements" },
        h("table", { class: "list" }, h("caption", { class: "hidden" }, "Placements, newest first"),
          h("thead", {}, h("tr", {}, ["Time", "Pod", "Node", "Why", "Result", "Profile", "Score"].map((text) =>
            h("th", { scope: "col", class: text === "Score" ? "number" : null }, text)))),
          body)),
      more,
      h("p", { class: "note" }, "Kept in memory: the last 500 Pods that kube-scheduler asked this replica about since it started. "
        + "Older placements, and those that other replicas answered, are not kept here."));
    parts = { body, summary, empty, pause, more };
    choice.more = 1;
    draw();
  },

  unmount() {
    parts = null;
    frozen = null;
    choice.paused = false;
  },

  update() {
    if (!choice.paused) draw();
    else summarise();
  },
};

function toggle() {
  choice.paused = !choice.paused;
  frozen = choice.paused ? state.placements : null;
  setText(parts.pause, choice.paused ? "Continue" : "Pause");
  parts.pause.setAttribute("aria-pressed", String(choice.paused));
  draw();
}

function matching() {
  const { text, outcome } = choice;
  return (frozen ?? state.placements).filter((one) =>
    (outcome === "all" || one.outcome === outcome)
    && (!text || `${one.namespace}/${one.pod} ${one.node ?? ""} ${one.reason}`.toLowerCase().includes(text)));
}

function summarise() {
  const all = frozen ?? state.placements;
  const refused = all.filter((one) => one.outcome === "refused").length;
  const waiting = frozen ? state.placements.filter((one) => one.sequence > (frozen[0]?.sequence ?? 0)).length : 0;
  setText(parts.summary, !state.known ? "" : `${count(all.length, "Pod", "Pods")}, ${refused} without a node`
    + (choice.paused ? `; paused, ${waiting} new` : ""));
}

function draw() {
  if (!parts) return;
  const found = matching();
  const shown = found.slice(0, SHOWN * choice.more);
  summarise();
  setText(parts.empty, !state.known ? UNKNOWN : state.placements.length === 0
    ? "kube-scheduler has not asked this replica about any Pod yet. If you use score labels, kube-scheduler does not ask Evenkeel, and this list stays empty."
    : found.length === 0 ? "No placement matches the filter." : "");
  parts.more.hidden = found.length <= shown.length;
  keyed(parts.body, shown, (one) => one.uid, row, fill);
}

function row() {
  const cell = (label, name) => h("td", { "data-label": label, class: name });
  return h("tr", {}, cell("Time", "time"), h("th", { scope: "row" }), cell("Node"), cell("Why", "reason"),
    cell("Result"), cell("Profile"), cell("Score", "number"));
}

function fill(element, one) {
  if (element.sequence === one.sequence && element.reason === one.reason) return;
  element.sequence = one.sequence;
  element.reason = one.reason;
  const [time, pod, node, why, result, profile, score] = element.children;
  setText(time, timeOfDay(millis(one.at)));
  pod.replaceChildren(go(place("placements", one.namespace, one.pod), `${one.namespace}/${one.pod}`));
  result.replaceChildren(mark(...(OUTCOMES[one.outcome] ?? ["quiet", one.outcome])));
  node.replaceChildren(one.node ? go(place("nodes", one.node), one.node) : NONE);
  setText(profile, one.profile ?? NONE);
  setText(score, one.score === null ? NONE : String(one.score));
  setText(why, one.reason);
}
