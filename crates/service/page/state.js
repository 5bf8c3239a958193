// The state of the cluster as the stream reports it, and the parts that want to know of changes.

export const state = {
  /** Milliseconds of the newest event's time in the cluster; `dev` runs faster than this machine. */
  now: NaN,
  known: false,
  synced: false,
  headroom: 0.8,
  writes: "enabled",
  nodes: new Map(),
  /** Newest first. */
  placements: [],
  targets: new Map(),
  calendar: null,
  replay: null,
  /** `connecting`, `live` or `lost`. */
  link: { phase: "connecting", since: Date.now(), retryAt: null, why: "", isRefused: false },
};

/** Placements that the page keeps, as many as the service. */
const KEPT = 500;

const listeners = new Set();
let dirty = new Set();
let scheduled = false;

/** Calls `listener` with the names of the parts that changed, at most once a frame. */
export function listen(listener) {
  listeners.add(listener);
}

export function changed(part) {
  dirty.add(part);
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    const parts = dirty;
    dirty = new Set();
    for (const listener of listeners) listener(parts);
  });
}

export function targetKey(target) {
  return [target.namespace, target.object.kind, target.object.name].join("/");
}

/** Nodes whose row changed, or that are gone, since the view last drew them. */
export const changedNodes = new Set();

export function apply(change, now) {
  state.now = now;
  state.synced = change.synced;
  state.headroom = change.headroom;
  state.writes = change.writes;
  if (change.full) {
    for (const name of state.nodes.keys()) changedNodes.add(name);
    state.nodes = new Map();
    state.placements = [];
    state.targets = new Map();
    state.calendar = null;
    state.replay = null;
    for (const part of ["nodes", "placements", "targets", "calendar", "replay"]) changed(part);
  }
  state.known = true;
  for (const node of change.nodes ?? []) {
    state.nodes.set(node.name, { ...node, fullest: fullest(node) });
    changedNodes.add(node.name);
  }
  for (const name of change.goneNodes ?? []) {
    state.nodes.delete(name);
    changedNodes.add(name);
  }
  if (change.nodes || change.goneNodes) changed("nodes");
  if (change.placements) place(change.placements);
  for (const target of change.targets ?? []) state.targets.set(targetKey(target), target);
  for (const gone of change.goneTargets ?? []) state.targets.delete(targetKey(gone));
  if (change.targets || change.goneTargets) changed("targets");
  if (change.calendar) {
    state.calendar = change.calendar;
    changed("calendar");
  }
  if (change.replay) {
    state.replay = change.replay;
    changed("replay");
  }
  changed("time");
}

function place(placements) {
  const moved = new Set(placements.map((placement) => placement.uid));
  const kept = state.placements.filter((placement) => !moved.has(placement.uid));
  const newest = [...placements].sort((a, b) => b.sequence - a.sequence);
  state.placements = [...newest, ...kept].slice(0, KEPT);
  changed("placements");
}

/** The share of a capacity that is in use; `null` if the capacity is not known. */
export function ratio(use) {
  return use.capacity ? use.load / use.capacity : null;
}

function fullest(node) {
  let most = 0;
  for (const use of Object.values(node.resources)) most = Math.max(most, ratio(use) ?? 0);
  // Tasks that wait for disks fill a node whose capacity is not known.
  return node.over.length > 0 ? Math.max(most, state.headroom) : most;
}
