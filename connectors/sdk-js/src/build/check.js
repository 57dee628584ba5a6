// Mistakes in a table, with file and line. The engines of components stop at one too, but say only
// what is wrong.

import { writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { parseAst } from "rolldown/parseAst";

import { checkRows, load } from "../row_module.js";
import { checkArguments } from "./arguments.js";
import { tableOf } from "./bundle.js";
import { undefinedName } from "./names.js";

/** Throws the first mistake in the table of a connector. The module is loaded in Node.js for this. */
export async function check(source, sdk, folder) {
  load();
  const file = join(folder, "table.mjs");
  await writeFile(file, await tableOf(source, sdk));
  // Stacks then name the files of the author and of the SDK.
  process.setSourceMapsEnabled(true);
  try {
    const { default: table } = await import(pathToFileURL(file).href);
    if (table?.functions !== undefined) {
      checkRows(table);
      checkArguments(table, parseAst);
    }
  } catch (error) {
    // What else fails here may work in the engine, which reports it otherwise.
    const isName = error instanceof ReferenceError;
    if (error?.name !== "Mistake" && !isName) return;
    const place = placeIn(error.declared ?? error.stack, sdk);
    throw new Error(`${place === undefined ? "" : `${place}: `}${isName ? undefinedName(error.message) : error.message}`);
  } finally {
    process.setSourceMapsEnabled(false);
  }
}

/** The innermost place of a stack in a file of the author, as `file:line`. */
function placeIn(stack, sdk) {
  // Some versions of Node.js write a URL, and others a path.
  const path = (text) => (text.startsWith("file:") ? fileURLToPath(text) : text);
  const places = [...stack.matchAll(/[ (]((?:file:\/\/)?\/.+?):(\d+):\d+\)?$/gm)].map(([, place, line]) => [path(place), line]);
  const [file, line] = places.find(([found]) => !found.startsWith(sdk)) ?? [];
  return file && `${relative(process.cwd(), file)}:${line}`;
}
