/** "You are the congestion control": a window steered by hand on a hidden capacity, against CUBIC and BBR. */

import { colour, show } from "./charts";
import { h, token } from "./dom";
import type { Client } from "./engine/client";
import { mean, type Result, resultOf, seriesOf, waitingMs } from "./result";
import { decode, encode } from "./state";

const DURATION = 30;
const RTT = 80;
const STEP = 0.1;
const MOST_WINDOW = 200;

/** What was steered: the window from each step on [packets]. */
interface Replay {
  seed: number;
  windows: number[];
}

/** Whether a value, which anybody may have written, has the shape of a replay. */
function isReplay(of: any): of is Replay {
  const isWindow = (value: unknown) => typeof value === "number" && value >= 1 && value <= MOST_WINDOW;
  return Number.isSafeInteger(of?.seed) && of.seed >= 0 && Array.isArray(of.windows) && of.windows.every(isWindow);
}

interface Outcome {
  name: string;
  throughput: number;
  delay: number;
  score: number;
  result: Pick<Result, "time"> & { waiting: Float64Array; rate: Float64Array };
}

/** A hidden capacity: a chain of three rates. */
function scenario(seed: number, control: string): string {
  return `schema_version = 1
name = "game"
duration = "${DURATION} s"
seed = ${seed}

[topology.dumbbell.forward]
capacity = { markov = { rates = ["3 Mbit/s", "8 Mbit/s", "14 Mbit/s"], mean_holding = ["4 s", "5 s", "4 s"] } }
delay = "${RTT / 2} ms"
queue = { drop-tail = { limit = "120 packets" } }

[topology.dumbbell.reverse]
delay = "${RTT / 2} ms"

[flows.you]
tcp = { congestion = ${control} }

[record]
sample = "100 ms"
`;
}

/**
 * Power, in thousandths of what is possible: throughput over delay, each beside that of a link that is always busy with
 * an empty queue. Source: Kleinrock 1979.
 */
export function score(throughput: number, capacity: number, waitingMs: number): number {
  return Math.round((1000 * throughput * RTT) / (capacity * (RTT + waitingMs)));
}

export class Game {
  private readonly canvas = h("canvas", { role: "img", "aria-label": "Your throughput and the queueing delay" });
  private readonly wheel = h("input", { type: "range", min: 1, max: MOST_WINDOW, step: 1, value: 20, "aria-label": "Your window in packets", "aria-orientation": "vertical" });
  private readonly shown = h("output", {}, "20 packets");
  private readonly begin = h("button", { type: "button", class: "primary" }, "Start");
  private readonly said = h("p", { class: "score", role: "status" });
  private readonly table = h("div");
  private replay: Replay = { seed: 1, windows: [] };
  private isReplay = false;
  private timer = 0;
  /** Whatever awaits something ends when another round has begun meanwhile. */
  private round = 0;
  private outcomes: Outcome[] = [];
  private live?: Outcome["result"];
  private capacity?: Float64Array;

  constructor(
    private readonly place: HTMLElement,
    private readonly client: Client,
  ) {
    this.begin.addEventListener("click", () => this.play({ seed: 1 + Math.floor(Math.random() * 1e6), windows: [] }));
    this.wheel.addEventListener("input", () => (this.shown.textContent = `${this.wheel.value} packets`));
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.turn(event.deltaY < 0 ? 3 : -3);
    }, { passive: false });
    addEventListener("keydown", (event) => {
      if (this.place.hidden || event.target === this.wheel) return;
      if (event.key === "ArrowUp" || event.key === "ArrowDown") {
        event.preventDefault();
        this.turn(event.key === "ArrowUp" ? 2 : -2);
      }
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  private turn(by: number): void {
    this.wheel.value = String(Number(this.wheel.value) + by);
    this.wheel.dispatchEvent(new Event("input"));
  }

  /** Shows the game, or the replay of a link. */
  open(asked: URLSearchParams): void {
    this.place.replaceChildren(
      h("h2", {}, "You are the congestion control"),
      h("p", {}, `For ${DURATION} seconds the window is yours: how many packets may be on their way. The capacity is hidden, and it changes. Fill the link, but not its queue: your score is throughput over delay, of 1000 that no sender reaches. Then CUBIC and BBRv3 try the same link.`),
      h("div", { class: "game" }, this.canvas, h("div", { class: "wheel" }, h("span", {}, "Window"), this.wheel, this.shown)),
      h("p", { class: "hint" }, "Drag the slider, turn the mouse wheel over the chart, or use the arrow keys up and down."),
      h("div", { class: "row" }, this.begin),
      this.said,
      this.table,
    );
    this.draw();
    const handed = asked.get("replay");
    if (handed) void this.replayed(handed);
  }

  /** Plays what a link says. */
  private async replayed(handed: string): Promise<void> {
    const { round } = this;
    const replay = await decode(handed).catch(() => undefined);
    if (round !== this.round) return;
    if (isReplay(replay)) return this.play(replay, true);
    this.said.textContent = "The link to the replay is damaged: play a round of your own.";
  }

  /** Ends what goes on. */
  close(): void {
    clearTimeout(this.timer);
    this.timer = 0;
    this.round++;
  }

  /** Plays a round, and says what went wrong. */
  private async play(replay: Replay, isReplay = false): Promise<void> {
    this.close();
    const { round } = this;
    try {
      await this.run(replay, isReplay, round);
    } catch (error) {
      this.give(error, round);
    }
  }

  private give(error: unknown, round: number): void {
    if (round === this.round) this.said.textContent = `The round has ended: ${error instanceof Error ? error.message : error}.`;
  }

  /** Plays a round, or again what somebody steered. */
  private async run(replay: Replay, isReplay: boolean, round: number): Promise<void> {
    this.replay = replay;
    this.isReplay = isReplay;
    this.outcomes = [];
    this.capacity = undefined;
    this.table.replaceChildren();
    this.said.textContent = "";
    this.begin.textContent = "Start again";
    this.wheel.value = "20";
    this.wheel.dispatchEvent(new Event("input"));
    await this.client.ask({ do: "read", text: scenario(replay.seed, '{ custom = "hand" }'), name: "game.toml" }, { do: "begin" });
    if (round !== this.round) return;
    this.wheel.focus();
    const begun = performance.now();
    // A replay does not take as long as the game did.
    const speed = isReplay ? 5 : 1;
    const step = async (number: number): Promise<void> => {
      const window = isReplay ? (replay.windows[number] ?? 20) : Number(this.wheel.value);
      if (isReplay) {
        this.wheel.value = String(window);
        this.shown.textContent = `${window} packets`;
      } else replay.windows.push(window);
      const until = (number + 1) * STEP;
      const [answer] = await this.client.ask({ do: "step", until_s: until, hand: window });
      if (round !== this.round) return;
      this.show(answer);
      if (answer.ok.over) return this.finish(round);
      const due = begun + (until * 1000) / speed - performance.now();
      this.timer = later(() => void step(number + 1).catch((error) => this.give(error, round)), Math.max(0, due));
    };
    await step(0);
  }

  private show(answer: Parameters<typeof seriesOf>[0]): void {
    const { flows, links } = seriesOf(answer);
    const link = links.find(({ name }) => name === "forward") ?? links[0];
    const { time_s, backlog_bytes, capacity_bps } = link.columns;
    const waiting = waitingMs(time_s, backlog_bytes, capacity_bps);
    this.live = { time: time_s, waiting, rate: flows[0].columns.throughput_bps };
    const last = time_s.length - 1;
    const srtt = flows[0].columns.srtt_s[last] * 1e3;
    this.said.textContent = `${(time_s[last] ?? 0).toFixed(1)} s: ${show(this.live.rate[last] / 1e6, "Mb/s")}, round trip ${show(srtt, "ms")} (${RTT} ms when the queue is empty)`;
    this.draw();
  }

  /** The others' turn, and the table. */
  private async finish(round: number): Promise<void> {
    const mine = this.live!;
    for (const [name, control] of [["CUBIC", '"cubic"'], ["BBRv3", '"bbr3"']]) {
      const read = { do: "read", text: scenario(this.replay.seed, control), name: "game.toml" };
      const answers = await this.client.ask(read, { do: "run", series: true }, { do: "summary" });
      if (round !== this.round) return;
      this.outcomes.push(this.outcome(name, resultOf(answers[1], answers[2])));
    }
    const throughput = mean(mine.rate);
    const delay = mean(mine.waiting);
    this.outcomes.unshift({ name: this.isReplay ? "Replay" : "You", throughput, delay, score: score(throughput, mean(this.capacity!), delay), result: mine });
    const best = Math.max(...this.outcomes.map((outcome) => outcome.score));
    this.said.textContent = this.outcomes[0].score === best ? `${this.outcomes[0].score} points: better than CUBIC and BBR.` : `${this.outcomes[0].score} points; the best has ${best}.`;
    const rows = this.outcomes.map(({ name, throughput, delay, score }, i) =>
      h("tr", {}, h("th", { scope: "row" }, h("span", { class: "key" }, h("span", { class: "dot", style: `background:${colour(i)}` }), name)), h("td", {}, show(throughput / 1e6, "Mb/s")), h("td", {}, show(delay, "ms")), h("td", {}, String(score))));
    const head = h("tr", {}, ...["", "Throughput", "Queueing delay", "Score"].map((title) => h("th", { scope: "col" }, title)));
    const watch = h("button", { type: "button" }, "Watch the replay");
    watch.addEventListener("click", () => void this.play(this.replay, true));
    const copy = h("button", { type: "button" }, "Copy link to the replay");
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(`${location.href.replace(/#.*/, "")}#game&replay=${await encode(this.replay)}`);
      copy.textContent = "Copied";
    });
    this.table.replaceChildren(h("div", { class: "scroll" }, h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows))), h("div", { class: "row" }, watch, copy));
    this.draw();
  }

  private outcome(name: string, result: Result): Outcome {
    this.capacity = result.bottleneck.columns.capacity_bps;
    const throughput = mean(result.flows[0].columns.throughput_bps);
    const [{ waiting }] = result.queues;
    const delay = mean(waiting);
    const rate = result.flows[0].columns.throughput_bps;
    return { name, throughput, delay, score: score(throughput, mean(this.capacity), delay), result: { time: result.time, waiting, rate } };
  }

  /** Two panels: throughput above, delay below; the capacity only when it is over. */
  private draw(): void {
    const ratio = devicePixelRatio || 1;
    const [width, height] = [this.canvas.clientWidth || 300, 300];
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const context = this.canvas.getContext("2d")!;
    context.scale(ratio, ratio);
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = token("soft");
    context.fillText("Throughput, up to 16 Mb/s", 8, 16);
    context.fillText("Queueing delay, up to 400 ms", 8, 186);
    context.strokeStyle = token("rule");
    for (const y of [165, 292]) {
      context.beginPath();
      context.moveTo(0, y);
      context.lineTo(width, y);
      context.stroke();
    }
    const x = (time: number) => (time / DURATION) * width;
    const line = (values: Float64Array, time: Float64Array, stroke: string, base: number, scale: number, thick: number) => {
      context.strokeStyle = stroke;
      context.lineWidth = thick;
      context.beginPath();
      values.forEach((value, i) => Number.isFinite(value) && context.lineTo(x(time[i]), base - Math.min(value * scale, 140)));
      context.stroke();
    };
    if (this.capacity && this.live) {
      context.fillStyle = token("shade");
      context.beginPath();
      context.moveTo(0, 165);
      this.capacity.forEach((rate, i) => {
        const y = 165 - Math.min(rate * (140 / 16e6), 140);
        context.lineTo(x(i * STEP), y);
        context.lineTo(x((i + 1) * STEP), y);
      });
      context.lineTo(width, 165);
      context.fill();
    }
    const all = this.outcomes.length ? this.outcomes.map(({ result }) => result) : this.live ? [this.live] : [];
    all.forEach((one, i) => {
      line(one.rate, one.time, colour(i), 165, 140 / 16e6, i ? 1 : 2.2);
      line(one.waiting, one.time, colour(i), 292, 100 / 400, i ? 1 : 2.2);
    });
  }
}

/** As `setTimeout`, in the sense of browsers. */
const later = (act: () => void, delay: number): number => globalThis.setTimeout(act, delay);

