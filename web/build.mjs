// Builds the page: node build.mjs MODULE.wasm [OUT]. One file that needs nothing else, so that any host can serve it and
// a browser can open it from a disk: the module and the worker's code are texts in it.
import zopfli from "@gfx/zopfli";
import { build } from "esbuild";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, deflateRawSync, gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const wasm = process.argv[2];
const out = process.argv[3] ?? join(here, "dist");
const options = { bundle: true, minify: true, write: false, format: "iife", target: "es2022", charset: "utf8", legalComments: "eof" };

/** The text of a module with all that it imports. */
async function bundled(file, more = {}) {
  const result = await build({ entryPoints: [join(here, "src", file)], ...options, ...more });
  return result.outputFiles[0].text;
}

/** Bytes as letters of a page, five for four; `bytesOf85` of src/state.ts is the inverse. */
const LETTERS = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).filter((letter) => !`<&"'\\\``.includes(letter)).slice(0, 85);
function base85(bytes) {
  const padded = Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
  let text = "";
  for (let at = 0; at < padded.length; at += 4) {
    let value = padded.readUInt32BE(at);
    let group = "";
    for (let i = 0; i < 5; i++, value = Math.floor(value / 85)) group = LETTERS[value % 85] + group;
    text += group;
  }
  return `${bytes.length} ${text}`;
}

/** A file deflated as small as it gets. That takes half a minute, so it is kept beside the file. */
async function smallest(file) {
  const kept = `${file}.deflate`;
  if (!existsSync(kept) || statSync(kept).mtimeMs < statSync(file).mtimeMs) {
    writeFileSync(kept, await zopfli.deflateAsync(readFileSync(file), { numiterations: 5 }));
  }
  return readFileSync(kept);
}

/** A trace of opportunities as the number of them in each millisecond, deflated: much less than its text. */
function opportunities(file) {
  const lines = readFileSync(file, "utf8").split("\n").filter((line) => /^\d+$/.test(line)).map(Number);
  const counts = new Uint8Array(lines.at(-1) + 1);
  for (const line of lines) counts[line]++;
  return base85(deflateRawSync(counts, { level: 9, memLevel: 9 }));
}

// What Node needs of the same code, for the tests.
mkdirSync(out, { recursive: true });
await build({ ...options, entryPoints: [join(here, "src/engine/module.ts")], write: true, minify: false, format: "esm", outfile: join(here, "build/engine.mjs") });

const module = readFileSync(wasm);
const define = {
  WORKER: JSON.stringify(await bundled("engine/worker.ts")),
  TRACES: JSON.stringify({
    "traces/lte-like.down": opportunities(join(here, "../examples/traces/lte-like.down")),
  }),
};
const script = await bundled("main.ts", { define });
const style = (await bundled("style.css")).trim();
// A function, since a replacement's text may hold dollar signs.
const put = (text, name, value) => text.replace(name, () => value);
let page = readFileSync(join(here, "src/index.html"), "utf8");
page = put(page, "/*STYLE*/", style);
const deflated = await smallest(wasm);
page = put(page, "MODULE", base85(deflated));
page = put(page, "/*SCRIPT*/", script.replaceAll("</script", "<\\/script"));
writeFileSync(join(out, "index.html"), page);

const kb = (bytes) => `${(bytes / 1000).toFixed(0)} kB`;
const brotli = (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }).length;
const whole = Buffer.from(page);
console.log(`web: module ${kb(module.length)}, deflated ${kb(deflated.length)}, brotli ${kb(brotli(module))}`);
console.log(`web: page ${kb(whole.length)}, gzip ${kb(gzipSync(whole, { level: 9, memLevel: 9 }).length)}: ${join(out, "index.html")}`);
