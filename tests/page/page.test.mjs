// The page in a real browser, against the stand-in and, if EVENKEEL_DASHBOARD names one, a real service.
// EVENKEEL_CHROMIUM names the browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { chromium } from "playwright-core";
import { history, manyNodes, manyTargets, node, random, replayed, standIn, summary, usual } from "./stand_in.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const VIEWS = ["nodes", "placements", "workloads", "hpas", "calendar"];
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
const TARGET = "#workloads/shop/HorizontalPodAutoscaler/web";

let browser;

before(async () => {
  assert.ok(process.env.EVENKEEL_CHROMIUM, "EVENKEEL_CHROMIUM names the browser");
  browser = await chromium.launch({ executablePath: process.env.EVENKEEL_CHROMIUM, headless: true, args: FLAGS });
});

after(() => browser?.close());

/** Opens the page in a context of its own; errors of scripts and refusals of the policy fail the test. */
async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(error.stack));
  page.on("console", (message) => {
    if (message.type() === "error" && !/net::ERR|status of 50|status of 404/.test(message.text())) page.faults.push(message.text());
  });
  await page.goto(url);
  page.done = async () => {
    assert.deepEqual(page.faults, []);
    await context.close();
  };
  return page;
}

/** Runs a test with a stand-in and a page of it. */
function withPage(name, { world, hash = "", ...options }, run) {
  test(name, async () => {
    const server = await standIn(world?.());
    try {
      const page = await open(server.url + hash, options);
      await page.locator("#link.live").waitFor();
      await run(page, server);
      await page.done();
    } finally {
      await server.close();
    }
  });
}

/** Tiles are made a few at a time, so a count is waited for. */
const counts = (page, selector, count) => page.waitForFunction(([of, wanted]) => document.querySelectorAll(of).length === wanted, [selector, count]);

const text = (page, selector) => page.locator(selector).first().innerText();

/** Repeats a check until it passes: what a click or a key changes is on the screen a moment later. */
async function soon(check) {
  for (const end = Date.now() + 10_000; ; await delay(20)) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}

const holds = (page, selector, parts) => soon(async () => {
  const found = await text(page, selector);
  for (const part of parts) assert.ok(found.includes(part), part);
});

const shows = (page, selector, pattern) => soon(async () => assert.match(await text(page, selector), pattern));

/** Waits for the view of this tab. */
const opened = (page, name) => page.getByRole("tab", { selected: true, name }).waitFor();

withPage("each view shows what it is for", {}, async (page) => {
  await page.locator(".tile").first().waitFor();
  await counts(page, ".tile", 6);
  await shows(page, ".summary", /6 nodes, 1 over the 80 % line, 1 tainted or closed, 1 without a measurement/);
  assert.match(await page.locator(".tile").first().getAttribute("aria-label"), /small-1: over the line: Network; tainted by Evenkeel/);
  await page.getByRole("tab", { name: "Placements" }).click();
  await page.getByRole("link", { name: /^shop\/web-/ }).first().waitFor();
  await shows(page, "#main table", /most even: network 43 % here, 61 % elsewhere/);
  await shows(page, "#main table", /none of 6 nodes has headroom/);
  await page.getByRole("tab", { name: "Workloads" }).click();
  await shows(page, "#main table", /NotEnoughHistory/);
  await shows(page, "#main table", /FloorContested/);
  await page.getByRole("tab", { name: "Calendar" }).click();
  await holds(page, "#main", ["office-hours", "open now", "61 is not a minute", "1 portrait fails", "3 hours ahead", "3 resized"]);
});

withPage("every figure is two clicks away", {}, async (page) => {
  await page.locator(".tile", { hasText: "large-1" }).click();
  await page.getByRole("table", { name: "Terms of node large-1" }).waitFor();
  await holds(page, "#details table", ["Load", "Capacity", "On the way", "Gone", "Requested"]);
  await page.goto(page.url().replace(/#.*/, "#placements"));
  await page.getByRole("link", { name: /^shop\/web-/ }).nth(1).click();
  await page.getByRole("button", { name: "medium-1" }).first().click();
  const terms = page.getByRole("table", { name: "Terms of node medium-1" }).first();
  await terms.waitFor();
  assert.match(await terms.innerText(), /Use with the Pod[\s\S]*Below the line[\s\S]*Deviation/);
  await shows(page, "#details .facts", /4 of 6 nodes passed/);
  await page.getByRole("tab", { name: "Workloads" }).click();
  await page.getByRole("link", { name: "shop/web", exact: true }).click();
  await page.getByRole("table", { name: "Loads", exact: true }).waitFor();
  await holds(page, "#details", ["80 % band", "95 % band", "Each Pod carries", "Start of a Pod", "What to do", "Plain HPA"]);
});

withPage("each HPA has its reason, also one that has not opted in", { hash: "#hpas" }, async (page) => {
  await page.getByRole("link", { name: "billing/invoices" }).waitFor();
  await shows(page, "#main .summary", /3 HPAs, 2 in namespaces that have not opted in, 2 worth a look/);
  await shows(page, "#main table", /at its maximum[\s\S]*does not scale/);
  await page.getByLabel("Show").selectOption("not-opted-in");
  await counts(page, "#main tbody tr", 2);
  await page.getByRole("link", { name: "billing/invoices" }).click();
  await page.getByRole("table", { name: "Pods by cpu" }).waitFor();
  await holds(page, "#details", ["CPU decides", "97m more CPU", "is not ready yet: left out", "no effect", "Windows and policies",
    "Not known from outside", "does not scale it"]);
  await page.goto(page.url().replace(/#.*/, TARGET));
  await page.getByRole("link", { name: "Why the HPA has its count" }).click();
  await page.getByRole("link", { name: "load, forecast and floor" }).waitFor();
});

withPage("an HPA that is gone gets the service's own words", { hash: "#hpas/shop/gone" }, async (page) => {
  await page.getByText("there is no HPA shop/gone").waitFor();
});

withPage("a replay shows what floors would have changed", {}, async (page, server) => {
  const tab = page.getByRole("tab", { name: "Replay" });
  assert.equal(await tab.count(), 0);
  server.change({ replay: { rows: [], sentences: [], missing: ["Use above the limits"] } });
  await tab.click();
  await page.getByText("The table appears when the replays end").waitFor();
  server.change({ replay: replayed() });
  await page.getByText("with floors: 0 s under-provisioned instead of 405").waitFor();
  await shows(page, "#main table", /as it was\s+7 min[\s\S]*with floors\s+0 s/);
});

withPage("each link leads to a place that exists", {}, async (page, server) => {
  const seen = new Set();
  for (const hash of [...VIEWS.map((view) => `#${view}`), TARGET, "#nodes/large-1", "#placements/shop/x"]) {
    await page.goto(server.url + hash);
    await page.waitForTimeout(150);
    for (const link of await page.locator("a[href]:not(.skip)").evaluateAll((all) => all.map((one) => one.getAttribute("href")))) seen.add(link);
  }
  assert.ok(seen.size > 15, `${seen.size} links`);
  for (const link of seen) {
    assert.match(link, /^#(nodes|placements|workloads|hpas|calendar)/);
    await page.goto(server.url + link);
    const id = link.slice(1).split("/")[0];
    await page.locator(`#tab-${id}[aria-selected=true]`).waitFor();
    if (link.includes("/") && !link.includes("IntelligentHorizontal")) {
      await page.locator("#details .facts, #details .why").first().waitFor();
      await soon(async () => assert.equal(await text(page, ".failure"), "", link));
    }
  }
});

for (const view of [...VIEWS, "replay"]) {
  for (const [name, options] of [["light", {}], ["dark", { colorScheme: "dark" }], ["360 px", { viewport: { width: 360, height: 740 } }]]) {
    withPage(`${view}, ${name}: axe finds nothing and nothing overflows`, { hash: `#${view}`, world: () => ({ ...usual(), replay: replayed() }), ...options, bypassCSP: true }, async (page) => {
      await page.waitForTimeout(300);
      await noViolations(page);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "the page scrolls sideways");
      const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(background, name === "dark" ? "rgb(14, 19, 24)" : "rgb(244, 246, 248)");
    });
  }
}

for (const hash of [TARGET, "#nodes/small-1", "#placements/shop/web-85ac895c3b-zzz", "#hpas/billing/invoices"]) {
  withPage(`details ${hash}: axe finds nothing`, { hash, bypassCSP: true }, async (page) => {
    await page.locator("#details table").first().waitFor();
    const open_ = page.locator("#details button.open").first();
    if (await open_.count()) await open_.click();
    await noViolations(page);
  });
}

async function noViolations(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const shown = found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target).join(" | ")}`);
  assert.deepEqual(shown, []);
}

withPage("the keyboard reaches tabs, tiles, rows and the slider", {}, async (page) => {
  await page.locator(".tile").first().waitFor();
  const focused = (id) => soon(async () => assert.equal(await page.evaluate(() => document.activeElement.id), id));
  await page.keyboard.press("Tab");
  await focused("skip");
  await page.keyboard.press("Tab");
  await focused("tab-nodes");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, "solid", "the focus is visible");
  await counts(page, ".tile", 6);
  await page.locator(".tile").first().focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  const name = await page.evaluate(() => document.activeElement.querySelector(".tile-name").textContent);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("#details").waitFor({ state: "hidden" });
  await page.locator("#tab-nodes").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await opened(page, "Workloads");
  await page.getByRole("link", { name: "shop/web", exact: true }).focus();
  await page.keyboard.press("Enter");
  // The details of another workload may be open already.
  await page.locator("#details-title", { hasText: "shop/web" }).waitFor();
  await page.locator("#time").waitFor();
  await page.locator("#time").focus();
  const before_ = await text(page, ".replay .readout");
  for (let press = 0; press < 20; press += 1) await page.keyboard.press("ArrowLeft");
  await soon(async () => assert.notEqual(await text(page, ".replay .readout"), before_));
  assert.match(await page.locator("#time").getAttribute("aria-valuetext"), /ago$/);
});

const HOSTILE = "<img src=x onerror=\"globalThis.owned=1\">\"'&</script>";

withPage("names from the cluster stay text", {
  world: () => {
    const world = usual();
    const [web] = world.statuses;
    const next = random(1);
    world.nodes.push({ ...node(HOSTILE, next), overload: HOSTILE });
    world.placements[0] = { ...world.placements[0], pod: HOSTILE, namespace: HOSTILE, node: HOSTILE, reason: HOSTILE, profile: HOSTILE };
    web.reason = HOSTILE;
    web.conditions[0].message = HOSTILE;
    web.conditions[0].type = HOSTILE;
    world.calendar.cronHpas[0].name = HOSTILE;
    world.calendar.cronHpas[0].crons[0].name = HOSTILE;
    return world;
  },
}, async (page, server) => {
  const places = [...VIEWS.map((view) => `#${view}`), TARGET, `#nodes/${encodeURIComponent(HOSTILE)}`,
    `#placements/${encodeURIComponent(HOSTILE)}/${encodeURIComponent(HOSTILE)}`];
  for (const hash of places) {
    await page.goto(server.url + hash);
    await page.waitForTimeout(250);
    assert.equal(await page.evaluate(() => globalThis.owned), undefined, hash);
    assert.equal(await page.locator("img:not([src='page/icon.svg'])").count(), 0, hash);
  }
  await page.goto(`${server.url}#calendar`);
  await holds(page, "#main", [HOSTILE]);
});

withPage("a lost stream is reported, and the page goes on where it can", {}, async (page, server) => {
  server.refuseStreams = true;
  server.cut();
  await page.locator("#link.lost").waitFor();
  await shows(page, "#notices", /The figures are from \d\d:\d\d:\d\d\. Next attempt in \d+ s\./);
  assert.equal(await page.locator(".tile").count(), 6, "the last state stays");
  server.refuseStreams = false;
  server.world.nodes = server.world.nodes.slice(0, 4);
  await page.getByRole("button", { name: "Connect now" }).click();
  await page.locator("#link.live").waitFor();
  await counts(page, ".tile", 4);
  await soon(async () => assert.equal(await text(page, "#notices"), ""));
});

withPage("a service that opens no stream says why", {}, async (page, server) => {
  server.refuseStreams = true;
  server.cut();
  await page.locator("#link.lost").waitFor();
  await page.getByRole("button", { name: "Connect now" }).click();
  await page.getByText("refuses the stream").waitFor();
});

test("before the first event nothing is known", async () => {
  const server = await standIn();
  server.refuseStreams = true;
  try {
    const page = await open(server.url);
    await shows(page, "#link", /Stream refused/);
    const figures = await page.locator("dl.figures dd").allInnerTexts();
    assert.deepEqual(new Set(figures), new Set(["–"]));
    for (const view of ["nodes", "placements", "workloads", "calendar"]) {
      await page.goto(`${server.url}#${view}`);
      await shows(page, "#main .empty", /Nothing is known yet\./);
    }
    await page.done();
  } finally {
    await server.close();
  }
});

withPage("a hidden page holds no stream", {}, async (page, server) => {
  assert.equal(server.streams(), 1);
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await soon(() => assert.equal(server.streams(), 0));
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { value: false, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await soon(() => assert.equal(server.streams(), 1));
});

withPage("changes arrive as they happen", {}, async (page, server) => {
  const [first] = server.world.nodes;
  server.change({ nodes: [{ ...first, over: ["cpu"], resources: { ...first.resources, cpu: { ...first.resources.cpu, load: 15000 } } }], goneNodes: ["large-2"] });
  await page.getByText("2 over the 80 % line").waitFor();
  await page.waitForFunction(() => document.querySelector("dl.figures dd").textContent === "5");
  server.change({ writes: "disabled" });
  await page.getByText("Writes are disabled").waitFor();
  await page.getByRole("tab", { name: "Placements" }).click();
  const [newest] = server.world.placements;
  server.change({ placements: [{ ...newest, sequence: 1000, uid: "new", pod: "web-new", reason: "a new reason" }] });
  await page.getByText("a new reason").waitFor();
  const target = structuredClone(server.world.statuses[0]);
  target.floor = { replicas: 99, until: target.floor.until };
  server.change({ targets: [summary(target)] });
  await page.getByRole("tab", { name: "Workloads" }).click();
  await page.getByRole("cell", { name: "99", exact: true }).waitFor();
});

withPage("filters and sorting", { world: () => ({ ...usual(), nodes: manyNodes(400), statuses: manyTargets(450) }) }, async (page) => {
  await page.locator("#node-filter").fill("node-000");
  await counts(page, ".tile", 9);
  await page.locator("#node-filter").fill("no such node");
  await page.getByText("No node matches the filter.").waitFor();
  await page.locator("#node-filter").fill("");
  await page.getByLabel("Show").selectOption("unmeasured");
  await counts(page, ".tile", 11);
  await counts(page, ".tile.is-unmeasured", 11);
  await page.getByRole("tab", { name: "Workloads" }).click();
  await counts(page, "#main tbody tr", 200);
  await page.getByRole("button", { name: "Show more" }).click();
  await counts(page, "#main tbody tr", 400);
  await page.locator("#workload-filter").fill("workload-449");
  await counts(page, "#main tbody tr", 1);
});

withPage("a replay moves through the two hours", { hash: TARGET }, async (page) => {
  await page.locator("#time").waitFor();
  await page.getByRole("button", { name: "Play" }).click();
  await page.waitForFunction(() => {
    const value = Number(document.querySelector("#time").value);
    return value > 3 && value < 150;
  });
  await page.getByRole("button", { name: "Stop" }).click();
  await shows(page, ".replay .readout", /h \d+ min ago|\d+ min ago/);
  await page.getByRole("button", { name: "Now" }).click();
  await shows(page, ".replay .readout", /now|s ago/);
});

withPage("a chart marks the times without a load, if there are any", {
  hash: TARGET,
  world: () => {
    const found = history();
    const points = found.points.map((row, index) => (index > 100 && index < 120 ? [row[0], null, ...row.slice(2)] : row));
    return { ...usual(), history: { ...found, points } };
  },
}, async (page, server) => {
  await page.locator(".gap-note").waitFor();
  const marked = await page.evaluate(async () => {
    const { gaps } = await import("/page/chart.js");
    const row = (at, load) => [at, load];
    const minutes = [0, 15, 30, 45, 60, 75, 90, 105, 120].map((at) => row(at, at % 60 === 0 ? 1 : null));
    return [gaps([]), gaps(minutes), gaps([row(0, 1), row(15, 1), row(30, null), row(45, null), row(60, 1), row(75, 1), row(90, null)])];
  });
  assert.deepEqual(marked, [[], [], [[15, 60]]]);
  server.world.history = undefined;
  await page.goto(`${server.url}#nodes`);
  await page.goto(server.url + TARGET);
  await page.locator(".plot canvas").first().waitFor();
  assert.equal(await page.locator(".gap-note").isVisible(), false);
});

withPage("figures as texts", {}, async (page) => {
  const texts = await page.evaluate(async () => {
    const { amount, duration, distance } = await import("/page/format.js");
    return {
      durations: [0, 59.6, 119.4, 119.6, 150, 3570, 7169, 7170, 7199.6, 61199, 61200, 147570, 172769, 172770, 259200].map(duration),
      distances: [0.9, 59.6, -59.6, 61199].map((seconds) => distance(new Date(seconds * 1000).toISOString(), 0)),
      rates: [0, 999.6, 999_600, 9_950_000, 250e6, 1.25e9].map((value) => amount(value, "bytes/s")),
      bytes: [512, 1023.7, 1024 ** 3 - 1, 16 * 1024 ** 3].map((value) => amount(value, "bytes")),
      cores: [0, 995, 999.9, 1000, 3751, 16000].map((value) => amount(value, "millicores")),
    };
  });
  assert.deepEqual(texts.durations, ["0 s", "60 s", "119 s", "2 min", "3 min", "60 min", "119 min", "2 h", "2 h", "17 h", "17 h", "41 h", "47 h 59 min", "2 days", "3 days"]);
  assert.deepEqual(texts.distances, ["now", "in 60 s", "60 s ago", "in 17 h"]);
  assert.deepEqual(texts.rates, ["0 B/s", "1 kB/s", "1 MB/s", "10 MB/s", "250 MB/s", "1.3 GB/s"]);
  assert.deepEqual(texts.bytes, ["512 B", "1 KiB", "1 GiB", "16 GiB"]);
  assert.deepEqual(texts.cores, ["0 cores", "1 core", "1 core", "1 core", "3.75 cores", "16 cores"]);
});

withPage("a horizon has its exact seconds, and the zone of times is shown", { hash: TARGET, timezoneId: "Europe/Vienna" }, async (page, server) => {
  await holds(page, "#details", ["Horizon: 167 s", "describes the load 60 s ago", "the other 107 s", "107 s after the decision", "own trusted (under-provisioned for 0.28 times as long as"]);
  await holds(page, "dl.figures", ["Time (Europe/Vienna)", "00:26:25"]);
  await page.goto(`${server.url}#calendar`);
  await shows(page, "#main .zone", /Times are in Europe\/Vienna/);
});

withPage("an empty list has no header", { hash: "#workloads", world: () => ({ ...usual(), statuses: [], hpas: [] }) }, async (page, server) => {
  await shows(page, "#main .empty", /No workload is scaled or watched/);
  assert.equal(await page.locator("#main .scroll").isVisible(), false);
  await page.goto(`${server.url}#hpas`);
  await shows(page, "#main .empty", /The cluster has no HPA/);
  assert.equal(await page.locator("#main .scroll").isVisible(), false);
});

for (const hash of [...VIEWS.map((view) => `#${view}`), "#replay", TARGET, "#nodes/small-1", "#placements/shop/web-85ac895c3b-zzz", "#hpas/billing/invoices"]) {
  withPage(`360 px, ${hash}: no table is cut`, { hash, viewport: { width: 360, height: 740 }, world: () => ({ ...usual(), replay: replayed() }) }, async (page) => {
    await page.locator(hash.includes("/") ? "#details table" : "#main :is(table, .tile)").first().waitFor();
    await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
    const button = page.locator("#details button.open").first();
    if (await button.count()) await button.click();
    const cut = await page.locator(".scroll").evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel));
    assert.deepEqual(cut, []);
  });
}

withPage("1280 px: the node table is whole beside the nodes", { hash: "#nodes/small-1", viewport: { width: 1280, height: 800 } }, async (page) => {
  await page.locator("#details .terms").waitFor();
  assert.equal(await page.locator("#details .scroll").first().evaluate((one) => one.scrollWidth <= one.clientWidth), true);
});

withPage("an unknown Pod gets the service's own words", { hash: "#placements/shop/unknown" }, async (page) => {
  await page.getByText("kube-scheduler has not asked this replica about Pod shop/unknown lately").waitFor();
});

// How many nodes change with each update: all of them, or so many that each changes four times a second.
for (const [count, rate, share] of [[500, 60, 1], [500, 60, 1 / 15], [5000, 1, 1]]) {
  const changing = Math.ceil(count * share);
  withPage(`${count} nodes, ${rate} updates a second of ${changing} nodes`, { world: () => ({ ...usual(), nodes: manyNodes(count) }) }, async (page, server) => {
    await counts(page, ".tile", count);
    // They are made beforehand, so that the page has the processor for itself.
    const next = random(9);
    const updates = Array.from({ length: 30 }, (_, sent) => Array.from({ length: changing }, (_unused, index) => {
      const one = server.world.nodes[(sent * changing + index) % count];
      return { ...node(one.name, next), over: one.over, estimated: one.estimated };
    }));
    const seconds = 5;
    await page.waitForTimeout(1000);
    await page.evaluate(() => {
      globalThis.frames = [];
      let last = performance.now();
      const frame = (now) => {
        globalThis.frames.push(now - last);
        last = now;
        requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    });
    const started = Date.now();
    for (let sent = 0; sent < rate * seconds; sent += 1) {
      server.change({ nodes: updates[sent % updates.length] });
      await delay(Math.max(0, started + (sent + 1) * 1000 / rate - Date.now()));
    }
    const frames = await page.evaluate(() => globalThis.frames);
    const longest = Math.max(...frames);
    const late = frames.filter((frame) => frame > 100).length;
    console.log(`${count} nodes, ${rate} updates a second of ${changing} nodes: ${frames.length} frames, longest ${longest.toFixed(0)} ms, ${late} over 100 ms`);
    if (process.env.EVENKEEL_ASSERT_FRAMES) assert.equal(late, 0, `the longest frame took ${longest} ms`);
  });
}

test("a real service", { skip: !process.env.EVENKEEL_DASHBOARD && "EVENKEEL_DASHBOARD names no service" }, async () => {
  const page = await open(process.env.EVENKEEL_DASHBOARD);
  await page.locator("#link.live").waitFor();
  await page.locator(".tile").first().waitFor({ timeout: 60000 });
  await page.waitForFunction(() => document.querySelectorAll(".tile").length >= 6);
  await page.getByRole("tab", { name: "Placements" }).click();
  await page.getByRole("link", { name: /\// }).first().waitFor({ timeout: 60000 });
  await page.getByRole("link", { name: /\// }).first().click();
  await page.getByRole("table", { name: "Demand of the Pod" }).first().waitFor();
  await page.goto(`${process.env.EVENKEEL_DASHBOARD}#nodes`);
  await page.locator(".tile").first().click();
  await page.locator("#details .terms").waitFor();
  await page.goto(`${process.env.EVENKEEL_DASHBOARD}${TARGET}`);
  await page.getByRole("table", { name: "Loads", exact: true }).waitFor({ timeout: 60000 });
  await page.locator(".plot canvas").first().waitFor({ timeout: 60000 });
  await page.goto(`${process.env.EVENKEEL_DASHBOARD}#hpas/shop/web`);
  await page.getByRole("table", { name: "Pods by cpu" }).waitFor({ timeout: 60000 });
  await page.getByRole("tab", { name: "Calendar" }).click();
  await page.getByText("There is no CronHPA in an opted-in namespace.").waitFor();
  await page.done();
});
