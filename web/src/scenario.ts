/** The settings of the page as a scenario: what `varicap run` takes, and nothing that only the page knows. */

import { type Capacity, isFileName, NO_TEXT, type State, names } from "./state";

/** A number without a tail of binary fractions. */
const plain = (value: number): string => String(Number(value.toPrecision(6)));
const seconds = (value: number): string => `"${plain(value)} s"`;
const rate = (mbps: number): string => `"${plain(mbps)} Mbit/s"`;
const list = (items: string[]): string => `[${items.join(", ")}]`;

function capacity(of: Capacity, duration: number): string {
  switch (of.kind) {
    case "constant":
      return rate(of.rate);
    case "drawn": {
      const begins = of.rates.map((_, i) => i).filter((i) => i === 0 || of.rates[i] !== of.rates[i - 1]);
      if (begins.length === 1) return rate(of.rates[0]);
      const at = list(begins.map((i) => seconds((i * duration) / of.rates.length)));
      return `{ steps = { at = ${at}, rates = ${list(begins.map((i) => rate(of.rates[i])))} } }`;
    }
    case "markov":
      return `{ markov = { rates = ${list(of.rates.map(rate))}, mean_holding = ${list(of.holding.map(seconds))} } }`;
    case "lte":
      return `{ opportunities = { file = "traces/lte-like.down", offset = "random" } }`;
    case "trace":
      return `{ ${of.format === "rates" ? "trace" : "opportunities"} = { file = ${JSON.stringify(of.file)} } }`;
  }
}

/** Queues that mark only where they are told to; fq_codel and dualpi2 do in any case. */
const TOLD_TO_MARK = new Set(["codel", "pie", "red"]);

/** The queue, with the buffer as its limit. */
function queue({ queue, buffer }: State): string {
  const limit = `limit = "${buffer} packets"${TOLD_TO_MARK.has(queue) ? ", ecn = true" : ""}`;
  if (queue !== "red") return `{ ${queue} = { ${limit} } }`;
  const [low, high] = [Math.max(1, Math.round(buffer / 6)), Math.max(2, Math.round(buffer / 2))];
  return `{ red = { ${limit}, min_threshold = "${low} packets", max_threshold = "${high} packets" } }`;
}

/** The queues that mark instead of losing what says that it understands marks. */
const MARKING = new Set([...TOLD_TO_MARK, "fq_codel", "dualpi2"]);

/** The scenario as TOML. */
export function toToml(state: State): string {
  if (state.mode === "text") return state.text;
  const { duration } = state;
  const lines = [
    `schema_version = 1`,
    `name = "explore"`,
    `duration = ${seconds(duration)}`,
    `seeds = 10`,
    `seed = ${state.seed}`,
    ``,
    `[topology.dumbbell.forward]`,
    `capacity = ${capacity(state.capacity, duration)}`,
    `delay = "${plain(state.rtt / 2)} ms"`,
    `queue = ${queue(state)}`,
    ...(state.loss > 0 ? [`loss = { bernoulli = ${plain(state.loss / 100)} }`] : []),
    ``,
    `[topology.dumbbell.reverse]`,
    `delay = "${plain(state.rtt / 2)} ms"`,
  ];
  names(state.flows).forEach((name, i) => {
    const { control, start, stop } = state.flows[i];
    const ecn = control === "cubic" && MARKING.has(state.queue) ? `, ecn = true` : ``;
    lines.push(``, `[flows.${name}]`);
    if (start > 0) lines.push(`start = ${seconds(start)}`);
    if (stop !== null && stop < duration) lines.push(`stop = ${seconds(stop)}`);
    lines.push(`tcp = { congestion = "${control}"${ecn} }`);
  });
  lines.push(``, `[record]`, `sample = "${sample(duration)} ms"`);
  return lines.join("\n") + "\n";
}

/** Interval of the time series [ms]: a few hundred points of a run. */
function sample(duration: number): number {
  return duration <= 20 ? 50 : duration <= 60 ? 100 : 200;
}

/** Files up to this length are part of the program [characters]. */
const WITHIN = 20_000;

/** Letters that a reader does not see, and with which a program may look like another one. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function escaped(letter: string): string {
  const code = letter.codePointAt(0)!.toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
}

/** A text as one line of Python: what JSON writes is a literal there, too. */
const quoted = (text: string): string => JSON.stringify(text).replace(UNSEEN, escaped);

/** A text as a literal of Python with as many lines as it has. */
function block(text: string): string {
  const lines = text.replaceAll("\\", "\\\\").replace(UNSEEN, (letter) => (letter === "\n" || letter === "\t" ? letter : escaped(letter)));
  return `"""\\\n${lines.replaceAll('"""', '\\"\\"\\"')}\n"""`;
}

/**
 * The same as a program, with the files that it names. All that may have come with a link is a literal in it, names are
 * names (`isFileName`), and none of it is in a comment.
 */
export function toPython(toml: string, files: [string, string][] = []): string {
  const alien = files.find(([name]) => !isFileName(name));
  if (alien) throw new Error(`${JSON.stringify(alien[0])} is not the name of a file beside the scenario`);
  const short = (text: string) => (text.startsWith(NO_TEXT) ? `base64.b64decode(${quoted(text.slice(NO_TEXT.length))})` : `${quoted(text)}.encode()`);
  const value = ([name, text]: [string, string]) => (text.length <= WITHIN ? short(text) : `pathlib.Path(${quoted(name)}).read_bytes()`);
  const isBeside = files.some(([, text]) => text.length > WITHIN);
  return [
    ...(isBeside ? [`# Files that are read here must lie in the working directory; those of traces/ are among varicap's examples.`] : []),
    `import base64, pathlib, tempfile`,
    ``,
    `import varicap`,
    ``,
    `SCENARIO = ${block(toml.trimEnd())}`,
    ...(files.length ? [`FILES = {`, ...files.map((file) => `    ${quoted(file[0])}: ${value(file)},`), `}`] : []),
    ``,
    `with tempfile.TemporaryDirectory() as folder:`,
    `    file = pathlib.Path(folder) / "explore.toml"`,
    `    file.write_text(SCENARIO, encoding="utf-8")`,
    ...(files.length ? [`    for name, content in FILES.items():`, `        (file.parent / name).parent.mkdir(parents=True, exist_ok=True)`, `        (file.parent / name).write_bytes(content)`] : []),
    `    result = varicap.run(file)`,
    `print(result)`,
    ``,
  ].join("\n");
}
