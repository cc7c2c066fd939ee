/** The charts of a run: one axis of time, one cursor. */

import uPlot from "uplot";
import { h, token } from "./dom";
import { type Queue, type Result, type Series, mean, quantile } from "./result";

/** A line that is not measured: what an analysis says, drawn over the throughput. */
export interface Level {
  label: string;
  value: number;
}

interface Chart {
  figure: HTMLElement;
  plot: uPlot;
  rows: uPlot.AlignedData;
}

const HEIGHTS = { throughput: 250, delay: 130, window: 130, losses: 84 };
const PACKET = 1500;

/** A number as people read it. */
export function show(value: number, unit: string): string {
  if (!Number.isFinite(value)) return "–";
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}

/** The colour of the flow with this index, the same everywhere. */
export function colour(index: number): string {
  return token(`c${index % 7}`);
}

const scaled = (values: Float64Array, by: number): number[] => Array.from(values, (value) => value * by);

/** Lost packets in each interval, on all links. */
function losses(result: Result): number[] {
  const counts = new Array<number>(result.time.length).fill(0);
  for (const link of result.links) link.columns.dropped_packets.forEach((lost, i) => (counts[i] += lost));
  return counts;
}

export class Charts {
  private charts = new Map<string, Chart>();
  private shape = "";
  private result?: Result;
  /** The chart of the throughput was made anew. */
  onMade: (plot: uPlot) => void = () => {};

  constructor(
    private readonly place: HTMLElement,
    private readonly nameOf: (flow: string) => string,
  ) {
    new ResizeObserver(() => this.resize()).observe(place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.again());
  }

  /** Draws a run, with the one before it in pale lines, and what an analysis says. */
  draw(result: Result, before: Result | undefined, levels: Level[], top: number): void {
    this.result = result;
    const ghost = before && before.time.length === result.time.length ? before : undefined;
    const names = (of?: Result) => [of?.flows.map((flow) => flow.name), of?.queues.map((queue) => queue.owner)];
    const shape = JSON.stringify([names(result), names(ghost), levels.map((level) => level.label)]);
    const tables = this.tables(result, ghost, levels);
    if (shape !== this.shape) {
      this.shape = shape;
      this.make(result, ghost, levels, tables);
    } else {
      for (const [name, rows] of Object.entries(tables)) {
        const chart = this.charts.get(name)!;
        chart.rows = rows;
        chart.plot.setData(rows, false);
      }
    }
    this.scale(top);
    this.describe(result);
  }

  private again(): void {
    this.shape = "";
    if (this.result) dispatchEvent(new Event("varicap-redraw"));
  }

  private tables(result: Result, ghost: Result | undefined, levels: Level[]): Record<string, uPlot.AlignedData> {
    const time = Array.from(result.time);
    const flows = (of: Result | undefined, column: string, by: number) => (of?.flows ?? []).map((flow) => scaled(flow.columns[column], by));
    const capacity = scaled(result.bottleneck.columns.capacity_bps, 1e-6);
    const lines = levels.map(({ value }) => time.map(() => value / 1e6));
    return {
      throughput: [time, capacity, ...flows(ghost, "throughput_bps", 1e-6), ...flows(result, "throughput_bps", 1e-6), ...lines],
      delay: [time, ...[...(ghost?.queues ?? []), ...result.queues].map(({ waiting }) => Array.from(waiting))],
      window: [time, ...flows(ghost, "cwnd_bytes", 1 / PACKET), ...flows(result, "cwnd_bytes", 1 / PACKET)],
      losses: [time, losses(result)],
    };
  }

  private make(result: Result, ghost: Result | undefined, levels: Level[], tables: Record<string, uPlot.AlignedData>): void {
    this.charts.forEach(({ plot }) => plot.destroy());
    this.charts.clear();
    const step = (uPlot.paths as any).stepped({ align: -1 });
    const bars = (uPlot.paths as any).bars({ size: [0.9, 8, 1] });
    const pale = (flow: Series, i: number): uPlot.Series => ({ label: `${this.nameOf(flow.name)}, before`, stroke: colour(i) + "59", width: 1, dash: [4, 3], points: { show: false } });
    const line = (flow: Series, i: number): uPlot.Series => ({ label: this.nameOf(flow.name), stroke: colour(i), width: 1.6, points: { show: false } });
    const each = [...(ghost?.flows.map(pale) ?? []), ...result.flows.map(line)];
    // A queue that flows share has no flow's colour.
    const hue = ({ owner }: Queue) => (owner ? colour(result.flows.findIndex(({ name }) => name === owner)) : token("queue"));
    const called = ({ owner }: Queue) => (owner ? this.nameOf(owner) : "queueing delay");
    const queues = [
      ...(ghost?.queues ?? []).map((queue): uPlot.Series => ({ label: `${called(queue)}, before`, stroke: hue(queue) + "59", width: 1, dash: [4, 3], points: { show: false } })),
      ...result.queues.map((queue): uPlot.Series => ({ label: called(queue), stroke: hue(queue), fill: queue.owner ? undefined : hue(queue) + "22", width: 1.4, points: { show: false } })),
    ];
    const series: Record<string, [string, string, uPlot.Series[]]> = {
      throughput: ["Throughput over capacity", "Mb/s", [
        { label: "capacity", stroke: token("soft"), fill: token("shade"), width: 1.2, paths: step, points: { show: false } },
        ...each,
        ...levels.map((level): uPlot.Series => ({ label: level.label, stroke: token("ink"), width: 1.2, dash: [8, 5], points: { show: false } })),
      ]],
      delay: ["Queueing delay", "ms", queues],
      window: ["Congestion window", "packets", each],
      losses: ["Losses", "packets", [{ label: "lost", stroke: token("loss"), fill: token("loss"), paths: bars, points: { show: false } }]],
    };
    const figures = Object.entries(series).map(([name, [title, unit, lines]]) => {
      const figure = h("figure", { class: `chart ${name}` });
      const caption = h("figcaption", {}, h("strong", {}, title), h("span", { class: "unit" }, ` ${unit}`), h("span", { class: "reading" }));
      // The first chart has the handle of the curve inside, which a picture may not.
      const canvas = h("div", { class: "canvas", role: name === "throughput" ? "group" : "img" });
      figure.append(caption, canvas);
      return { name, figure, canvas, lines };
    });
    this.place.replaceChildren(...figures.map(({ figure }) => figure));
    for (const { name, figure, canvas, lines } of figures) {
      const options = this.options(name, lines);
      const plot = new uPlot(options, tables[name], canvas);
      this.charts.set(name, { figure, plot, rows: tables[name] });
    }
    this.onMade(this.charts.get("throughput")!.plot);
  }

  private options(name: string, lines: uPlot.Series[]): uPlot.Options {
    const axis = { stroke: token("soft"), grid: { stroke: token("rule"), width: 0.6 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    return {
      width: this.width(),
      height: HEIGHTS[name as keyof typeof HEIGHTS],
      legend: { show: false },
      cursor: { sync: { key: "varicap" }, drag: { x: false, y: false, setScale: false }, y: false, points: { size: 6 } },
      scales: { x: { time: false }, y: { auto: false, range: (_u, _min, max) => [0, max] } },
      axes: [
        { ...axis, size: 26, space: 70, incrs: [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500], values: (_u, ticks) => ticks.map((tick) => `${tick} s`) },
        { ...axis, size: 46, space: 28 },
      ],
      series: [{ label: "time" }, ...lines],
      hooks: { setCursor: name === "throughput" ? [(plot) => this.read(plot)] : [] },
      padding: [6, 16, 0, 0],
    };
  }

  private scale(top: number): void {
    const highest = (rows: uPlot.AlignedData) => Math.max(1e-9, ...rows.slice(1).map((row) => Math.max(0, ...Array.from(row as number[]).filter(Number.isFinite))));
    this.charts.forEach(({ plot, rows }, name) => {
      const time = rows[0] as number[];
      plot.batch(() => {
        plot.setScale("x", { min: 0, max: time[time.length - 1] });
        plot.setScale("y", { min: 0, max: name === "throughput" ? top : Math.max(name === "losses" ? 4 : 5, highest(rows) * 1.08) });
      });
    });
  }

  /** Writes the values under the cursor beside the titles. */
  private read(plot: uPlot): void {
    const index = plot.cursor.idx;
    const time = index == null ? null : (plot.data[0][index] ?? null);
    for (const [name, { figure, plot: one }] of this.charts) {
      const reading = figure.querySelector(".reading")!;
      if (index == null || time === null) {
        reading.textContent = "";
        continue;
      }
      const unit = { throughput: "Mb/s", delay: "ms", window: "", losses: "" }[name] ?? "";
      const parts = one.series.slice(1).map((series, i) => [String(series.label), (one.data[i + 1] as number[])[index]] as const);
      const told = parts.filter(([label, value]) => !label.endsWith("before") && Number.isFinite(value));
      reading.textContent = `${time.toFixed(1)} s: ` + told.map(([label, value]) => (told.length > 1 ? `${label} ` : "") + show(value, unit).trim()).join(", ");
    }
  }

  /** What the charts show, for whoever does not see them. */
  private describe(result: Result): void {
    const tell = (name: string, text: string) => this.charts.get(name)?.figure.querySelector(".canvas")!.setAttribute("aria-label", text);
    const flows = (column: string, by: number, unit: string) =>
      result.flows.map((flow) => `${this.nameOf(flow.name)} ${show(mean(flow.columns[column]) * by, unit)} on average`).join(", ");
    tell("throughput", `Throughput: ${flows("throughput_bps", 1e-6, "Mb/s")}; capacity ${show(mean(result.bottleneck.columns.capacity_bps) / 1e6, "Mb/s")}`);
    const waits = result.queues.map(({ owner, waiting }) => `${owner && `${this.nameOf(owner)} `}${show(mean(waiting), "ms")} on average, ${show(quantile(waiting, 0.95), "ms")} at most in 95 % of the time`);
    tell("delay", `Queueing delay: ${waits.join("; ")}`);
    tell("window", `Congestion window: ${flows("cwnd_bytes", 1 / PACKET, "packets")}`);
    tell("losses", `Losses: ${losses(result).reduce((sum, lost) => sum + lost, 0)} packets`);
  }

  /** Room for a chart [px]. */
  private width(): number {
    const { paddingLeft, paddingRight } = getComputedStyle(this.place);
    return Math.max(200, this.place.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight));
  }

  private resize(): void {
    const width = this.width();
    this.charts.forEach(({ plot }) => plot.width !== width && plot.setSize({ width, height: plot.height }));
  }

  /** The charts as one picture. */
  picture(): Promise<Blob> {
    const ratio = devicePixelRatio || 1;
    const all = [...this.charts.values()];
    const canvas = h("canvas", { width: Math.max(...all.map(({ plot }) => plot.ctx.canvas.width)), height: all.reduce((sum, { plot }) => sum + plot.ctx.canvas.height + 24 * ratio, 0) });
    const context = canvas.getContext("2d")!;
    context.fillStyle = token("panel");
    context.fillRect(0, 0, canvas.width, canvas.height);
    let y = 0;
    for (const { figure, plot } of all) {
      context.fillStyle = token("ink");
      context.font = `${13 * ratio}px system-ui, sans-serif`;
      context.fillText(figure.querySelector("strong")!.textContent + figure.querySelector(".unit")!.textContent!, 10 * ratio, y + 17 * ratio);
      context.drawImage(plot.ctx.canvas, 0, y + 24 * ratio);
      y += plot.ctx.canvas.height + 24 * ratio;
    }
    return new Promise((resolve) => canvas.toBlob((blob) => resolve(blob!), "image/png"));
  }
}

/** A run as a table of its time series. */
export function csv(result: Result): string {
  const delays = result.queues.map(({ owner }) => `${owner && `${owner}.`}queueing_delay_ms`);
  const head = ["time_s", "capacity_bps", ...delays, "dropped_packets"];
  const lost = losses(result);
  for (const { name } of result.flows) head.push(`${name}.throughput_bps`, `${name}.cwnd_bytes`, `${name}.srtt_s`);
  const cell = (value: number) => (Number.isFinite(value) ? String(value) : "");
  const rows = Array.from(result.time, (time, i) =>
    [time, result.bottleneck.columns.capacity_bps[i], ...result.queues.map(({ waiting }) => waiting[i]), lost[i], ...result.flows.flatMap(({ columns }) => [columns.throughput_bps[i], columns.cwnd_bytes[i], columns.srtt_s[i]])].map(cell).join(","),
  );
  return [head.join(","), ...rows].join("\n") + "\n";
}
