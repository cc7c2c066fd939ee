/** The laboratory: settings on one side, what follows from them on the other. */

import { analyse } from "./analysis";
import { Charts, colour, csv, show } from "./charts";
import { fields, type Knob, knobs } from "./controls";
import { Curve } from "./curve";
import { byId, h, save } from "./dom";
import { type Client, Stopped } from "./engine/client";
import { type Mistakes, ScenarioMistakes } from "./engine/module";
import { COLUMNS, passages, Path } from "./path";
import { mean, quantile, type Result, resultOf } from "./result";
import { toPython, toToml } from "./scenario";
import { CONTROLS, contentOf, encode, fileName, initial, isFileName, type State, TooLongError } from "./state";
import { tables } from "./table";

/** A run that takes longer is given up when the reader has changed something meanwhile [ms]. */
const PATIENCE = 1500;
/** Without a change for so long, the next one is another thing to compare with [ms]. */
const SETTLED = 1200;

/** Whether a text in JSON is meant as a scenario, and not as a log: each has flows, on a topology. */
function isScenario(text: string): boolean {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && ("topology" in value || "flows" in value);
  } catch {
    return true;
  }
}

/** A flow as people call it. */
export function nameOf(flow: string): string {
  const known = CONTROLS.find(([key]) => flow === key || flow.startsWith(`${key}-`));
  return known ? known[1] + flow.slice(known[0].length).replace("-", " ") : flow;
}

export class Laboratory {
  state: State = initial();
  /** The sliders of a text scenario. */
  private knobs: Knob[] = [];
  private readonly charts = new Charts(byId("charts"), nameOf);
  private readonly curve = new Curve(() => this.state, (stage) => this.tell(stage));
  private readonly path: Path;
  private result?: Result;
  private before?: Result;
  private compare = true;
  private running = false;
  private pending = false;
  private begun = 0;
  private changed = 0;
  private ceiling = 0;
  /** Said until the reader changes something. */
  private notice = "";
  /** Called when the state has settled: the address follows. */
  onSettled: () => void = () => {};

  constructor(
    private readonly client: Client,
    private readonly traces: Record<string, string>,
  ) {
    this.charts.onMade = (plot) => this.curve.attach(plot);
    this.path = new Path(byId("path"), () => this.packets());
    addEventListener("varicap-redraw", () => this.redraw());
    this.shareButtons();
  }

  /** Shows a state; `list` are the sliders of a text. */
  open(state: State, list: Knob[] = [], notice = ""): Promise<void> {
    this.state = state;
    this.notice = notice;
    this.knobs = list;
    this.before = undefined;
    this.panel();
    return this.run();
  }

  private tell(stage: "begin" | "change" | "end", rebuild = false): void {
    const now = performance.now();
    if (stage === "begin" && now - this.changed > SETTLED) this.before = this.result;
    this.changed = now;
    this.notice = "";
    if (stage === "begin") return;
    if (rebuild) this.panel();
    this.curve.place();
    void this.run();
    if (stage === "end") {
      if (!rebuild) this.refreshOutputs();
      this.onSettled();
    }
  }

  /** A drag in the chart moves what the sliders show. */
  private refreshOutputs(): void {
    if (this.state.mode === "made" && this.state.capacity.kind !== "drawn" && !byId("fields").contains(document.activeElement)) this.panel();
  }

  private panel(): void {
    const tell = (stage: "begin" | "change" | "end", rebuild?: boolean) => this.tell(stage, rebuild);
    const parts = this.state.mode === "made" ? fields(this.state, tell, () => this.upload(".csv,.down,.up,.trace,.txt")) : this.textFields(tell);
    byId("fields").replaceChildren(...parts);
  }

  private textFields(tell: (stage: "begin" | "change" | "end") => void): HTMLElement[] {
    const area = h("textarea", { "aria-label": "The scenario as TOML", spellcheck: "false" });
    area.value = this.state.text;
    area.addEventListener("input", () => {
      tell("begin");
      this.state.text = area.value;
      tell("change");
    });
    area.addEventListener("change", () => tell("end"));
    const back = h("button", { type: "button", onclick: () => void this.open(initial()).then(() => this.onSettled()) }, "Back to the sliders");
    const text = h("details", { open: !this.knobs.length }, h("summary", {}, this.state.file || "The scenario"), area);
    return [...(this.knobs.length ? [knobs(this.knobs, this.state, tell)] : []), h("fieldset", {}, h("legend", {}, "Scenario"), text, h("div", { class: "row" }, back))];
  }

  private shareButtons(): void {
    const button = (label: string, act: () => unknown) => {
      const made: HTMLButtonElement = h("button", { type: "button" }, label);
      made.addEventListener("click", async () => {
        try {
          await act();
        } catch (error) {
          return this.fail(error as Error);
        }
        if (!label.startsWith("Copy")) return;
        made.textContent = "Copied";
        setTimeout(() => (made.textContent = label), 1500);
      });
      return made;
    };
    const copy = (text: string) => navigator.clipboard.writeText(text);
    byId("share").append(h("div", { class: "row" },
      button("Copy link", async () => copy(await this.link())),
      button("Copy as TOML", async () => copy(await this.toml())),
      button("Copy as Python", async () => copy(toPython(await this.toml(), this.named()))),
      button("Download CSV", () => this.result && save("varicap.csv", new Blob([csv(this.result)], { type: "text/csv" }))),
      button("Download PNG", async () => save("varicap.png", await this.charts.picture())),
      button("Open a scenario …", () => this.upload(".toml,.json")),
      button("Edit as text", () => this.asText()),
    ));
    const panel = byId("panel");
    panel.addEventListener("submit", (event) => event.preventDefault());
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) void this.take(file);
    });
  }

  private async link(): Promise<string> {
    return `${location.href.replace(/#.*/, "")}#s=${await encode(this.state)}`;
  }

  /** The scenario that is run: a text as its author wrote it, unless sliders have changed it or it is no TOML. */
  private async toml(): Promise<string> {
    const { mode, file, settings } = this.state;
    if (mode === "made" || (!settings.length && !file.endsWith(".json"))) return toToml(this.state);
    const answers = await this.client.ask(...this.reading());
    return answers.at(-1)!.ok.toml;
  }

  /** What a program outside needs to run the same. */
  async told(): Promise<{ toml: string; files: Record<string, string> }> {
    return { toml: await this.toml(), files: Object.fromEntries(this.named()) };
  }

  private asText(): void {
    if (this.state.mode === "text") return;
    void this.open({ ...this.state, mode: "text", text: toToml(this.state), file: "explore.toml", settings: [] }).then(() => this.onSettled());
  }

  /** Lets the reader choose a file. */
  upload(accept: string): void {
    const input = h("input", { type: "file", accept });
    input.addEventListener("change", () => input.files?.[0] && this.take(input.files[0]));
    // Whoever chooses none sees what is there.
    input.addEventListener("cancel", () => this.panel());
    input.click();
  }

  /** A scenario, or a trace: Mahimahi's lines of milliseconds, or a log of rates in any form that the engine reads. */
  async take(file: File): Promise<void> {
    let text: string;
    try {
      text = await contentOf(file);
    } catch (error) {
      return this.fail(new Error(`${file.name}: ${error instanceof TooLongError ? error.message : "cannot be unpacked"}`));
    }
    const state = structuredClone(this.state);
    const name = fileName(file.name);
    if (name.endsWith(".toml") || (name.endsWith(".json") && isScenario(text))) {
      await this.open({ ...state, mode: "text", text, file: name, settings: [] });
    } else {
      // Mahimahi's format has no comments, so the engine takes none: those that a trace begins with end here.
      const lines = text.replace(/^([ \t]*(#.*)?\r?\n)+/, "");
      const format = /^\s*\d+\s*$/.test(lines.split("\n", 1)[0]) ? "opportunities" : "rates";
      const capacity: State["capacity"] = { kind: "trace", file: name, format };
      // A text names the folder of a trace, too; a browser does not. A folder that no link may name is left out of the text.
      const named = state.mode === "text" && state.text.match(/"[^"\n]*"/g)?.map((quoted) => quoted.slice(1, -1)).find((path) => path.endsWith(`/${file.name}`));
      if (named && !isFileName(named)) state.text = state.text.replaceAll(`"${named}"`, `"${name}"`);
      const key = named && isFileName(named) ? named : name;
      await this.open({ ...state, files: { ...state.files, [key]: format === "opportunities" ? lines : text }, ...(state.mode === "made" ? { capacity } : {}) });
    }
    this.onSettled();
  }

  /** The files that the scenario names, with their texts. */
  private named(): [string, string][] {
    const said = toToml(this.state) + JSON.stringify(this.state.settings);
    return Object.entries({ ...this.traces, ...this.state.files }).filter(([name]) => said.includes(name));
  }

  /** The requests that come before the first run: files, and the scenario. */
  private reading(): object[] {
    const name = this.state.mode === "text" ? this.state.file : "explore.toml";
    return [...this.client.handing(this.named()), { do: "read", text: toToml(this.state), name, settings: this.state.settings }];
  }

  /** Runs what is set; while a run goes on, only what is set last. */
  private async run(): Promise<void> {
    if (this.running) {
      this.pending = true;
      if (performance.now() - this.begun > PATIENCE) this.client.restart();
      return;
    }
    this.running = true;
    do {
      this.pending = false;
      this.begun = performance.now();
      try {
        const answers = await this.client.ask(...this.reading(), { do: "run", series: true }, { do: "summary" });
        const [run, summary] = answers.slice(-2);
        this.result = resultOf(run, summary);
        this.fail();
        this.redraw();
        performance.measure("varicap-answer", { start: this.begun });
      } catch (error) {
        if (error instanceof Stopped) this.pending = true;
        else this.fail(error as Error);
      }
    } while (this.pending);
    this.running = false;
  }

  /** Highest rate of the first chart [Mb/s]: it stays while a hand is on the curve. */
  private top(): number {
    if (this.curve.isHeld && this.ceiling) return this.ceiling;
    const highest = Math.max(...Array.from(this.result!.bottleneck.columns.capacity_bps).filter(Number.isFinite), 0) / 1e6;
    const carried = Math.max(0, ...this.result!.flows.map((flow) => quantile(flow.columns.throughput_bps, 0.995))) / 1e6;
    const wanted = Math.max(highest || carried, 1e-3) * 1.3;
    const unit = 10 ** Math.floor(Math.log10(wanted));
    this.ceiling = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * unit).find((step) => step >= wanted)!;
    return this.ceiling;
  }

  private redraw(): void {
    const { result } = this;
    if (!result) return;
    const said = analyse(this.state);
    const levels = typeof said === "string" ? [] : [{ label: said.model, value: said.bps }];
    this.charts.draw(result, this.compare ? this.before : undefined, levels, this.top());
    this.curve.place();
    byId("sentence").textContent = sentence(result);
    byId("analysis").textContent = typeof said === "string" ? `Analysis: ${said}.` : `Analysis: ${said.model} says ${(said.bps / 1e6).toFixed(2)} Mb/s (dashed): ${said.text}.`;
    this.legend(result);
    this.numbers(result.summary);
    this.path.forget();
  }

  private legend(result: Result): void {
    const keys = result.flows.map((flow, i) => h("span", { class: "key" }, h("span", { class: "dot", style: `background:${colour(i)}` }), nameOf(flow.name)));
    const box = h("input", { type: "checkbox", checked: this.compare });
    box.addEventListener("change", () => {
      this.compare = box.checked;
      this.redraw();
    });
    byId("legend").replaceChildren(...keys, h("label", {}, box, " what was before, in pale"));
  }

  private numbers(summary: any): void {
    const label = "Run ten seeds";
    const more = h("button", { type: "button" }, label);
    more.addEventListener("click", async () => {
      more.disabled = true;
      more.textContent = "Running …";
      const runs = Array.from({ length: 9 }, (_, i) => ({ do: "run", replication: i + 1 }));
      try {
        const answers = await this.client.ask(...this.reading(), { do: "run" }, ...runs, { do: "summary" });
        this.numbers(answers.at(-1)!.ok);
      } catch (error) {
        if (!(error instanceof Stopped)) this.fail(error as Error);
        more.disabled = false;
        more.textContent = label;
      }
    });
    byId("table").replaceChildren(...tables(summary, nameOf), ...(summary.runs > 1 ? [] : [more]));
  }

  private async packets(): Promise<{ passages: ReturnType<typeof passages>; duration: number } | undefined> {
    try {
      const answers = await this.client.ask(...this.reading(), { do: "run", packets: true, columns: COLUMNS });
      return { passages: passages(answers.at(-1)!), duration: this.result?.time.at(-1) ?? 1 };
    } catch (error) {
      if (!(error instanceof Stopped)) this.fail(error as Error);
      return undefined;
    }
  }

  /** Says what is wrong, or that nothing is any more. */
  private fail(error?: Error): void {
    const place = byId("failure");
    const told = error instanceof ScenarioMistakes ? mistakes(error.mistakes) : error ? [h("p", {}, error.message)] : [];
    if (this.notice) told.unshift(h("p", {}, this.notice));
    place.hidden = !told.length;
    place.replaceChildren(...told);
  }
}

/** The mistakes of a scenario, each with its line. */
function mistakes({ errors, more }: Mistakes): HTMLElement[] {
  const items = errors.map((error) => {
    const where = error.line ? `Line ${error.line}: ` : "";
    const found = error.found === null ? "" : `found ${error.found}, `;
    const item = h("li", {}, `${where}${error.key ? `${error.key}: ` : ""}${found}expected ${error.expected}${error.hint ? `; ${error.hint}` : ""}`);
    if (error.excerpt) {
      const [text, start, length] = error.excerpt;
      item.append(h("pre", {}, `${text}\n${" ".repeat(start)}${"^".repeat(length)}`));
    }
    return item;
  });
  return [h("strong", {}, "This scenario cannot be run:"), h("ul", {}, ...items), ...(more ? [h("p", {}, `and ${more} more`)] : [])];
}

/** A run in one sentence. */
export function sentence(result: Result): string {
  const rates = result.flows.map((flow) => `${nameOf(flow.name)} ${show(mean(flow.columns.throughput_bps) / 1e6, "Mb/s")}`);
  const carried = rates.length > 1 ? `${rates.slice(0, -1).join(", ")} and ${rates.at(-1)}` : rates[0];
  const capacity = mean(result.bottleneck.columns.capacity_bps) / 1e6;
  const of = Number.isFinite(capacity) ? ` of ${show(capacity, "Mb/s")}` : "";
  const [average, most] = [(waiting: Float64Array) => show(mean(waiting), "ms"), (waiting: Float64Array) => show(quantile(waiting, 0.95), "ms")];
  const [first, ...others] = result.queues;
  if (!others.length) return `On average ${carried}${of}; the queue makes a packet wait for ${average(first.waiting)}, and for less than ${most(first.waiting)} in 95 % of the time.`;
  const waits = result.queues.map(({ owner, waiting }) => `${nameOf(owner)} ${average(waiting)} (${most(waiting)})`);
  return `Each alone: on average ${carried}${of}; in its queue a packet waits (in 95 % of the time for less than): ${waits.join(", ")}.`;
}
