/** What the reader sets: the fields of the panel, made from the state and writing to it. */

import { h } from "./dom";
import { colour } from "./charts";
import { type Capacity, CONTROLS, DRAWN, MOST_FLOWS, QUEUES, type State } from "./state";

/** Something is about to change, has changed a little, is settled. */
export type Tell = (stage: "begin" | "change" | "end", rebuild?: boolean) => void;

let numbered = 0;

/** A slider with its value beside it. */
function slider(label: string, unit: string, value: number, [min, max, step]: [number, number, number | "any"], set: (value: number) => void, tell: Tell): HTMLElement {
  const id = `f${numbered++}`;
  const output = h("output", { for: id }, `${value} ${unit}`);
  const input = h("input", { id, type: "range", min, max, step, value, "aria-valuetext": `${value} ${unit}` });
  input.addEventListener("pointerdown", () => tell("begin"));
  input.addEventListener("keydown", () => tell("begin"));
  input.addEventListener("input", () => {
    const now = Number(input.value);
    output.textContent = `${now} ${unit}`;
    input.setAttribute("aria-valuetext", `${now} ${unit}`);
    set(now);
    tell("change");
  });
  input.addEventListener("change", () => tell("end"));
  return h("div", { class: "field" }, h("label", { for: id }, label), output, input);
}

function choice(label: string, options: [string, string][], value: string, set: (value: string) => void): HTMLElement {
  const id = `f${numbered++}`;
  const select = h("select", { id }, ...options.map(([key, name]) => h("option", { value: key, selected: key === value }, name)));
  select.addEventListener("change", () => set(select.value));
  return h("div", { class: "field" }, h("label", { for: id }, label), select);
}

const KINDS: [string, string][] = [
  ["drawn", "Drawn by hand"],
  ["constant", "Constant"],
  ["markov", "Two rates at random (Markov)"],
  ["lte", "LTE-like trace"],
  ["trace", "A trace of your own …"],
];

/** A capacity of another kind, as like the one before as it can be. */
function another(kind: string, before: Capacity): Capacity {
  const rates = before.kind === "drawn" || before.kind === "markov" ? before.rates : before.kind === "constant" ? [before.rate] : [8, 2];
  const [low, high] = [Math.min(...rates), Math.max(...rates)];
  switch (kind) {
    case "constant":
      return { kind, rate: high };
    case "markov":
      return { kind, rates: [high, low < high ? low : high / 4], holding: [2, 2] };
    case "lte":
      return { kind };
    default: {
      const count = rates.length;
      return { kind: "drawn", rates: Array.from({ length: DRAWN }, (_, i) => rates[Math.floor((i * count) / DRAWN)]) };
    }
  }
}

function capacityFields(state: State, tell: Tell, upload: () => void): HTMLElement[] {
  const { capacity } = state;
  const change = (kind: string) => {
    if (kind === "trace") return upload();
    tell("begin");
    state.capacity = another(kind, state.capacity);
    tell("end", true);
  };
  const fields = [choice("Capacity", KINDS, capacity.kind, change)];
  if (capacity.kind === "constant")
    fields.push(slider("Rate", "Mb/s", capacity.rate, [0.5, 50, 0.5], (rate) => (capacity.rate = rate), tell));
  if (capacity.kind === "markov")
    capacity.rates.forEach((rate, i) => {
      fields.push(slider(`Rate ${i + 1}`, "Mb/s", rate, [0, 50, 0.5], (value) => (capacity.rates[i] = value), tell));
      fields.push(slider(`lasts on average`, "s", capacity.holding[i], [0.1, 10, 0.1], (value) => (capacity.holding[i] = value), tell));
    });
  const hint = {
    drawn: "Draw it in the chart: press and move. With the keyboard, Tab to the round handle there and use the arrow keys.",
    constant: "It can be dragged in the chart, too.",
    markov: "Drag either level in the chart. The seed says when it jumps.",
    lte: "Made by varicap in the manner of a recorded LTE link: 4.5 Mb/s on average, with outages. The seed says where it begins.",
    trace: capacity.kind === "trace" ? `${capacity.file}: ${capacity.format === "rates" ? "rates (CSV)" : "delivery opportunities (Mahimahi)"}` : "",
  }[capacity.kind];
  fields.push(h("p", { class: "hint" }, hint));
  return fields;
}

function flowFields(state: State, tell: Tell): HTMLElement {
  const rows = state.flows.map((flow, i) => {
    const set = (change: () => void, rebuild = false) => () => {
      tell("begin");
      change();
      tell("end", rebuild);
    };
    const control = h("select", { "aria-label": `Control of flow ${i + 1}` }, ...CONTROLS.map(([key, name]) => h("option", { value: key, selected: key === flow.control }, name)));
    control.addEventListener("change", set(() => (flow.control = control.value)));
    const number = (label: string, value: number | null, placeholder: string) =>
      h("input", { type: "number", min: 0, max: state.duration, step: 0.5, value: value ?? "", placeholder, "aria-label": `${label} of flow ${i + 1} in seconds`, title: `${label} [s]` });
    const start = number("Start", flow.start, "0");
    start.addEventListener("change", set(() => (flow.start = Math.min(state.duration, Math.max(0, Number(start.value) || 0)))));
    const stop = number("Stop", flow.stop, "end");
    stop.addEventListener("change", set(() => (flow.stop = stop.value === "" ? null : Math.max(0, Number(stop.value)))));
    const remove = h("button", { type: "button", class: "icon", "aria-label": `Remove flow ${i + 1}`, disabled: state.flows.length === 1 }, "×");
    remove.addEventListener("click", set(() => state.flows.splice(i, 1), true));
    return h("div", { class: "flow" }, h("span", { class: "dot", style: `background:${colour(i)}` }), control, start, h("span", { class: "soft" }, "to"), stop, h("span", { class: "soft" }, "s"), remove);
  });
  const add = h("button", { type: "button", disabled: state.flows.length >= MOST_FLOWS }, "+ Add a flow");
  add.addEventListener("click", () => {
    tell("begin");
    state.flows.push({ control: "reno", start: 0, stop: null });
    tell("end", true);
  });
  return h("fieldset", {}, h("legend", {}, "Flows"), ...rows, add);
}

/** The fields of a made scenario. */
export function fields(state: State, tell: Tell, upload: () => void): HTMLElement[] {
  const set = <K extends "rtt" | "buffer" | "loss" | "duration" | "seed">(key: K) => (value: number) => void (state[key] = value);
  const queue = choice("Queue", QUEUES, state.queue, (value) => {
    tell("begin");
    state.queue = value;
    tell("end");
  });
  return [
    h("fieldset", {}, h("legend", {}, "Link"), ...capacityFields(state, tell, upload),
      slider("Round trip", "ms", state.rtt, [2, 400, 2], set("rtt"), tell),
      slider("Buffer", "packets", state.buffer, [2, 400, 2], set("buffer"), tell),
      slider("Random loss", "%", state.loss, [0, 5, 0.05], set("loss"), tell),
      queue),
    flowFields(state, tell),
    h("fieldset", {}, h("legend", {}, "Run"),
      slider("Duration", "s", state.duration, [5, 120, 5], set("duration"), tell),
      slider("Seed", "", state.seed, [1, 100, 1], set("seed"), tell)),
  ];
}

/** A value of a text scenario that a slider sets. */
export interface Knob {
  label: string;
  /** The keys that it sets. */
  paths: string[];
  unit: string;
  range: [number, number, number];
  value: number;
  /** The value as the file has it, if it is no plain quantity. */
  write?: (value: number) => string;
}

/** The sliders of a text scenario. */
export function knobs(list: Knob[], state: State, tell: Tell): HTMLElement {
  const write = (knob: Knob) => knob.write ?? ((value: number) => (knob.unit ? `"${value} ${knob.unit}"` : String(value)));
  const current = (knob: Knob) => {
    const found = state.settings.find(([path]) => path === knob.paths[0])?.[1].match(/[\d.]+/);
    return found ? Number(found[0]) : knob.value;
  };
  const sliders = list.map((knob) =>
    slider(knob.label, knob.unit, current(knob), knob.range, (value) => {
      const others = state.settings.filter(([path]) => !knob.paths.includes(path));
      state.settings = [...others, ...knob.paths.map((path): [string, string] => [path, write(knob)(value)])];
    }, tell),
  );
  return h("fieldset", {}, h("legend", {}, "Try"), ...sliders);
}
