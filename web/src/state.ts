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

/** Files that a state may have, and letters of the name of one. */
const MOST_FILES = 64;
const MOST_NAME = 200;

/** Letters that no name of a file has: separators of other systems, and what a reader does not see. */
const NEVER_IN_NAMES = /[\\:*?"<>|\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/**
 * Whether a text names a file beside a scenario, or in a folder below it: a link may come from anybody, and whoever copies
 * a program out of the page writes files of these names. The rule of `varicap.explore.is_file_name`.
 */
export function isFileName(name: string): boolean {
  // Windows takes `.. ` for `..`.
  return [...name].length <= MOST_NAME && !NEVER_IN_NAMES.test(name) && name.split("/").every((part) => /[^. ]$/.test(part));
}

/** The name of a file that the reader has chosen, without what no name may have. */
export function fileName(name: string): string {
  const mended = name.replace(new RegExp(NEVER_IN_NAMES, "gu"), "_").replaceAll("/", "_").slice(-MOST_NAME);
  return isFileName(mended) ? mended : `${mended.replace(/[. ]+$/, "")}_`;
}

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
/** Without halves of letters, which no file can have. */
const isText = (value: unknown): value is string => typeof value === "string" && !/\p{Cs}/u.test(value);
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
      return isText(of.file) && isFileName(of.file) && ["rates", "opportunities"].includes(of.format);
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
    && isText(of.text) && isText(of.file) && isFileName(of.file) && all(of.settings, (one) => all(one, isText) && one.length === 2)
    && areFiles(of.files);
}

function areFiles(of: any): of is Record<string, string> {
  if (typeof of !== "object" || of === null || Array.isArray(of)) return false;
  const files = Object.entries(of);
  return files.length <= MOST_FILES && files.every(([name, text]) => isFileName(name) && isContent(text));
}

/** What begins the content of a file that is no text, such as a capture; its bytes follow in base64. As in `varicap.explore`. */
export const NO_TEXT = "data:application/octet-stream;base64,";

function isContent(of: unknown): of is string {
  return isText(of) && (!of.startsWith(NO_TEXT) || /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(of.slice(NO_TEXT.length)));
}

/** The content of a file that the reader has chosen, unpacked; raises `TooLongError` if it is more than the page takes. */
export async function contentOf(file: Blob): Promise<string> {
  if (file.size > MOST_INFLATED) throw new TooLongError(`${file.size} bytes are more than the ${MOST_INFLATED} that the page takes`);
  const packed = new Uint8Array(await file.arrayBuffer());
  const bytes = packed[0] === 0x1f && packed[1] === 0x8b ? await inflate(packed, "gzip", MOST_INFLATED) : packed;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return NO_TEXT + base64Of(bytes);
  }
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

/** Letters that a link may hold once they are inflated [B]. */
const MOST_INFLATED = 16_000_000;

/** A link that holds more than a page takes. */
export class TooLongError extends Error {}

async function through(bytes: Uint8Array, stream: GenericTransformStream, most = Infinity): Promise<Uint8Array> {
  const reader = new Blob([bytes as BlobPart]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array, BufferSource>).getReader();
  const parts: BlobPart[] = [];
  let length = 0;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    length += piece.value.length;
    if (length > most) {
      await reader.cancel();
      throw new TooLongError(`${bytes.length} bytes of it hold more than the ${most} bytes that the page takes`);
    }
    parts.push(piece.value as BlobPart);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

function base64Of(bytes: Uint8Array): string {
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters);
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

export async function inflate(bytes: Uint8Array, format: CompressionFormat, most?: number): Promise<Uint8Array> {
  return through(bytes, new DecompressionStream(format), most);
}

/** A value as letters that an address may have. */
export async function encode(value: unknown): Promise<string> {
  const deflated = await through(new TextEncoder().encode(JSON.stringify(value)), new CompressionStream("deflate-raw"));
  return base64Of(deflated).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The inverse of `encode`, for letters that anybody may have written; raises `TooLongError` if too many come of them. */
export async function decode(letters: string): Promise<unknown> {
  const bytes = await inflate(bytesOf(letters.replaceAll("-", "+").replaceAll("_", "/")), "deflate-raw", MOST_INFLATED);
  return JSON.parse(new TextDecoder().decode(bytes));
}
