/** The path with its packets in motion, from the log of what happened to each of them. */

import { h, token } from "./dom";
import { colour } from "./charts";
import { type Answer, type Column, numbers } from "./engine/module";

/** A packet on one link. */
interface Passage {
  flow: number;
  isReverse: boolean;
  /** Offered to the link, begins to travel, arrives [s]; NaN where it never did. */
  arrived: number;
  left: number;
  delivered: number;
  lost: number;
}

const SPEEDS: [string, number][] = [
  ["as fast as it is", 1],
  ["10 times slower", 0.1],
  ["100 times slower", 0.01],
  ["1000 times slower", 0.001],
];
/** How long a lost packet is seen falling, in seconds of the viewer's. */
const FALL = 0.5;

/** The columns of packets that the picture needs. */
export const COLUMNS = ["time_ns", "event", "link", "group", "direction", "seq_bytes", "ack_bytes", "sent_at_ns"];

/** The passages of a log, in the order in which they begin. */
export function passages({ ok, bytes }: Answer<{ packets: { columns: Column[]; truncated: boolean }[] }>): Passage[] {
  const log = ok.packets[0];
  if (!log) return [];
  const column = (name: string) => numbers(log.columns.find((one) => one.name === name)!, bytes);
  const [time, event, link, group, direction, seq, ack, sent] = COLUMNS.map(column);
  const found: Passage[] = [];
  const open = new Map<string, Passage[]>();
  for (let i = 0; i < time.length; i++) {
    const key = `${link[i]} ${group[i]} ${direction[i]} ${seq[i]} ${ack[i]} ${sent[i]}`;
    const at = time[i] / 1e9;
    if (event[i] === 0) {
      const passage = { flow: group[i], isReverse: direction[i] === 1, arrived: at, left: NaN, delivered: NaN, lost: NaN };
      found.push(passage);
      const same = open.get(key);
      if (same) same.push(passage);
      else open.set(key, [passage]);
      continue;
    }
    const passage = open.get(key)?.[0];
    if (!passage || event[i] === 3) continue;
    if (event[i] === 1) passage.left = at;
    else {
      if (event[i] === 2) passage.delivered = at;
      else passage.lost = at;
      open.get(key)!.shift();
    }
  }
  return found;
}

export class Path {
  private readonly canvas = h("canvas", { class: "path", role: "img" });
  private readonly button = h("button", { type: "button", class: "primary" }, "Play");
  private readonly speed = h("select", { "aria-label": "Speed of the picture" }, ...SPEEDS.map(([name, by]) => h("option", { value: by }, name)));
  private readonly clock = h("input", { type: "range", min: 0, max: 1, step: "any", value: 0, "aria-label": "Simulated time" });
  private readonly said = h("span", { class: "soft now" });
  private all: Passage[] = [];
  private instants: number[] = [];
  private now = 0;
  private end = 1;
  private playing = false;
  private frame = 0;

  constructor(
    place: HTMLElement,
    /** Brings the packets of the run that is shown, if it can be had. */
    private readonly fetch: () => Promise<{ passages: Passage[]; duration: number } | undefined>,
  ) {
    this.speed.value = "0.01";
    const back = h("button", { type: "button", title: "To the packet before", onclick: () => this.step(-1) }, "‹ step");
    const on = h("button", { type: "button", title: "To the next packet", onclick: () => this.step(1) }, "step ›");
    this.button.addEventListener("click", () => this.toggle());
    this.clock.addEventListener("input", () => this.show(Number(this.clock.value)));
    place.append(this.canvas, h("div", { class: "row" }, this.button, back, on, this.speed, this.said), this.clock);
    new ResizeObserver(() => this.draw()).observe(place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.draw();
  }

  /** Whether there are packets to show. */
  get isFull(): boolean {
    return this.all.length > 0;
  }

  /** Another run is shown: its packets come when somebody asks for them. */
  forget(): void {
    this.all = [];
    this.pause();
    this.draw();
  }

  private pause(): void {
    this.playing = false;
    this.button.textContent = "Play";
    cancelAnimationFrame(this.frame);
  }

  private async fill(): Promise<void> {
    if (this.isFull) return;
    const fetched = await this.fetch();
    if (!fetched) return;
    const { passages, duration } = fetched;
    this.all = passages;
    this.end = duration;
    this.clock.max = String(duration);
    const instants = passages.flatMap(({ arrived, left, delivered, lost }) => [arrived, left, delivered, lost]);
    this.instants = instants.filter(Number.isFinite).sort((a, b) => a - b);
    if (this.now >= duration) this.now = 0;
  }

  async toggle(): Promise<void> {
    if (this.playing) return this.pause();
    this.button.textContent = "Pause";
    await this.fill();
    if (!this.isFull) return this.pause();
    this.playing = true;
    let before = performance.now();
    const tick = (at: number) => {
      if (!this.playing) return;
      this.show(this.now + ((at - before) / 1e3) * Number(this.speed.value));
      before = at;
      if (this.now >= this.end) this.pause();
      else this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }

  /** To the next instant at which something happens, or the one before. */
  async step(by: 1 | -1): Promise<void> {
    this.pause();
    await this.fill();
    const next = by > 0 ? this.instants.find((at) => at > this.now + 1e-9) : this.instants.findLast((at) => at < this.now - 1e-9);
    if (next !== undefined) this.show(next);
  }

  /** Shows what is on its way at an instant. */
  async at(time: number): Promise<void> {
    this.pause();
    await this.fill();
    this.show(time);
  }

  private show(time: number): void {
    this.now = Math.min(this.end, Math.max(0, time));
    this.clock.value = String(this.now);
    this.draw();
  }

  private draw(): void {
    const ratio = devicePixelRatio || 1;
    const width = this.canvas.clientWidth || 300;
    const height = 150;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const context = this.canvas.getContext("2d")!;
    context.scale(ratio, ratio);
    const place = { sender: 24, queue: width * 0.34, server: width * 0.42, receiver: width - 24 };
    const [there, back] = [58, 118];
    this.scenery(context, width, place, there, back);
    let [waiting, travelling, answers] = [0, 0, 0];
    const dot = (x: number, y: number, flow: number, size: number, alpha = 1) => {
      context.globalAlpha = alpha;
      context.fillStyle = colour(flow);
      context.fillRect(x - size / 2, y - size / 2, size, size);
      context.globalAlpha = 1;
    };
    const slow = Number(this.speed.value);
    for (const passage of this.all) {
      if (passage.arrived > this.now) break;
      const { flow, isReverse, left, delivered, lost } = passage;
      if (this.now >= lost) {
        const fallen = (this.now - lost) / (FALL * slow);
        if (fallen < 1) this.fall(context, place.queue, there, fallen);
        continue;
      }
      if (this.now >= delivered) continue;
      if (!(left <= this.now)) {
        if (isReverse) continue;
        // In the queue, the first at the server.
        const rows = 4;
        const pitch = 7;
        const column = Math.floor(waiting / rows);
        const x = place.queue - column * pitch;
        if (x > place.sender + 26) dot(x, there - 11 + (waiting % rows) * pitch, flow, 5.4);
        waiting++;
        continue;
      }
      const share = (this.now - left) / (delivered - left);
      if (!isReverse) {
        travelling++;
        dot(place.server + 16 + share * (place.receiver - place.server - 30), there, flow, 7);
      } else {
        answers++;
        dot(place.receiver - 14 - share * (place.receiver - place.sender - 28), back, flow, 4, 0.75);
      }
    }
    const told = this.isFull ? `${this.now.toFixed(slowest(slow))} s: ${waiting} waiting, ${travelling} on the way, ${answers} acknowledgements` : "Play, or step from packet to packet.";
    this.said.textContent = told;
    this.canvas.setAttribute("aria-label", `The path with its packets. ${told}`);
  }

  private scenery(context: CanvasRenderingContext2D, width: number, place: Record<string, number>, there: number, back: number): void {
    const [ink, rule, soft] = [token("ink"), token("rule"), token("soft")];
    context.clearRect(0, 0, width, 200);
    context.strokeStyle = rule;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(place.sender, there);
    context.lineTo(place.receiver, there);
    context.lineTo(place.receiver, back);
    context.lineTo(place.sender, back);
    context.closePath();
    context.stroke();
    context.fillStyle = token("panel");
    context.strokeStyle = soft;
    context.lineWidth = 1.2;
    const box = (x: number, y: number, w: number, h: number) => {
      context.beginPath();
      context.roundRect(x, y, w, h, 5);
      context.fill();
      context.stroke();
    };
    box(place.sender - 13, there - 14, 26, back - there + 28);
    box(place.receiver - 13, there - 14, 26, back - there + 28);
    box(place.sender + 22, there - 19, place.queue - place.sender - 14, 38);
    context.beginPath();
    context.arc(place.server, there, 10, 0, 7);
    context.fill();
    context.stroke();
    context.fillStyle = soft;
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "left";
    context.fillText("senders", 4, 22);
    context.textAlign = "center";
    context.fillText("queue", (place.sender + place.queue) / 2 + 10, 30);
    context.fillText("link", (place.server + place.receiver) / 2, there - 14);
    context.fillText("acknowledgements", (place.sender + place.receiver) / 2, back + 20);
    context.textAlign = "right";
    context.fillText("receivers", width - 4, 22);
    context.fillStyle = ink;
  }

  private fall(context: CanvasRenderingContext2D, x: number, y: number, share: number): void {
    context.globalAlpha = 1 - share;
    context.strokeStyle = token("loss");
    context.lineWidth = 2;
    const [at, size] = [y + 24 + share * 26, 4];
    context.beginPath();
    context.moveTo(x - size, at - size);
    context.lineTo(x + size, at + size);
    context.moveTo(x + size, at - size);
    context.lineTo(x - size, at + size);
    context.stroke();
    context.globalAlpha = 1;
  }
}

/** Digits of the clock: enough to see it move. */
function slowest(slow: number): number {
  return slow >= 1 ? 1 : slow >= 0.1 ? 2 : slow >= 0.01 ? 3 : 4;
}
