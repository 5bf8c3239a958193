// Schedules, portraits and tuning, as far as the service has them in memory.

import { facts, go, h, mark, place, table } from "./dom.js";
import { NONE, UNKNOWN, ZONE, count, dayAndTime, distance, number, title, words } from "./format.js";
import { condition } from "./details.js";
import { state } from "./state.js";

let holder = null;
let unfolded = new Set();

export const calendar = {
  id: "calendar",
  title: "Calendar",
  parts: ["calendar"],

  mount(main) {
    holder = h("div", { class: "calendar" });
    main.append(
      h("p", { class: "note zone" }, `Times are in ${ZONE}, the zone of this browser. A schedule is in the zone of its CronHPA.`),
      holder,
      h("p", { class: "note" }, "Shown: objects of namespaces that have opted in, as their status reports them. The leader writes a status; "
      + "a replica reads it from its watch. Events and runs of the past are not kept here; use kubectl describe."));
    draw();
  },

  unmount() {
    holder = null;
  },

  update() {
    draw();
  },
};

function draw() {
  if (!holder) return;
  const now = state.calendar;
  if (!now) {
    holder.replaceChildren(h("p", { class: "empty" }, UNKNOWN));
    return;
  }
  const focused = holder.contains(document.activeElement) ? document.activeElement.textContent : null;
  holder.replaceChildren(
    section("Next times", nextTimes(now.cronHpas), "No CronHPA has a run or a window ahead. A CronHPA sets the least number of replicas by the calendar."),
    section("CronHPAs", now.cronHpas.map(cronHpa), "There is no CronHPA in an opted-in namespace."),
    section("Portraits", [...now.ihpas.map(ihpa), ...now.portraits.map(portrait)],
      "There is no IntelligentHorizontalPodAutoscaler or HorizontalPortrait. The first takes replicas from several sources, called portraits, and changes them in steps."),
    section("Tuning", tuning(now), "No workload has a status of tuning. Tuning recommends or sets the requests and limits of running Pods."));
  if (focused) [...holder.querySelectorAll("summary, a")].find((one) => one.textContent === focused)?.focus({ preventScroll: true });
}

function section(name, content, empty) {
  return h("section", {}, h("h2", {}, name), content.length > 0 ? content : h("p", { class: "empty" }, empty));
}

function nextTimes(cronHpas) {
  const runs = cronHpas.flatMap((one) => (one.status?.nextRuns ?? []).map((run) => ({ ...run, of: one })));
  runs.sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
  const open = (run) => Date.parse(run.time) <= state.now;
  const rows = runs.slice(0, 50).map((run) => [dayAndTime(run.time), open(run) ? mark("good", "open now") : distance(run.time, state.now),
    `${run.of.namespace}/${run.of.name}`, run.cron, number(run.replicas), run.end ? dayAndTime(run.end) : "the next run", run.of.target]);
  return rows.length > 0 ? [table("Next times of all CronHPAs", ["Time", "When", "CronHPA", "Cron", "Replicas", "Until", "Target"], rows, { numbers: [4] })] : [];
}

/** A part that is folded until its reader opens it. */
function fold(key, heading, ...content) {
  const element = h("details", {
    open: unfolded.has(key),
    ontoggle: () => { if (element.open) unfolded.add(key); else unfolded.delete(key); },
  }, h("summary", {}, heading), ...content);
  return element;
}

/** For a workload without an HPA, the count itself. */
function asked({ target, status }) {
  return (target.startsWith("HorizontalPodAutoscaler ") ? "at least " : "") + status.active.minReplicas;
}

function cronHpa(one) {
  const { status } = one;
  const ready = status?.conditions.find((found) => found.type === "Ready");
  const problem = one.problem ?? (ready?.status === "False" ? ready.reason : null);
  const text = problem ? mark("bad", problem) : one.suspended ? mark("warn", "suspended") : status?.active
    ? mark("good", `asks for ${asked(one)}`) : mark("good", "asks for nothing now");
  return fold(`cron/${one.namespace}/${one.name}`, h("span", {}, `${one.namespace}/${one.name} for ${one.target} `, text),
    facts([
      ["Asks now", status?.active ? `${asked(one)}${status.active.until ? ` until ${dayAndTime(status.active.until)}` : ""}` : "nothing"],
      ["Last run", status?.lastRun ? `${status.lastRun.cron} at ${dayAndTime(status.lastRun.scheduledTime)}: target ${status.lastRun.target}` : null],
    ]),
    table("Crons", ["Cron", "Schedule", "Replicas", "State"], one.crons.map((cron) =>
      [cron.name, cron.when, number(cron.replicas), cron.suspended || one.suspended ? "suspended" : "active"]), { numbers: [2] }),
    h("div", { class: "conditions" }, (status?.conditions ?? []).map(condition)));
}

const OUTCOME = { Value: "asks for", Expired: "expired", Failed: "failed", Absent: "asks for nothing" };

function ihpa(one) {
  const { status } = one;
  const value = status?.currentPortraitValue;
  const failed = (status?.portraits ?? []).filter((found) => found.reason).length;
  const text = one.problem ? mark("bad", one.problem) : failed > 0 ? mark("warn", count(failed, "portrait fails", "portraits fail"))
    : value ? mark("good", `${count(value.replicas, "replica", "replicas")} by ${value.provider}`) : mark("quiet", "no value yet");
  const gray = status?.gray;
  return fold(`ihpa/${one.namespace}/${one.name}`, h("span", {}, `${one.namespace}/${one.name} for ${one.target} `, text),
    facts([
      ["Workload", go(place("workloads", one.namespace, "IntelligentHorizontalPodAutoscaler", one.name), "figures of the decision")],
      ["Replicas", number(status?.currentReplicas)],
      ["Wanted", status?.desired ? `${status.desired.onlineReplicas} online, ${status.desired.cutoffReplicas} cut off, ${status.desired.standbyReplicas} on standby` : null],
      ["Step", gray ? `${gray.phase || gray.progress}: ${gray.grayPercent} %, ${gray.onlineReplicas} on the way to ${gray.toReplicas}`
        + (gray.nextTime ? `, next step ${distance(gray.nextTime, state.now)}` : "") : "no change in steps is under way"],
    ]),
    table("Portraits", ["Provider", "Priority", "Outcome", "Replicas", "Expires", "Why"], (status?.portraits ?? []).map((found) =>
      [found.provider, number(found.priority), OUTCOME[found.outcome] ?? words(found.outcome), number(found.replicas),
        found.expireTime ? dayAndTime(found.expireTime) : NONE, found.message ?? found.reason ?? NONE]), { numbers: [1, 3] }),
    status?.stability ? table("Checks", ["Check", "Verdict", "Message"], status.stability.checkers.map((check) => [check.name, check.verdict, check.message])) : null,
    h("div", { class: "conditions" }, (status?.conditions ?? []).map(condition)));
}

function portrait(one) {
  const { generated, hours, steps } = one;
  const problem = one.problem ?? (generated?.status === "False" ? generated.reason : null);
  const text = problem ? mark("bad", problem) : hours.length > 0 ? mark("good", count(hours.length, "hour ahead", "hours ahead"))
    : steps.length > 0 ? mark("good", count(steps.length, "step", "steps")) : mark("quiet", "nothing yet");
  const ahead = hours.map((hour) => [hour.metric, dayAndTime(hour.from), distance(hour.from, state.now), hour.value,
    `${hour.lower} to ${hour.upper}`, number(hour.replicas), number(hour.upperReplicas)]);
  return fold(`portrait/${one.namespace}/${one.name}`, h("span", {}, `Portrait ${one.namespace}/${one.name} for ${one.target} `, text),
    one.computed ? facts([["Computed", `${dayAndTime(one.computed)}, ${distance(one.computed, state.now)}`]]) : null,
    steps.length > 0 ? facts([["Expires", one.expires ? `${dayAndTime(one.expires)}, ${distance(one.expires, state.now)}` : "never"]]) : null,
    steps.length > 0 ? table("Steps", ["From", "When", "Replicas"], steps.map((step) =>
      [step.at ? dayAndTime(step.at) : "always", step.at ? distance(step.at, state.now) : NONE, number(step.replicas)]), { numbers: [2] }) : null,
    ahead.length > 0 ? table("Highest ten minutes of each coming hour, with their 80 % interval",
      ["Metric", "Hour from", "When", "Highest load", "80 % interval", "Replicas", "At upper end"], ahead, { numbers: [5, 6] }) : null,
    h("div", { class: "conditions" }, generated ? condition(generated) : null));
}

function amounts(resources) {
  const parts = ["requests", "limits"].flatMap((part) => Object.entries(resources?.[part] ?? {}).map(([name, value]) => `${part.slice(0, -1)} ${title(name)} ${value}`));
  return parts.join(", ") || NONE;
}

function byContainer(values) {
  return Object.entries(values ?? {}).map(([name, resources]) => `${name}: ${amounts(resources)}`).join("; ") || NONE;
}

function tuning({ tuning: workloads, resizes }) {
  const found = workloads.map((one) => fold(`tuning/${one.namespace}/${one.kind}/${one.name}`,
    h("span", {}, `${one.kind} ${one.namespace}/${one.name} `, mark(one.status.held ? "warn" : "good", one.status.held ?? `${one.status.mode}, ${one.status.resized} resized`)),
    table("Containers", ["Container", "Resources for the template", "Why"], Object.entries(one.status.containers).map(([name, container]) =>
      [name, amounts(container.resources), Object.entries(container.reasons).map(([resource, why]) => `${title(resource)}: ${why}`).join("; ") || NONE])),
    one.status.pending?.length > 0 ? table("Pending resizes", ["Pod", "Phase", "Since", "Message"], one.status.pending.map((resize) =>
      [resize.pod, resize.phase, distance(resize.since, state.now), resize.message ?? NONE])) : null));
  if (resizes.length > 0) {
    found.push(fold("resizes", count(resizes.length, "resized Pod", "resized Pods"), table("Resized Pods",
      ["Pod", "Node", "By", "At", "Before", "After", "Phase"], resizes.slice(0, 200).map((one) =>
        [`${one.namespace}/${one.pod}`, one.node ?? NONE, one.by, dayAndTime(one.at), byContainer(one.from), byContainer(one.to), one.phase ?? "done"]))));
  }
  return found;
}
