// A stand-in for the service: the files of the page, states of any size, and a stream that tests drive.

import { readFileSync, existsSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { dirname, extname, join, normalize } from "node:path";

const HERE = dirname(fileURLToPath(import.meta.url));
const PAGE = join(HERE, "../../crates/service/page");
const recorded = (name) => JSON.parse(readFileSync(join(HERE, "recorded", name)));

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml" };

/** The policy that the service sends, read from its source, so that tests meet the same one. */
function policy() {
  const source = readFileSync(join(HERE, "../../crates/service/src/dashboard/page.rs"), "utf8");
  const text = /const POLICY: &str = "([^"]*)";/.exec(source)[1];
  return text.replace(/\\\n\s*/g, "");
}

const RESOURCES = ["cpu", "memory", "networkIo", "diskIo", "disk"];
const CAPACITY = { cpu: 16000, memory: 64 * 1024 ** 3, networkIo: 1.25e9, diskIo: 5e8, disk: 2e11 };

/** Numbers from 0 to 1 that are the same in each run. */
export function random(seed) {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

export function node(name, next, { over = false, taint = null, estimated = false, schedulable = true } = {}) {
  const resources = {};
  for (const resource of RESOURCES) {
    const share = over && resource === "networkIo" ? 0.86 : 0.1 + 0.65 * next();
    resources[resource] = { load: Math.round(share * CAPACITY[resource]), capacity: CAPACITY[resource], freshness: estimated ? "stale" : "fresh" };
  }
  return { name, schedulable, tainted: taint !== null, overload: taint, estimated, over: over ? ["networkIo"] : [], resources };
}

export function manyNodes(count) {
  const next = random(7);
  return Array.from({ length: count }, (_, index) => {
    const kind = index % 37;
    return node(`node-${String(index + 1).padStart(4, "0")}`, next, {
      over: kind === 3 || kind === 20, taint: kind === 3 ? "evenkeel.dev/overloaded=networkIo:NoSchedule" : null,
      estimated: kind === 11, schedulable: kind !== 29,
    });
  });
}

export const NOW = Date.parse("2026-11-21T23:26:25Z");
const ago = (seconds) => new Date(NOW - seconds * 1000).toISOString();

export function placements(count, nodes) {
  const reasons = ["most even: network 43 % here, 61 % elsewhere", "most even: cpu 59 % here, 65 % elsewhere", "the only node with headroom for memory",
    "kube-scheduler's own preference: large-2 is more even"];
  return Array.from({ length: count }, (_, index) => {
    const refused = index % 19 === 5;
    return {
      sequence: count - index, at: ago(index * 7), namespace: "shop", pod: `web-85ac895c3b-${(index * 7919 + 46655).toString(36)}`, uid: `u${index}`,
      node: refused ? null : nodes[index % nodes.length], outcome: refused ? "refused" : index === 0 ? "expected" : "chosen",
      profile: ["compute", "network", "memory", "storage"][index % 4], score: refused ? null : 10 - (index % 3),
      reason: refused ? "none of 6 nodes has headroom; they lack cpu on 6, memory on 3" : reasons[index % reasons.length],
    };
  });
}

export function summary(status) {
  const [load] = status.loads;
  return {
    namespace: status.namespace, object: status.object, workload: status.workload, mode: status.mode, current: status.current, min: status.min, max: status.max,
    decided: status.decided, floor: status.floor?.replicas ?? null, plainHpa: status.plainHpa, grounds: status.grounds, reason: status.reason,
    load: load ? { resource: load.resource, unit: load.unit, now: load.now, forecast: load.forecast?.mean ?? null, model: load.forecast?.model ?? null, trusted: load.trust?.trusted ?? null } : null,
    problems: status.conditions.filter((one) => (one.type === "FloorContested") === (one.status === "True") && one.type !== "WorthEnabling").map((one) => ({ type: one.type, reason: one.reason })),
  };
}

export function targets() {
  const [web] = recorded("scaling.json").targets;
  const named = (name, change) => ({ ...structuredClone(web), object: { ...web.object, name }, workload: { ...web.workload, name }, ...change });
  const learning = named("checkout", { floor: null, current: 3, decided: 3, plainHpa: 3, mode: "floor", reason: "floor stays off: the model has not seen enough" });
  learning.conditions[0] = { ...learning.conditions[0], status: "False", reason: "NotEnoughHistory", message: "cpu: own needs 6 h more of history" };
  learning.loads[0] = { ...learning.loads[0], forecast: null, trust: null, waitsFor: "own (6 h)" };
  const contested = named("search", { floor: null, current: 5, decided: 7, plainHpa: 6 });
  contested.conditions.push({ type: "FloorContested", status: "True", reason: "UndoneTwice", message: "argocd-controller set minReplicas to 2", lastTransitionTime: ago(300) });
  return [web, learning, contested, named("api", { mode: "recommend", floor: null, current: 8, decided: 8, plainHpa: 7 })];
}

export function manyTargets(count) {
  const all = targets();
  return Array.from({ length: count }, (_, index) => {
    const one = structuredClone(all[index % all.length]);
    one.object.name = one.workload.name = `workload-${index}`;
    return one;
  });
}

export function history() {
  const end = Math.floor(NOW / 1000);
  const points = [];
  const curve = (at) => 2200 + 1500 * Math.sin((at - end) / 1900 + 1.2) + 140 * Math.sin(at / 83);
  for (let back = 7200; back > 1800; back -= 60) points.push(row(end - back));
  for (let back = 1800; back >= -105; back -= 15) points.push(row(end - back));
  function row(at) {
    const load = curve(at);
    const forecast = curve(at) + 90 * Math.sin(at / 240);
    const need = (value) => Math.ceil(Math.max(0, value) / 300);
    const known = at <= end;
    return [at, known ? Math.round(load) : null, forecast, forecast * 0.93, forecast * 1.06,
      known ? Math.max(2, need(curve(at - 30))) : null, known ? Math.max(2, need(curve(at + 110))) : null, known ? Math.max(2, need(load)) : null];
  }
  return { step: 15, points };
}

/** The state of the default scenario: six nodes, some placements, four workloads. */
export function usual() {
  const next = random(3);
  const names = ["large-1", "large-2", "medium-1", "medium-2", "small-1", "small-2"];
  const nodes = names.map((name, index) => node(name, next, {
    over: index === 4, taint: index === 4 ? "evenkeel.dev/overloaded=networkIo:NoSchedule" : null, estimated: index === 5 }));
  return { nodes, placements: placements(40, names), statuses: targets(), calendar: recorded("calendar.json"), hpas: hpas(), replay: undefined };
}

function hpas() {
  const one = (namespace, name, change) => ({ namespace, name, target: `Deployment ${name}`, current: 3, desired: 3, min: 2, max: 14, active: true, optedIn: namespace === "shop", ...change });
  return [one("billing", "invoices", { current: 14, desired: 14 }), one("billing", "mail", { active: false, desired: null }), one("shop", "web")];
}

/** A replayed record, as `dev --replay` shows it. */
export function replayed() {
  const row = (name, seconds, hours, nodes) => ({ name, underProvisionedSeconds: seconds, overloadedSeconds: seconds / 4, replicaHours: hours, changes: 12, nodes });
  return {
    rows: [row("as it was", 412, 100), row("recorded HPAs, replayed", 405, 101, { podsRefused: 0, secondsOverLine: 90 }), row("with floors", 0, 106, { podsRefused: 0, secondsOverLine: 0 })],
    sentences: ["with floors: 0 s under-provisioned instead of 405, 5 % more replica-hours."],
    missing: ["Use above the limits of the Pods looks like one at their limits."],
  };
}

/** Starts a stand-in on a free port of the loopback address. */
export async function standIn(world = usual()) {
  const streams = new Set();
  const self = { world, asked: [], refuseStreams: false, silent: false };
  const send = (stream, change) => stream.write(`data: ${JSON.stringify({
    at: new Date(NOW).toISOString(), full: false, synced: true, headroom: 0.8, writes: "enabled", ...change })}\n\n`);
  const full = () => ({ full: true, nodes: self.world.nodes, placements: self.world.placements, targets: self.world.statuses.map(summary), calendar: self.world.calendar, replay: self.world.replay });
  const json = (answer, body, status = 200) => {
    answer.writeHead(status, { "content-type": "application/json" });
    answer.end(JSON.stringify(body));
  };
  const headers = policy();
  const server = createServer((request, answer) => {
    const { pathname, searchParams: query } = new URL(request.url, "http://x");
    self.asked.push(request.url);
    if (pathname === "/api/v1/stream") {
      if (self.refuseStreams) return json(answer, { error: "4 streams are open" }, 503);
      answer.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
      streams.add(answer);
      request.on("close", () => streams.delete(answer));
      if (!self.silent) send(answer, full());
      return undefined;
    }
    if (pathname === "/api/v1/scaling") {
      const targets = self.world.statuses.filter((one) => one.namespace === query.get("namespace") && one.object.name === query.get("name"));
      return json(answer, { targets });
    }
    if (pathname === "/api/v1/scaling/history") return json(answer, self.world.history ?? history());
    if (pathname === "/api/v1/explain" && request.method === "POST") {
      const explained = recorded("explain-node.json");
      explained.now.nodes[0].name = query.get("nodes");
      return json(answer, explained);
    }
    if (pathname === "/api/v1/explain") {
      if (query.get("pod") === "unknown") return json(answer, { error: `kube-scheduler has not asked this replica about Pod ${query.get("namespace")}/unknown lately` }, 404);
      return json(answer, recorded("explain.json"));
    }
    if (pathname === "/api/v1/hpas") return json(answer, { synced: true, hpas: self.world.hpas });
    if (pathname === "/api/v1/hpas/explain") {
      if (query.get("name") === "gone") return json(answer, { error: `there is no HPA ${query.get("namespace")}/gone` }, 404);
      return json(answer, recorded("hpa-explanation.json"));
    }
    if (pathname.startsWith("/api/v1")) return json(answer, { paths: {} });
    const file = join(PAGE, normalize(pathname === "/" ? "/index.html" : pathname.replace(/^\/page/, "")));
    if (!file.startsWith(PAGE) || !existsSync(file)) return json(answer, { error: "there is no such path" }, 404);
    answer.writeHead(200, { "content-type": TYPES[extname(file)], "content-security-policy": headers });
    answer.end(readFileSync(file));
    return undefined;
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  const { port } = server.address();
  return Object.assign(self, {
    url: `http://127.0.0.1:${port}/`,
    /** Sends a change to all open pages. */
    change: (change) => streams.forEach((stream) => send(stream, change)),
    /** Breaks all streams. */
    cut: () => streams.forEach((stream) => stream.destroy()),
    streams: () => streams.size,
    close: () => { streams.forEach((stream) => stream.destroy()); server.closeAllConnections(); return new Promise((resolve) => { server.close(resolve); }); },
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [count] = process.argv.slice(2).map(Number);
  const world = count ? { ...usual(), nodes: manyNodes(count), statuses: manyTargets(count) } : usual();
  const started = await standIn(world);
  console.log(started.url);
}
