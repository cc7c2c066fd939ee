/** The numbers of a run, and of several with intervals when somebody asks for them. */

import { h } from "./dom";

interface Quantity {
  title: string;
  unit: string;
  path: string;
  by: number;
}

const FLOW: Quantity[] = [
  { title: "Goodput", unit: "Mb/s", path: "goodput_bps.mean", by: 1e-6 },
  { title: "Round trip", unit: "ms", path: "rtt_ms.mean", by: 1 },
  { title: "95 % of them below", unit: "ms", path: "rtt_ms.p95", by: 1 },
  { title: "Resent", unit: "packets", path: "retransmitted_packets", by: 1 },
  { title: "Timeouts", unit: "", path: "timeouts", by: 1 },
];
const LINK: Quantity[] = [
  { title: "Utilisation", unit: "%", path: "utilisation.mean", by: 100 },
  { title: "Time in the queue", unit: "ms", path: "sojourn_ms.mean", by: 1 },
  { title: "95 % of it below", unit: "ms", path: "sojourn_ms.p95", by: 1 },
  { title: "Lost", unit: "packets", path: "dropped_packets", by: 1 },
  { title: "Marked", unit: "packets", path: "marked_packets", by: 1 },
];

/** The value at a dotted path. */
const at = (row: any, path: string): unknown => path.split(".").reduce((value, key) => value?.[key], row);

const short = (value: number) => (Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2));

/** The mean, with its interval where there is one. */
function cell(row: any, { path, by }: Quantity): HTMLElement {
  const mean = at(row, path);
  if (typeof mean !== "number") return h("td", {}, "–");
  const interval = row.ci95?.[path];
  const td = h("td", {}, short(mean * by));
  if (typeof interval?.[0] === "number") td.append(h("small", {}, ` ${short(interval[0] * by)} … ${short(interval[1] * by)}`));
  return td;
}

function table(caption: string, columns: Quantity[], rows: [string, any][]): HTMLElement {
  const kept = columns.filter(({ path }) => rows.some(([, row]) => typeof at(row, path) === "number" && (path !== "marked_packets" || at(row, path) !== 0)));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, caption), ...kept.map(({ title, unit }) => h("th", { scope: "col" }, unit ? `${title} [${unit}]` : title)))),
      h("tbody", {}, ...rows.map(([name, row]) => h("tr", {}, h("th", { scope: "row" }, name), ...kept.map((column) => cell(row, column)))))));
}

/** The tables of a summary. */
export function tables(summary: any, nameOf: (flow: string) => string): HTMLElement[] {
  const flows = summary.flows.map((row: any): [string, any] => [nameOf(row.name), row]);
  const links = summary.links.filter((row: any) => typeof row.utilisation?.mean === "number");
  return [
    table("Flow", FLOW, flows),
    table("Link", LINK, links.map((row: any): [string, any] => [row.flow ? `${row.name}, ${nameOf(row.flow)} alone` : row.name, row])),
    h("p", { class: "hint" }, summary.runs > 1 ? `Means of ${summary.runs} runs with 95 % intervals.` : "Of the one run above. Several runs with other seeds say how much of it is chance."),
  ];
}
