/** The module of crates/varicap-web: requests as JSON texts, answers as JSON with arrays behind them. */

/** What the module exports: a plain C interface over its memory. */
interface Exports {
  memory: WebAssembly.Memory;
  varicap_begin(): void;
  varicap_request(length: number): number;
  varicap_answer(): void;
  varicap_text(): number;
  varicap_text_length(): number;
  varicap_bytes(): number;
  varicap_bytes_length(): number;
  varicap_fault(): number;
  varicap_fault_length(): number;
}

/** Where the module has put an array, or the array itself if it is of names. */
export interface Column {
  name: string;
  unit: string;
  type?: "u8" | "u32" | "u64" | "f64";
  at?: number;
  length?: number;
  names?: string[];
  labels?: string[];
}

/** A mistake of a scenario. */
export interface ScenarioError {
  file: string;
  line: number | null;
  column: number | null;
  key: string;
  found: string | null;
  expected: string;
  hint: string | null;
  /** The line as it was written, where the wrong part of it begins, and how long that is. */
  excerpt: [string, number, number] | null;
}

export interface Mistakes {
  errors: ScenarioError[];
  more: number;
  text: string;
  shown: string;
}

/** An answer: the JSON of what was asked, and the bytes in which its arrays lie. */
export interface Answer<T> {
  ok: T;
  bytes: ArrayBuffer;
}

/** The scenario has mistakes. */
export class ScenarioMistakes extends Error {
  constructor(readonly mistakes: Mistakes) {
    super(mistakes.text);
  }
}

/** The numbers of a column. */
export function numbers(column: Column, bytes: ArrayBuffer): Float64Array {
  const { type, at = 0, length = 0 } = column;
  switch (type) {
    case "f64":
      return new Float64Array(bytes, at, length);
    case "u64":
      return Float64Array.from(new BigUint64Array(bytes, at, length), Number);
    case "u32":
      return Float64Array.from(new Uint32Array(bytes, at, length));
    case "u8":
      return Float64Array.from(new Uint8Array(bytes, at, length));
    default:
      throw new Error(`${column.name} is no column of numbers`);
  }
}

/** The engine: one module with its own memory. After a fault it is of no more use. */
export class Engine {
  private constructor(private readonly exports: Exports) {
    exports.varicap_begin();
  }

  static async of(module: WebAssembly.Module): Promise<Engine> {
    const instance = await WebAssembly.instantiate(module, {});
    return new Engine(instance.exports as unknown as Exports);
  }

  /** The answer to a request. */
  ask<T>(request: object): Answer<T> {
    const wasm = this.exports;
    const answer = JSON.parse(this.raw(request));
    if (answer.mistakes) throw new ScenarioMistakes(answer.mistakes);
    if (answer.refused) throw new Error(answer.refused);
    const at = wasm.varicap_bytes();
    return { ok: answer.ok, bytes: wasm.memory.buffer.slice(at, at + wasm.varicap_bytes_length()) };
  }

  /** The text of the answer to a request, as the module has written it. */
  raw(request: object): string {
    const wasm = this.exports;
    const text = new TextEncoder().encode(JSON.stringify(request));
    const room = wasm.varicap_request(text.length);
    new Uint8Array(wasm.memory.buffer, room, text.length).set(text);
    try {
      wasm.varicap_answer();
    } catch (trap) {
      throw new Error(`the engine failed: ${this.text(wasm.varicap_fault(), wasm.varicap_fault_length()) || trap}`);
    }
    return this.text(wasm.varicap_text(), wasm.varicap_text_length());
  }

  private text(at: number, length: number): string {
    return new TextDecoder().decode(new Uint8Array(this.exports.memory.buffer, at, length));
  }
}
