// A replayed record beside what happened. Only `evenkeel dev --replay` has one.

import { h, setText, table } from "./dom.js";
import { NONE, duration, number } from "./format.js";
import { state } from "./state.js";

let holder = null;

export const replay = {
  id: "replay",
  title: "Replay",
  parts: ["replay"],
  /** There is nothing to show in a cluster. */
  isShown: () => state.replay !== null,

  mount(main) {
    holder = h("div", { class: "calendar" });
    main.append(holder);
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
  if (!state.replay) {
    setText(holder, "There is no replay. evenkeel dev --replay FILE shows one.");
    return;
  }
  const { rows, sentences, missing } = state.replay;
  holder.replaceChildren(
    h("section", {}, h("h2", {}, "The record and its replays: scaled workloads together"),
      sentences.map((sentence) => h("p", {}, sentence)),
      rows.length === 0 && sentences.length === 0 ? h("p", { class: "empty" }, "The record is being replayed with and without Evenkeel, in virtual time. The table appears when the replays end.") : null,
      rows.length === 0 ? null : [
        table("The record and its replays", ["Run", "Under-provisioned", "Overloaded", "Replica-hours", "Changes", "Pods refused", "Any node over the line"],
          rows.map((row) => [row.name, duration(row.underProvisionedSeconds), duration(row.overloadedSeconds), number(row.replicaHours),
            number(row.changes), row.nodes ? number(row.nodes.podsRefused) : NONE, row.nodes ? duration(row.nodes.secondsOverLine) : NONE]), { numbers: [1, 2, 3, 4, 5, 6] }),
        h("p", { class: "note" }, "A workload is under-provisioned while its ready Pods carry more than 1.1 times the target of its HPA. Replays are simulations: settings change only placement in them. The run of the other views is compared in the terminal when it ends.")]),
    h("section", {}, h("h2", {}, "What the record does not show"), h("ul", { class: "plain" }, missing.map((gap) => h("li", {}, gap)))));
}
