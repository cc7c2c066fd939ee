/** The page: which part of it is shown, and what its address says. */

import { byId, h } from "./dom";
import { Client } from "./engine/client";
import { Laboratory } from "./explore";
import { Game } from "./game";
import { LESSONS, type Lesson, stateOf } from "./lessons";
import { bytesOf85, decode, encode, inflate, initial, isState, type State, TooLongError } from "./state";

declare const TRACES: Record<string, string>;

/** A trace of opportunities from the number of them in each millisecond. */
async function trace(packed: string): Promise<string> {
  const counts = await inflate(bytesOf85(packed), "deflate-raw");
  const lines: number[] = [];
  counts.forEach((count, ms) => {
    for (let i = 0; i < count; i++) lines.push(ms);
  });
  return lines.join("\n") + "\n";
}

/** What stands behind the # of the address. */
function address(): URLSearchParams {
  return new URLSearchParams(location.hash.slice(1));
}

async function start(): Promise<void> {
  const wasm = await inflate(bytesOf85(byId("module").textContent!.trim()), "deflate-raw");
  const client = new Client(await WebAssembly.compile(wasm as BufferSource));
  const traces: Record<string, string> = {};
  for (const [name, packed] of Object.entries(TRACES)) traces[name] = await trace(packed);
  const laboratory = new Laboratory(client, traces);
  const game = new Game(byId("game"), client);
  let view = "";
  let lesson: Lesson | undefined;

  const settle = async () => {
    const said = await encode(laboratory.state);
    history.replaceState(null, "", lesson ? `#lesson=${lesson.number}&s=${said}` : `#s=${said}`);
  };
  // A notebook has the page in a frame, as a blob of its own origin, and hears what is set there. Whoever else frames the
  // page hears nothing: what is set may be read from files of the reader.
  const tell = async () => {
    const isInNotebook = parent !== window && location.protocol === "blob:" && location.origin !== "null";
    if (isInNotebook) parent.postMessage({ varicap: await laboratory.told() }, location.origin);
  };
  laboratory.onSettled = () => {
    void settle();
    void tell().catch(() => undefined);
  };

  const route = async () => {
    const asked = address();
    const shown = asked.has("game") ? "game" : asked.has("lesson") ? "lesson" : "explore";
    lesson = shown === "lesson" ? LESSONS[Number(asked.get("lesson")) - 1] ?? LESSONS[0] : undefined;
    view = shown;
    byId("lesson").hidden = view !== "lesson";
    byId("game").hidden = view !== "game";
    byId("laboratory").hidden = view === "game";
    for (const link of document.querySelectorAll<HTMLAnchorElement>("nav a")) {
      if (link.dataset.view === view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = lesson ? `varicap – ${lesson.title}` : "varicap – the laboratory in a browser";
    if (view === "game") return game.open(asked);
    game.close();
    if (lesson) showLesson(lesson, laboratory);
    const { state, notice } = await stateFrom(asked, lesson);
    await laboratory.open(state, lesson?.knobs ?? [], notice);
    await tell().catch(() => undefined);
  };
  addEventListener("hashchange", () => void route());
  // The address is the state of the page: the way to the charts must not change it.
  document.querySelector(".skip")!.addEventListener("click", (event) => {
    event.preventDefault();
    (view === "game" ? byId("game").querySelector("button")! : byId("charts")).focus();
  });
  await route();
  document.documentElement.dataset.ready = "yes";
}

/** The state of a link, of a lesson, or the first, and what the reader should know about it. */
async function stateFrom(asked: URLSearchParams, lesson: Lesson | undefined): Promise<{ state: State; notice?: string }> {
  const said = asked.get("s");
  const fresh = lesson ? stateOf(lesson) : initial();
  const handed = (window as { varicapScenario?: { text: string; file: string; files?: Record<string, string> } }).varicapScenario;
  if (!said && !lesson && handed) return { state: { ...fresh, mode: "text", ...handed } };
  if (!said) return { state: fresh };
  const why = (error: unknown) => (error instanceof TooLongError ? `The link is too long: ${error.message}` : "The link is damaged");
  const state: unknown = await decode(said).then((value) => ({ ...fresh, ...(value as State) }), why);
  const notice = typeof state === "string" ? state : "The link is damaged";
  return isState(state) ? { state } : { state: fresh, notice: `${notice}: this is the page as it begins.` };
}

function showLesson(lesson: Lesson, laboratory: Laboratory): void {
  const links = LESSONS.map(({ number, title }) => {
    const link = h("a", { href: `#lesson=${number}`, title }, `${number}`, h("span", { class: "soft" }, ""));
    link.setAttribute("aria-label", `Lesson ${number}: ${title}`);
    if (number === lesson.number) link.setAttribute("aria-current", "true");
    return h("li", {}, link);
  });
  const again = h("button", { type: "button" }, "Set it up again");
  again.addEventListener("click", () => void laboratory.open(stateOf(lesson), lesson.knobs ?? []));
  byId("lesson").replaceChildren(
    h("ul", { class: "lessons", "aria-label": "Lessons" }, ...links),
    h("div", { class: "lesson" },
      h("h2", {}, `${lesson.number}. ${lesson.title}`),
      h("p", {}, lesson.idea),
      h("div", {}, h("h3", {}, "Do"), h("ol", {}, ...lesson.act.map((step) => h("li", {}, step)))),
      h("div", {}, h("h3", {}, "Notice"), h("ul", {}, ...lesson.notice.map((thing) => h("li", {}, thing)))),
      h("div", {}, h("h3", {}, "Question"), h("p", {}, lesson.question), h("details", {}, h("summary", {}, "An answer"), h("p", {}, lesson.answer)), h("div", { class: "row" }, again)),
    ),
  );
}

start().catch((error: unknown) => {
  byId("failure").hidden = false;
  byId("failure").textContent = `The page cannot run here: ${error instanceof Error ? error.message : error}. It needs a browser with WebAssembly and DecompressionStream.`;
});
