/** The capacity as a curve that one draws and drags, over the chart of the throughput; by keyboard, too. */

import type uPlot from "uplot";
import { h } from "./dom";
import { DRAWN, MOST_RATE, type State } from "./state";

export class Curve {
  private handle = h("div", { class: "handle", role: "slider", tabindex: 0, "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": MOST_RATE });
  private plot?: uPlot;
  private bin = 0;
  private last?: { bin: number; rate: number };

  constructor(
    private readonly state: () => State,
    /** The curve is about to change, changes, has changed. */
    private readonly tell: (stage: "begin" | "change" | "end") => void,
  ) {
    this.handle.addEventListener("keydown", (event) => this.key(event));
    // Wherever the pointer goes: the chart under it may be made anew meanwhile.
    addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => this.up());
  }

  /** Whether a hand is on the curve. */
  get isHeld(): boolean {
    return this.last !== undefined;
  }

  /** Takes hold of another chart. */
  attach(plot: uPlot): void {
    this.plot = plot;
    plot.over.append(this.handle);
    plot.over.classList.add("curve");
    plot.over.addEventListener("pointerdown", (event) => this.down(event));
    this.place();
  }

  private get rates(): number[] | undefined {
    const { mode, capacity } = this.state();
    if (mode !== "made") return undefined;
    switch (capacity.kind) {
      case "constant":
        return [capacity.rate];
      case "drawn":
        return capacity.rates;
      case "markov":
        return capacity.rates;
      default:
        return undefined;
    }
  }

  private set(bin: number, rate: number): void {
    const { capacity } = this.state();
    const value = Math.round(Math.min(MOST_RATE, Math.max(0, rate)) * 10) / 10;
    if (capacity.kind === "constant") capacity.rate = Math.max(0.1, value);
    else if (capacity.kind === "drawn" || capacity.kind === "markov") capacity.rates[bin] = value;
  }

  private where(event: PointerEvent): { bin: number; rate: number } {
    const plot = this.plot!;
    const box = plot.over.getBoundingClientRect();
    const rate = plot.posToVal(event.clientY - box.top, "y");
    const share = (event.clientX - box.left) / box.width;
    const { capacity } = this.state();
    if (capacity.kind === "drawn") return { bin: Math.min(DRAWN - 1, Math.max(0, Math.floor(share * DRAWN))), rate };
    // The level that is nearest.
    const rates = this.rates!;
    const away = rates.map((level) => Math.abs(level - rate));
    return { bin: away.indexOf(Math.min(...away)), rate };
  }

  private down(event: PointerEvent): void {
    if (!this.rates || event.button !== 0) return;
    this.plot!.over.setPointerCapture(event.pointerId);
    event.preventDefault();
    const here = this.where(event);
    this.bin = here.bin;
    this.last = here;
    this.tell("begin");
    this.paint(here);
  }

  private move(event: PointerEvent): void {
    if (!this.last) return;
    // Released where nobody told the page.
    if (event.buttons === 0) return this.up();
    this.paint(this.where(event));
  }

  /** From where the pointer was to where it is: a quick hand leaves no gaps. */
  private paint(here: { bin: number; rate: number }): void {
    const from = this.last!;
    if (this.state().capacity.kind === "drawn") {
      const [low, high] = [Math.min(from.bin, here.bin), Math.max(from.bin, here.bin)];
      for (let bin = low; bin <= high; bin++) {
        const share = here.bin === from.bin ? 1 : (bin - from.bin) / (here.bin - from.bin);
        this.set(bin, from.rate + share * (here.rate - from.rate));
      }
      this.bin = here.bin;
      this.last = here;
    } else if (from.rate !== here.rate) {
      this.set(this.bin, here.rate);
    }
    this.place();
    this.tell("change");
  }

  private up(): void {
    if (!this.last) return;
    this.last = undefined;
    this.tell("end");
  }

  private key(event: KeyboardEvent): void {
    const rates = this.rates;
    if (!rates) return;
    const step = event.shiftKey ? 2 : 0.5;
    const moves: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    this.bin = Math.min(rates.length - 1, Math.max(0, this.bin + move[0]));
    if (move[1]) {
      this.tell("begin");
      this.set(this.bin, rates[this.bin] + move[1]);
      this.tell("end");
    }
    this.place();
  }

  /** Puts the handle where its level is. */
  place(): void {
    const rates = this.rates;
    this.handle.hidden = !rates;
    this.plot?.over.classList.toggle("drawable", !!rates);
    if (!rates || !this.plot) return;
    this.bin = Math.min(this.bin, rates.length - 1);
    const { capacity, duration } = this.state();
    const share = capacity.kind === "drawn" ? (this.bin + 0.5) / rates.length : 0.5;
    this.handle.style.left = `${share * 100}%`;
    this.handle.style.top = `${this.plot.valToPos(rates[this.bin], "y")}px`;
    const what = capacity.kind === "drawn" ? `Capacity from ${((this.bin * duration) / rates.length).toFixed(1)} s` : capacity.kind === "markov" ? `Capacity in state ${this.bin + 1}` : "Capacity";
    this.handle.setAttribute("aria-label", `${what}; arrow keys change it`);
    this.handle.setAttribute("aria-valuenow", String(rates[this.bin]));
    this.handle.setAttribute("aria-valuetext", `${rates[this.bin]} Mb/s`);
  }
}
