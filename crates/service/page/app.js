// The page: tabs, the place in the address, figures of the whole cluster, and the state of the stream.

import { connect, follow } from "./api.js";
import { calendar } from "./calendar.js";
import { showDetails, updateDetails } from "./details.js";
import { h, place, setClass, setText } from "./dom.js";
import { NONE, ZONE, number, percent, timeOfDay } from "./format.js";
import { hpas } from "./hpas.js";
import { nodes } from "./nodes.js";
import { placements } from "./placements.js";
import { replay } from "./replay.js";
import { changed, listen, state } from "./state.js";
import { workloads } from "./workloads.js";

const VIEWS = [nodes, placements, workloads, hpas, calendar, replay];
/** Width from which details stand beside the view. */
const WIDE = matchMedia("(min-width: 1100px)");

const element = (id) => document.getElementById(id);
const [tabs, main, aside, figures, link, notices] = ["tabs", "main", "details", "figures", "link", "notices"].map(element);

let view = null;
let detailsHash = null;

/** The view and the details of an address such as `#workloads/shop/HorizontalPodAutoscaler/web`. */
function route() {
  const raw = location.hash.replace(/^#/, "");
  let parts;
  try {
    parts = raw.split("/").map(decodeURIComponent);
  } catch {
    parts = [];
  }
  const [id, ...rest] = parts;
  const found = VIEWS.find((one) => one.id === id) ?? nodes;
  const back = place(found.id);
  const [first, second, third] = rest;
  let details = null;
  if (found === nodes && first) details = { type: "node", kind: "Node", title: first, name: first };
  if (found === placements && second) details = { type: "pod", kind: "Pod", title: `${first}/${second}`, namespace: first, name: second };
  if (found === workloads && third) {
    details = { type: "target", kind: second, title: `${first}/${third}`, namespace: first, object: second, name: third };
  }
  if (found === hpas && second) details = { type: "hpa", kind: "HPA", title: `${first}/${second}`, namespace: first, name: second };
  return { found, details: details && { ...details, back } };
}

function show() {
  const { found, details } = route();
  if (view !== found) {
    view?.unmount();
    view = found;
    main.replaceChildren(h("h2", { class: "hidden" }, view.title));
    main.setAttribute("aria-labelledby", `tab-${view.id}`);
    view.mount(main);
    window.scrollTo(0, 0);
    document.title = `${view.title} – Evenkeel`;
  }
  for (const tab of tabs.children) {
    const chosen = tab.id === `tab-${view.id}`;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
  }
  const opened = detailsHash !== location.hash && details;
  detailsHash = details ? location.hash : null;
  if (opened || !details) showDetails(aside, details);
  setClass(element("body"), details ? "body with-details" : "body");
  for (const row of main.querySelectorAll("[aria-current]")) row.removeAttribute("aria-current");
  if (opened && !WIDE.matches) aside.focus();
  if (!details) preselect();
}

/** On a wide screen, the workload that is worth a look first stands beside the list. */
function preselect() {
  if (view !== workloads || !WIDE.matches || preselect.closed) return;
  const first = workloads.first();
  if (first) location.replace(first);
}

function makeTabs() {
  tabs.append(...VIEWS.map((one) => h("button", {
    type: "button", role: "tab", id: `tab-${one.id}`, "aria-controls": "main",
    hidden: one.isShown && !one.isShown(), onclick: () => { preselect.closed = false; location.hash = place(one.id); },
  }, one.title)));
  tabs.addEventListener("keydown", (event) => {
    const all = [...tabs.children].filter((tab) => !tab.hidden);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const ends = { Home: 0, End: all.length - 1 }[event.key];
    if (step === undefined && ends === undefined) return;
    event.preventDefault();
    const next = all[ends ?? (all.indexOf(document.activeElement) + step + all.length) % all.length];
    next.focus();
    next.click();
  });
}

function drawFigures() {
  const all = [...state.nodes.values()];
  const over = all.filter((node) => node.over.length > 0).length;
  const targets = [...state.targets.values()];
  const floors = targets.filter((target) => target.floor !== null).length;
  const problems = targets.filter((target) => target.problems.length > 0).length;
  document.documentElement.style.setProperty("--headroom", percent(state.headroom, 1).replace(" ", ""));
  // Before the first event nothing is known, which is not the same as none.
  const figure = (amountOf) => (state.known ? number(amountOf, 0) : NONE);
  const shown = [
    ["Nodes", figure(all.length), ""],
    [state.known ? `Over ${percent(state.headroom)}` : "Over the line", figure(over), over > 0 ? "bad" : ""],
    ["Workloads", figure(targets.length), ""],
    ["Floors", figure(floors), ""],
    ["Problems", figure(problems), problems > 0 ? "bad" : ""],
    [`Time (${ZONE})`, timeOfDay(state.now), ""],
  ];
  if (figures.childElementCount !== shown.length) {
    figures.replaceChildren(...shown.map(([name]) => h("div", {}, h("dt", {}, name), h("dd", {}))));
  }
  shown.forEach(([name, value, kind], index) => {
    const [term, text] = figures.children[index].children;
    setText(term, name);
    setText(text, (kind === "bad" ? "▲ " : "") + value);
    setClass(text, kind);
  });
}

function drawLink() {
  const { phase, retryAt, why, isRefused } = state.link;
  setClass(link, `link ${phase}`);
  setText(link, isRefused ? "▲ Stream refused" : { connecting: "○ Connecting", live: "● Live", lost: "▲ Connection lost" }[phase]);
  const found = [];
  if (phase === "lost") {
    const wait = Math.max(0, Math.ceil((retryAt - Date.now()) / 1000));
    found.push(["bad", `${why} ${state.known ? `The figures are from ${timeOfDay(state.now)}.` : "No figures have been received yet."} Next attempt in ${wait} s.`,
      h("button", { type: "button", onclick: connect }, "Connect now")]);
  }
  if (phase === "connecting" && state.known) found.push(["warn", `Connecting again. The figures are from ${timeOfDay(state.now)}.`]);
  if (state.known && !state.synced) found.push(["warn", "Evenkeel is still listing the cluster. Figures are not complete."]);
  if (state.writes === "disabled") found.push(["warn", "Writes are disabled (writes: disabled). Evenkeel decides and reports, and changes nothing."]);
  if (state.writes === "restore") found.push(["warn", "Evenkeel puts your values back and then writes nothing (writes: restore)."]);
  const text = found.map(([kind, words]) => kind + words).join("\n");
  if (notices.shown === text) return;
  notices.shown = text;
  notices.replaceChildren(...found.map(([kind, words, button]) => h("p", { class: `notice ${kind}` }, words, " ", button)));
}

makeTabs();
listen((parts) => {
  if (view && view.parts.some((part) => parts.has(part))) view.update(parts);
  if (parts.has("targets") && !aside.firstChild) preselect();
  if (parts.has("replay")) element("tab-replay").hidden = !replay.isShown();
  updateDetails(parts);
  drawFigures();
  drawLink();
});
window.addEventListener("hashchange", show);
aside.addEventListener("click", (event) => {
  if (event.target.classList?.contains("close")) preselect.closed = true;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || aside.hidden) return;
  preselect.closed = true;
  const back = aside.querySelector(".close")?.getAttribute("href");
  if (back) location.hash = back;
  main.focus();
});
element("skip").addEventListener("click", (event) => {
  // The address names the view, so the link must not change it.
  event.preventDefault();
  main.focus();
});
setInterval(() => { if (state.link.phase === "lost") changed("link"); }, 1000);
drawFigures();
drawLink();
show();
follow();
