// Mistakes in a table, with file and line. The engines of components stop at one too, but say only
// what is wrong.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { placesIn } from "../places.js";
import { tableOf } from "./bundle.js";

/** Throws the first mistake in the table of a connector. The module is loaded in Node.js for this. */
export async function check(source, sdk, folder) {
  const { code, lines } = await tableOf(source, sdk);
  const file = join(folder, "table.mjs");
  await writeFile(file, code);
  const url = pathToFileURL(file).href;
  try {
    await import(url);
  } catch (error) {
    // What else fails here may work in the engine, which reports it otherwise.
    if (error?.name !== "Mistake") return;
    const [place] = placesIn(ofModule(error.declared ?? error.stack, url), lines);
    throw new Error(`${place === undefined ? "" : `${place}: `}${error.message}`);
  }
}

/** The lines of a stack that are in this module. */
function ofModule(stack, url) {
  return stack.split("\n").filter((line) => line.includes(url)).join("\n");
}
