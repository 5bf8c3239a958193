// The charts of one target over time: load with forecast, and replicas with floor and plain HPA. Lines
// differ in their dashes too, not in colour alone.
/* global uPlot: vendor/uplot/uPlot.iife.min.js */

import { h } from "./dom.js";
import { amount, number, timeOfDay } from "./format.js";

const FONT = "12px system-ui, sans-serif";

/** Columns of a row of the history. */
export const COLUMN = { at: 0, load: 1, forecast: 2, lower: 3, upper: 4, replicas: 5, floor: 6, plain: 7 };

/** The time between two known loads is marked if it is this many times as long as usual. */
const GAP = 3;

/** The times between two known loads in which none is known, as pairs of seconds. */
export function gaps(rows) {
  const known = rows.filter((row) => row[COLUMN.load] !== null).map((row) => row[COLUMN.at]);
  const unknown = rows.filter((row) => row[COLUMN.load] === null).map((row) => row[COLUMN.at]);
  const pairs = known.slice(1).map((to, index) => [known[index], to]);
  const lengths = pairs.map(([from, to]) => to - from).sort((a, b) => a - b);
  const usual = lengths[Math.floor(lengths.length / 2)];
  return pairs.filter(([from, to]) => to - from >= GAP * usual && unknown.some((at) => at > from && at < to));
}

const LINES = {
  load: { label: "Load", color: "--line-load", width: 2 },
  forecast: { label: "Forecast made one horizon before", color: "--line-forecast", width: 2, dash: [6, 4] },
  replicas: { label: "Replicas", color: "--line-replicas", width: 2 },
  floor: { label: "Floor", color: "--line-floor", width: 2, dash: [8, 3] },
  plain: { label: "Plain HPA", color: "--line-plain", width: 1.5, dash: [2, 3] },
};

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function key(line) {
  const { label, color, dash } = LINES[line];
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 28 8");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", "M0 4h28");
  path.setAttribute("class", `key-line ${color.slice(2)}`);
  if (dash) path.setAttribute("stroke-dasharray", dash.join(" "));
  svg.append(path);
  return h("span", { class: "key-item" }, svg, label);
}

/** Two charts that share their time, and the time that is looked at. */
export class HistoryCharts {
  constructor(onTime) {
    this.onTime = onTime;
    this.at = null;
    this.charts = [];
    this.rows = [];
    this.unit = "";
    this.gaps = [];
    const plot = (label) => h("div", { class: "plot", role: "img", "aria-label": label });
    this.loadPlot = plot("Load and forecast");
    this.replicaPlot = plot("Replicas, floor and plain HPA");
    this.loadTitle = h("h3", {}, "Load");
    this.gapNote = h("p", { class: "gap-note", hidden: true }, h("span", { class: "key-gap", "aria-hidden": "true" }),
      "No load is known here: Pods had just started or ended, or a measurement is missing.");
    this.element = h("div", { class: "charts" },
      this.loadTitle,
      h("p", { class: "chart-key" }, key("load"), key("forecast"),
        h("span", { class: "key-item" }, h("span", { class: "key-band", "aria-hidden": "true" }), "80 % band")),
      this.loadPlot, this.gapNote,
      h("h3", {}, "Replicas"),
      h("p", { class: "chart-key" }, key("replicas"), key("floor"), key("plain")),
      this.replicaPlot);
    this.resized = new ResizeObserver(() => this.fit());
    this.resized.observe(this.element);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.recolour = () => this.build();
    this.scheme.addEventListener("change", this.recolour);
  }

  destroy() {
    this.resized.disconnect();
    this.scheme.removeEventListener("change", this.recolour);
    for (const chart of this.charts) chart.destroy();
    this.charts = [];
  }

  show(rows, unit, resource) {
    this.rows = rows;
    this.gaps = gaps(rows);
    this.gapNote.hidden = this.gaps.length === 0;
    this.loadTitle.textContent = `Load: ${resource}`;
    const rebuilt = unit !== this.unit || this.charts.length === 0;
    this.unit = unit;
    if (rebuilt) this.build();
    else this.charts.forEach((chart, index) => chart.setData(this.data()[index]));
  }

  data() {
    const column = (name) => this.rows.map((row) => row[COLUMN[name]] ?? null);
    const at = column("at");
    return [
      [at, column("upper"), column("lower"), column("forecast"), column("load")],
      [at, column("plain"), column("replicas"), column("floor")],
    ];
  }

  build() {
    for (const chart of this.charts) chart.destroy();
    this.charts = [];
    if (this.rows.length === 0) return;
    const step = uPlot.paths.stepped({ align: 1 });
    const line = (name, more) => ({
      label: LINES[name].label, stroke: css(LINES[name].color), width: LINES[name].width, dash: LINES[name].dash,
      points: { show: false }, ...more,
    });
    const unseen = { stroke: "transparent", points: { show: false } };
    const [load, replicas] = this.data();
    this.charts = [
      new uPlot(this.options([unseen, unseen, line("forecast"), line("load")], {
        bands: [{ series: [1, 2], fill: css("--band") }],
        value: (value) => amount(value, this.unit), behind: (chart) => this.drawGaps(chart),
      }), load, this.loadPlot),
      new uPlot(this.options([line("plain", { paths: step }), line("replicas", { paths: step }), line("floor", { paths: step })], {
        value: (value) => number(value, 0), whole: true,
      }), replicas, this.replicaPlot),
    ];
    this.fit();
  }

  options(series, { bands, value, whole, behind }) {
    const axis = { stroke: css("--muted"), font: FONT, grid: { stroke: css("--grid"), width: 1 }, ticks: { show: false } };
    return {
      width: Math.max(200, this.element.clientWidth), height: 170, legend: { show: false },
      scales: { x: { time: true }, y: { range: (chart, low, high) => [0, high > 0 ? Math.max(whole ? 2 : 0, high * 1.1) : whole ? 2 : 1000] } },
      cursor: { drag: { x: false, y: false }, sync: { key: "history" }, points: { show: false } },
      bands,
      axes: [
        { ...axis, size: 26, space: 60, values: (chart, splits, index, space, step) => splits.map((at) => timeOfDay(at * 1000).slice(0, step < 60 ? 8 : 5)) },
        { ...axis, size: 76, incrs: whole ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] : undefined,
          values: (chart, splits) => splits.map((split) => value(split)) },
      ],
      series: [{}, ...series],
      hooks: {
        setCursor: [(chart) => {
          const index = chart.cursor.idx;
          if (chart.cursor.event && index != null && this.rows[index]) this.onTime(index);
        }],
        drawClear: behind ? [behind] : [],
        draw: [(chart) => this.drawTime(chart)],
      },
    };
  }

  /** The time that is looked at, as a line in both charts. */
  mark(index) {
    this.at = this.rows[index]?.[COLUMN.at] ?? null;
    for (const chart of this.charts) chart.redraw(false);
  }

  drawGaps(chart) {
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.fillStyle = css("--unknown");
    for (const [from, to] of this.gaps) {
      const [left, right] = [from, to].map((at) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, chart.valToPos(at, "x", true))));
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
    }
    ctx.restore();
  }

  drawTime(chart) {
    if (this.at === null) return;
    const left = Math.round(chart.valToPos(this.at, "x", true));
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.strokeStyle = css("--text");
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }

  fit() {
    const width = this.element.clientWidth;
    if (width < 50) return;
    for (const chart of this.charts) {
      if (chart.width !== width) chart.setSize({ width, height: 170 });
    }
  }
}
