/** A run as arrays. */

import { type Answer, type Column, numbers } from "./engine/module";

/** The time series of a flow or a link, by the names of their columns. */
export interface Series {
  name: string;
  /** The flow that has the link to itself, or nothing. */
  owner: string;
  columns: Record<string, Float64Array>;
}

/** A queue that flows wait in. */
export interface Queue {
  /** The flow that has it to itself, or nothing. */
  owner: string;
  /** How long it keeps a packet waiting [ms]. */
  waiting: Float64Array;
}

export interface Result {
  summary: any;
  /** Ends of intervals [s]. */
  time: Float64Array;
  flows: Series[];
  links: Series[];
  /** What limits the flows most: the link with the queue. */
  bottleneck: Series;
  /** The queue of the bottleneck, of each flow that is alone on its network. */
  queues: Queue[];
}

interface Network {
  network: number;
  flows: { name: string; columns: Column[] }[];
  links: { name: string; columns: Column[] }[];
}

function arrays(columns: Column[], bytes: ArrayBuffer): Record<string, Float64Array> {
  return Object.fromEntries(columns.map((column) => [column.name, numbers(column, bytes)]));
}

/** The series of an answer with them. */
export function seriesOf({ ok, bytes }: Answer<{ series: Network[] }>): { flows: Series[]; links: Series[] } {
  const isolated = ok.series.length > 1;
  const flows = ok.series.flatMap((one) => one.flows.map((flow) => ({ name: flow.name, owner: "", columns: arrays(flow.columns, bytes) })));
  const links = ok.series.flatMap((one) =>
    one.links.map((link) => ({ name: link.name, owner: isolated ? (one.flows[0]?.name ?? "") : "", columns: arrays(link.columns, bytes) })),
  );
  return { flows, links };
}

/** The link that limits flows most: the first with a limit, or that of the usual name. */
function narrowest(links: Series[]): Series {
  const finite = links.filter((link) => link.columns.capacity_bps.some(Number.isFinite));
  return finite.find((link) => link.name === "forward") ?? finite[0] ?? links[0];
}

/** A run from the answers to `run` and `summary`. */
export function resultOf(run: Answer<any>, summary: Answer<any>): Result {
  const { flows, links } = seriesOf(run);
  const owners = [...new Set(links.map((link) => link.owner))];
  const bottlenecks = owners.map((owner) => narrowest(links.filter((link) => link.owner === owner)));
  const queues = bottlenecks.map(({ owner, columns }) => ({ owner, waiting: waitingMs(columns.time_s, columns.backlog_bytes, columns.capacity_bps) }));
  return { summary: summary.ok, time: bottlenecks[0].columns.time_s, flows, links, bottleneck: bottlenecks[0], queues };
}

/**
 * Until what waits at each instant has been sent at the capacity that follows [ms]: the delay of a packet that comes
 * then, if packets leave in the order in which they come. NaN where the series ends before that. The report's
 * `waiting_ms` says the same.
 */
export function waitingMs(time: Float64Array, backlog: Float64Array, capacity: Float64Array): Float64Array {
  const count = time.length;
  const served = new Float64Array(count + 1);
  for (let i = 0; i < count; i++) {
    const step = time[i] - (i > 0 ? time[i - 1] : 0);
    served[i + 1] = served[i] + (Number.isFinite(capacity[i]) ? capacity[i] : 0) * step;
  }
  let place = 1;
  return time.map((now, i) => {
    if (backlog[i] === 0 || !Number.isFinite(capacity[i])) return 0;
    const wanted = served[i + 1] + 8 * backlog[i];
    place = Math.max(place, i + 1);
    // Backlogs fall, so what is wanted may, too.
    while (place > i + 1 && served[place - 1] >= wanted) place--;
    while (place <= count && served[place] < wanted) place++;
    if (place > count) return NaN;
    const [before, after] = [served[place - 1], served[place]];
    const begin = place > 1 ? time[place - 2] : 0;
    const end = begin + (after > before ? ((wanted - before) / (after - before)) * (time[place - 1] - begin) : 0);
    return (end - now) * 1e3;
  });
}

/** The mean of what is finite. */
export function mean(values: ArrayLike<number>): number {
  let [sum, count] = [0, 0];
  for (let i = 0; i < values.length; i++) if (Number.isFinite(values[i])) (sum += values[i]), count++;
  return count ? sum / count : NaN;
}

/** The value that a share of the finite ones does not exceed. */
export function quantile(values: ArrayLike<number>, share: number): number {
  const sorted = Array.from(values).filter(Number.isFinite).sort((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : NaN;
}
