/** The engine on a thread of its own: it answers lists of requests, one list after another. */

import { Engine, ScenarioMistakes } from "./module";

/** What a worker is to itself; the page's own types know windows only. */
interface Scope {
  onmessage: (event: MessageEvent<Asked>) => void;
  postMessage(message: unknown, moved?: Transferable[]): void;
}

const scope = self as unknown as Scope;
let engine: Promise<Engine> | undefined;

interface Asked {
  id: number;
  module?: WebAssembly.Module;
  requests?: object[];
}

scope.onmessage = async ({ data }: MessageEvent<Asked>) => {
  if (data.module) {
    engine = Engine.of(data.module);
    return;
  }
  try {
    const lab = await engine;
    if (!lab) throw new Error("the engine was not handed in");
    const answers = (data.requests ?? []).map((request) => lab.ask<unknown>(request));
    scope.postMessage({ id: data.id, answers }, answers.map(({ bytes }) => bytes));
  } catch (error) {
    const mistakes = error instanceof ScenarioMistakes ? error.mistakes : undefined;
    scope.postMessage({ id: data.id, mistakes, failure: String(error instanceof Error ? error.message : error) });
  }
};
