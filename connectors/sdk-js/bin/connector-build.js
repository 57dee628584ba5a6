#!/usr/bin/env node
// Builds the component of a connector: `connector-build connector.js --output connector.wasm`.

import { readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parseArgs } from "node:util";

import { refusal } from "../src/build/node.js";

/** The engine that the project's package.json names: `"connector": { "engine": "quickjs" }`. */
async function engineOf(folder) {
  try {
    return JSON.parse(await readFile(join(folder, "package.json"), "utf8")).connector?.engine;
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw new Error(`package.json: ${error.message}`);
  }
}

const USAGE = "usage: connector-build SOURCE [--output FILE] [--engine spidermonkey|quickjs]";

try {
  const refused = refusal(process.versions.node);
  if (refused) throw new Error(refused);
  // The packages that build cannot even be imported by an older Node.js.
  const { build } = await import("../src/build/index.js");
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { output: { type: "string", short: "o" }, engine: { type: "string" } },
  });
  if (positionals.length !== 1) throw new Error(USAGE);
  const [source] = positionals;
  const output = values.output ?? `${basename(source).replace(/\.[^.]*$/, "")}.wasm`;
  const component = await build(source, values.engine ?? (await engineOf(dirname(source))));
  await writeFile(output, component);
  console.log(`${output}: ${(component.length / 1e6).toFixed(1)} MB`);
} catch (error) {
  console.error(`connector-build: ${error.message}`);
  process.exitCode = 1;
}
