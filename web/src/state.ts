/** What the reader has set: all of it, so that a link to it is a link to the same page. */

export type Capacity =
  | { kind: "constant"; rate: number }
  /** Rates of intervals of equal length [Mb/s]. */
  | { kind: "drawn"; rates: number[] }
  /** Two rates [Mb/s], and how long each lasts on average [s]. */
  | { kind: "markov"; rates: [number, number]; holding: [number, number] }
  | { kind: "lte" }
  | { kind: "trace"; file: string; format: "rates" | "opportunities" };

export interface Flow {
  control: string;
  /** [s] */
  start: number;
  /** [s]; null: at the end. */
  stop: number | null;
}

export interface State {
  /** A made scenario consists of the settings below; another is a text. */
  mode: "made" | "text";
  duration: number;
  seed: number;
  capacity: Capacity;
  /** Round-trip time of propagation [ms]. */
  rtt: number;
  /** [packets] */
  buffer: number;
  /** Share of packets that the link loses [%]. */
  loss: number;
  queue: string;
  flows: Flow[];
  text: string;
  /** The name of the file that the text came from. */
  file: string;
  /** Values of a text by their dotted paths. */
  settings: [string, string][];
  /** Files that the reader has handed in. */
  files: Record<string, string>;
}

export const CONTROLS: [string, string][] = [
  ["reno", "Reno"],
  ["cubic", "CUBIC"],
  ["bbr3", "BBRv3"],
  ["bbr", "BBRv1"],
  ["vegas", "Vegas"],
  ["prague", "Prague"],
  ["dctcp", "DCTCP"],
];

export const QUEUES: [string, string][] = [
  ["drop-tail", "Drop-tail"],
  ["codel", "CoDel"],
  ["fq_codel", "FQ-CoDel"],
  ["pie", "PIE"],
  ["dualpi2", "DualPI2 (L4S)"],
  ["red", "RED"],
];

/** Intervals of a drawn capacity. */
export const DRAWN = 40;
export const MOST_FLOWS = 6;
export const MOST_RATE = 100;

export function initial(): State {
  return {
    mode: "made",
    duration: 30,
    seed: 1,
    capacity: { kind: "drawn", rates: wave() },
    rtt: 40,
    buffer: 60,
    loss: 0,
    queue: "drop-tail",
    flows: [
      { control: "cubic", start: 0, stop: null },
      { control: "bbr3", start: 5, stop: null },
    ],
    text: "",
    file: "scenario.toml",
    settings: [],
    files: {},
  };
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
const isText = (value: unknown): value is string => typeof value === "string";
const all = (list: unknown, has: (value: any) => boolean): boolean => Array.isArray(list) && list.every(has);

function isCapacity(of: any): of is Capacity {
  switch (of?.kind) {
    case "constant":
      return isNumber(of.rate);
    case "drawn":
      return all(of.rates, isNumber) && of.rates.length === DRAWN;
    case "markov":
      return all(of.rates, isNumber) && of.rates.length === 2 && all(of.holding, isNumber) && of.holding.length === 2;
    case "trace":
      return isText(of.file) && ["rates", "opportunities"].includes(of.format);
    default:
      return of?.kind === "lte";
  }
}

function isFlow(of: any): of is Flow {
  return CONTROLS.some(([key]) => key === of?.control) && isNumber(of.start) && (of.stop === null || isNumber(of.stop));
}

/** Whether a value, which anybody may have written, has the shape of a state. */
export function isState(of: any): of is State {
  const numbers = [of?.duration, of?.seed, of?.rtt, of?.buffer, of?.loss];
  return numbers.every(isNumber) && ["made", "text"].includes(of.mode) && isCapacity(of.capacity)
    && QUEUES.some(([key]) => key === of.queue) && all(of.flows, isFlow) && of.flows.length > 0 && of.flows.length <= MOST_FLOWS
    && isText(of.text) && isText(of.file) && all(of.settings, (one) => all(one, isText) && one.length === 2)
    && typeof of.files === "object" && of.files !== null && Object.values(of.files).every(isText);
}

/** A capacity that falls to a third for a while: what the page shows first. */
function wave(): number[] {
  return Array.from({ length: DRAWN }, (_, i) => (i < 14 ? 10 : i < 24 ? 4 : i < 32 ? 8 : 12));
}

/** The names of the flows: what they are, with a number where two are the same. */
export function names(flows: Flow[]): string[] {
  const seen = new Map<string, number>();
  return flows.map(({ control }) => {
    const count = (seen.get(control) ?? 0) + 1;
    seen.set(control, count);
    return count === 1 ? control : `${control}-${count}`;
  });
}

async function through(bytes: Uint8Array, stream: GenericTransformStream): Promise<Uint8Array> {
  const piped = new Blob([bytes as BlobPart]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array, BufferSource>);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

/** The inverse of base64 [B]. */
export function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

/** The inverse of the base85 of build.mjs: the number of bytes, and five letters for four of them. */
export function bytesOf85(text: string): Uint8Array {
  const values = new Uint8Array(128);
  let next = 0;
  for (let code = 33; code < 127; code++) if (!`<&"'\\\``.includes(String.fromCharCode(code))) values[code] = next++;
  const begin = text.indexOf(" ") + 1;
  const bytes = new DataView(new ArrayBuffer(((text.length - begin) / 5) * 4));
  for (let at = begin, to = 0; at < text.length; at += 5, to += 4) {
    let value = 0;
    for (let i = 0; i < 5; i++) value = value * 85 + values[text.charCodeAt(at + i)];
    bytes.setUint32(to, value);
  }
  return new Uint8Array(bytes.buffer, 0, Number(text.slice(0, begin)));
}

export async function inflate(bytes: Uint8Array, format: CompressionFormat): Promise<Uint8Array> {
  return through(bytes, new DecompressionStream(format));
}

/** A value as letters that an address may have. */
export async function encode(value: unknown): Promise<string> {
  const deflated = await through(new TextEncoder().encode(JSON.stringify(value)), new CompressionStream("deflate-raw"));
  let letters = "";
  for (const byte of deflated) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export async function decode(letters: string): Promise<unknown> {
  const bytes = await inflate(bytesOf(letters.replaceAll("-", "+").replaceAll("_", "/")), "deflate-raw");
  return JSON.parse(new TextDecoder().decode(bytes));
}
