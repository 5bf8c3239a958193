// An explanation of the service as tables: the demand of a Pod, the verdict and the scores of each node,
// and every term of one node.

import { facts, go, h, mark, place, table } from "./dom.js";
import { NONE, RESOURCES, distance, duration, number, percent, resourceAmount, timeOfDay, millis, title, words } from "./format.js";

/** Nodes that are listed at a time. */
const LISTED = 100;

/** Every term of one node, resource by resource. */
export function nodeTerms(node, headroom, withPod) {
  const of = (text, value) => [text, ...RESOURCES.map((resource) => value(node.resources[resource], resource))];
  const amountOf = (name) => (term, resource) => resourceAmount(term[name], resource);
  const rows = [
    of("Load", amountOf("load")), of("Capacity", amountOf("capacity")), of("Use", (term) => percent(term.ratio, 1)),
    ...(withPod ? [of("Use with the Pod", (term) => percent(term.ratioAfter, 1)),
      of("Below the line", (term) => (term.fits ? mark("good", "yes") : mark("bad", term.pressed ? "no, tasks wait" : "no")))] : []),
    of("Measurement", (term) => ({ fresh: "fresh", stale: "too old", absent: "none" }[term.freshness] ?? term.freshness)),
    of("Measured", amountOf("measured")), of("Age", (term) => duration(term.ageSeconds)),
    of("On the way", amountOf("inFlight")), of("Gone", amountOf("gone")), of("Requested", amountOf("demanded")), of("Possible", amountOf("possible")),
    of("Tasks wait", (term) => percent(term.pressure, 1)),
    ...(withPod ? [of("Deviation", (term) => number(term.deviation, 3)), of("Score", (term) => number(term.score, 2))] : []),
  ];
  return h("div", {},
    table(`Terms of node ${node.name}`, ["Term", ...RESOURCES.map(title)], rows, { numbers: [1, 2, 3, 4, 5], className: "terms" }),
    h("details", { class: "words" }, h("summary", {}, "What the rows mean"), facts([
      ["Load", "measured, plus Pods on the way, minus Pods that are gone; without a fresh measurement, the requests of the node’s Pods if they are more"],
      ["Use", `load / capacity; the line is at ${percent(headroom)}`],
      ["On the way", "the load of Pods that are placed here and not measured yet"],
      ["Gone", "the part of the measured load that comes from Pods that have ended"],
      ["Possible", "the demand of Pods that may come here and are counted elsewhere"],
      ["Tasks wait", "the share of time in which tasks waited for the resource, where that is measured"],
      ["Deviation", withPod ? "the spread over the scored nodes with the Pod here; less is more even" : null],
    ])));
}

/** The facts of a Pod's explanation. `entry` is its row in the list of placements, if there is one. */
export function podExplanation(explanation, entry, now) {
  const { lastFilter, lastPrioritize, lastNotice } = explanation;
  const answers = [
    ["Scores as answered", lastPrioritize?.terms, lastPrioritize?.at],
    ["Filter as answered", lastFilter?.terms, lastFilter?.at],
    ["If asked now", explanation.now, null],
  ].filter(([, terms]) => terms);
  const shown = h("div", {});
  const show = (index) => {
    const [, terms, at] = answers[index];
    [...choice.children].forEach((button, place) => button.setAttribute("aria-pressed", String(place === index)));
    shown.replaceChildren(answer(terms, at));
  };
  const choice = h("div", { class: "choice", role: "group", "aria-label": "Answer to show" },
    answers.map(([text], index) => h("button", { type: "button", onclick: () => show(index) }, text)));
  show(0);
  return h("div", {},
    facts([
      ["Why", entry?.reason],
      ["Node", lastNotice ? h("span", {}, go(place("nodes", lastNotice.node), lastNotice.node), ` (kube-scheduler reported it at ${timeOfDay(millis(lastNotice.at))})`)
        : entry?.node ? h("span", {}, go(place("nodes", entry.node), entry.node), " (expected, not reported)") : null],
      ["Workload", explanation.workload ? `${explanation.workload.kind} ${explanation.workload.name}` : null],
      ["Filter", lastFilter ? filterText(lastFilter, now) : "not asked"],
      ["Prioritize", lastPrioritize ? prioritizeText(lastPrioritize, now) : "not asked; with one passing node, kube-scheduler skips it"],
      ["Deletion cost", explanation.deletionCost ? `${explanation.deletionCost.cost}: ${explanation.deletionCost.why}` : null],
    ]),
    answers.length < 3 ? h("p", { class: "note" }, "The terms of the answers are kept for as long as there is memory for them. Without them, this shows the answer of now.") : null,
    choice, shown,
    explanation.scoreLabels ? scoreLabels(explanation.scoreLabels) : null);
}

function filterText(past, now) {
  const refused = past.refusedBy.map(([resource, nodes]) => `${title(resource)} on ${nodes}`).join(", ");
  return `${past.passed} of ${past.asked} nodes passed, ${distance(past.at, now)}`
    + (refused ? `; no headroom: ${refused}` : "") + (past.relaxed ? "; relaxed, because no node has headroom" : "")
    + (past.nominated ? "; the nominated node passed without headroom" : "") + (past.unjudged ? `; not judged: ${words(past.unjudged)}` : "");
}

function prioritizeText(past, now) {
  return (past.best ? `best ${past.best} with score ${past.score} of ${past.asked} nodes` : `${past.asked} nodes, none is best`)
    + `, ${distance(past.at, now)}` + (past.unjudged ? `; not judged: ${words(past.unjudged)}` : "");
}

function answer(explanation, at) {
  const demand = RESOURCES.map((resource) => {
    const { amount, assumed, source } = explanation.demand[resource];
    return [title(resource), resourceAmount(amount, resource), resourceAmount(assumed, resource), source, number(explanation.weights[resource], 3)];
  });
  return h("div", {},
    h("h3", {}, at ? `Answer at ${timeOfDay(millis(at))}` : "Answer if kube-scheduler asked now"),
    facts([
      ["Profile", explanation.profile],
      ["Line", `every resource must stay below ${percent(explanation.headroom)} with the Pod`],
      ["Best node", explanation.best ?? "none"],
      ["Not judged", explanation.unjudged ? words(explanation.unjudged) : null],
      ["Relaxed", explanation.relaxed ? "yes: no node has headroom, and the least loaded ones take the Pod" : null],
      ["Scoring", `${explanation.normalization}; differences in use below ${percent(explanation.significance, 1)} are not scaled up to the full range`],
      ["Warnings", explanation.warnings.length > 0 ? explanation.warnings.join("; ") : null],
    ]),
    h("h4", {}, "Demand of the Pod"),
    table("Demand of the Pod", ["Resource", "For the line", "For the score", "Source", "Weight"], demand, { numbers: [1, 2, 4] }),
    h("h4", {}, "Nodes"), h("p", { class: "note" }, "Open a node to see its terms. Exact: the score before it is rounded. In-tree: the score of kube-scheduler’s own plugins, by a model of two of them. Sum: both together."), nodeList(explanation));
}

function nodeList(explanation) {
  const holder = h("div", {});
  let listed = LISTED;
  const draw = () => {
    const shown = explanation.nodes.slice(0, listed);
    const body = h("tbody", {}, shown.flatMap((node) => nodeRows(node, explanation)));
    const rest = explanation.nodes.length - shown.length;
    holder.replaceChildren(
      h("div", { class: "scroll cards", tabindex: 0, role: "region", "aria-label": "Nodes of the answer" }, h("table", { class: "list" },
        h("caption", { class: "hidden" }, "Verdict and score of each node"),
        h("thead", {}, h("tr", {}, ["Node", "Verdict", "Score", "Exact", "In-tree", "Sum"].map((text, index) =>
          h("th", { scope: "col", class: index >= 2 ? "number" : null }, text)))), body)),
      rest > 0 ? h("button", { type: "button", onclick: () => { listed += LISTED; draw(); } }, `Show more: ${rest} left`) : "");
  };
  draw();
  return holder;
}

function verdict(node) {
  if (!node.schedulable) return mark("quiet", "closed");
  if (node.passes && node.refusedBy.length === 0) return mark("good", "passes");
  const lacking = node.refusedBy.map(title).join(", ");
  return node.passes ? mark("warn", `passes without headroom: ${lacking}`) : mark("bad", `no headroom: ${lacking}`);
}

function nodeRows(node, explanation) {
  const figure = (label, value, digits) => h("td", { class: "number", "data-label": label }, number(value, digits));
  const cell = h("td", { colspan: 6 });
  const inner = h("tr", { class: "inner", hidden: true }, cell);
  const button = h("button", {
    type: "button", class: "open", "aria-expanded": "false",
    onclick: () => {
      inner.hidden = !inner.hidden;
      button.setAttribute("aria-expanded", String(!inner.hidden));
      if (!cell.firstChild) cell.append(nodeTerms(node, explanation.headroom, true));
    },
  }, node.name);
  const row = h("tr", { class: node.name === explanation.best ? "best" : null },
    h("th", { scope: "row" }, button, node.name === explanation.best ? " (best)" : ""), h("td", { class: "long", "data-label": "Verdict" }, verdict(node)),
    figure("Score", node.score, 0), figure("Exact", node.total, 3), figure("In-tree", node.modelledInTree, 0), figure("Sum", node.modelledSum, 0));
  return [row, inner];
}

function scoreLabels(labels) {
  const nodes = labels.nodes.slice(0, LISTED).map((node) => [node.name, node.label ?? NONE, number(node.level, 2), number(node.sum, 0)]);
  return h("section", {}, h("h3", {}, "Score labels"),
    facts([
      ["Shape", labels.shape],
      ["Terms", labels.carried ? "the Pod has them" : "those that a new Pod like this would get"],
      ["Without terms", labels.withoutTerms],
    ]),
    table("Terms of score labels", ["Weight", "Not on levels"], labels.terms.map((term) => [String(term.weight), term.excluded.join(", ") || NONE])),
    table("Levels of nodes", ["Node", "Label", "Level now", "Sum of NodeAffinity"], nodes, { numbers: [2, 3] }));
}
