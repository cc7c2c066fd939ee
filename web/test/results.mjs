// Runs scenarios in the module and prints their results, for tests/test_web.py to compare with the native engine's:
//   node results.mjs ENGINE.mjs MODULE.wasm < [{ "name", "text", "files", "seeds" }, …]
// A line for each scenario: its summary as the module has written it, and a digest of each column of its time series,
// those of all runs and flows (or links) one after another.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [engine, wasm] = process.argv.slice(2);
const { Engine } = await import(pathToFileURL(engine).href);
const module = new WebAssembly.Module(readFileSync(wasm));
const SIZE = { f64: 8, u64: 8, u32: 4, u8: 1 };
const NAN = new Uint8Array(new Float64Array([NaN]).buffer);

/** The bytes of a column. There are several NaNs, and which one a processor makes is its own business: here is one. */
function content({ type, at, length }, bytes) {
  const content = new Uint8Array(bytes.slice(at, at + length * SIZE[type]));
  if (type === "f64") new Float64Array(content.buffer).forEach((value, i) => isNaN(value) && content.set(NAN, i * 8));
  return content;
}

function digests(rows) {
  const names = [...new Set(rows.flatMap(({ row }) => row.columns.map((column) => column.name)))];
  return Object.fromEntries(names.map((name) => {
    const hash = createHash("sha256");
    for (const { row, bytes } of rows) {
      const column = row.columns.find((column) => column.name === name);
      // Only some flows show it.
      if (column) hash.update(content(column, bytes));
      else for (let i = 0; i < row.columns[0].length; i++) hash.update(NAN);
    }
    return [name, hash.digest("hex")];
  }));
}

for (const { name, text, files, seeds } of JSON.parse(readFileSync(0, "utf8"))) {
  const lab = await Engine.of(module);
  try {
    for (const [file, held] of Object.entries(files)) lab.ask({ do: "file", name: file, ...(typeof held === "string" ? { text: held } : { bytes: held }) });
    lab.ask({ do: "read", text, name });
    const flows = [], links = [];
    for (let replication = 0; replication < seeds; replication++) {
      const { ok, bytes } = lab.ask({ do: "run", replication, series: true });
      for (const network of ok.series) {
        flows.push(...network.flows.map((row) => ({ row, bytes })));
        links.push(...network.links.map((row) => ({ row, bytes })));
      }
    }
    const summary = lab.raw({ do: "summary" }).slice('{"ok":'.length, -1);
    console.log(JSON.stringify({ name, summary, flows: digests(flows), links: digests(links) }));
  } catch (error) {
    console.log(JSON.stringify({ name, error: String(error.message) }));
  }
}
