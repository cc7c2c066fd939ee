/** The engine as the page sees it: questions and promises. */

import { bytesOf, NO_TEXT } from "../state";
import { type Answer, type Mistakes, ScenarioMistakes } from "./module";

declare const WORKER: string;

interface Told {
  id: number;
  answers?: Answer<any>[];
  mistakes?: Mistakes;
  failure?: string;
}

interface Waiting {
  resolve(answers: Answer<any>[]): void;
  reject(error: Error): void;
}

/** Somebody stopped what was going on. */
export class Stopped extends Error {}

export class Client {
  private worker: Worker;
  private waiting = new Map<number, Waiting>();
  private next = 1;
  /** The files that the engine holds, by their names. */
  private held = new Map<string, string>();

  constructor(private readonly module: WebAssembly.Module) {
    this.worker = this.start();
  }

  private start(): Worker {
    const url = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
    const worker = new Worker(url);
    worker.onmessage = ({ data }: MessageEvent<Told>) => this.hear(data);
    worker.postMessage({ module: this.module });
    return worker;
  }

  private hear({ id, answers, mistakes, failure }: Told): void {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    if (answers) waiting?.resolve(answers);
    else if (mistakes) waiting?.reject(new ScenarioMistakes(mistakes));
    else {
      // After a fault the engine is of no more use.
      waiting?.reject(new Error(failure));
      if (failure?.startsWith("the engine failed")) this.restart();
    }
  }

  /** The answers to a list of requests, which nothing comes between. */
  ask(...requests: object[]): Promise<Answer<any>[]> {
    const id = this.next++;
    this.worker.postMessage({ id, requests });
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  /** The requests that hand over files which the engine does not hold yet: they go into the list that needs them. */
  handing(files: [string, string][]): object[] {
    const wanted = files.filter(([name, text]) => this.held.get(name) !== text);
    wanted.forEach(([name, text]) => this.held.set(name, text));
    return wanted.map(([name, text]) => ({ do: "file", name, ...(text.startsWith(NO_TEXT) ? { bytes: [...bytesOf(text.slice(NO_TEXT.length))] } : { text }) }));
  }

  /** Ends whatever goes on; the engine forgets its files and its scenario. */
  restart(): void {
    this.worker.terminate();
    this.waiting.forEach(({ reject }) => reject(new Stopped("stopped")));
    this.waiting.clear();
    this.held.clear();
    this.worker = this.start();
  }
}
