// The crate `rows` as a WebAssembly module: the rules of rows, and the requests that follow from them,
// the rules for links and parts of forms, and the replay of recordings.
// It runs where a connector is built and tested. In a connector the gateway does all of this.

import { existsSync, readFileSync } from "node:fs";

import { Mistake } from "./mistake.js";

/** The Makefile of the gateway's source builds it, and the published package has it. */
const MODULE = new URL("../rows.wasm", import.meta.url);

let exported;

/** The answer of the module to a question: `{ ok }` or `{ fault }`. */
function ask(question) {
  load();
  const { memory, room, answer, place } = exported;
  const asked = new TextEncoder().encode(JSON.stringify(question));
  // The memory has another buffer once it has grown.
  const at = room(asked.length);
  new Uint8Array(memory.buffer, at, asked.length).set(asked);
  const length = answer();
  const answered = JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, place(), length)));
  if (answered.unknown !== undefined) throw new Mistake(`a field, a row, an inbox or a trigger has a value of another type: ${answered.unknown}`);
  return answered;
}

/** Loads the module, if this has not been done. */
export function load() {
  if (!existsSync(MODULE)) throw new Error("the SDK has no `rows.wasm`; `make sdks` in the source of the gateway builds it");
  exported ??= new WebAssembly.Instance(new WebAssembly.Module(readFileSync(MODULE))).exports;
}

/** Throws the first mistake in the fields, rows, examples, inboxes and triggers of a table. */
export function checkRows(table) {
  const { rows, fields, examples, headers, events, ...names } = table.declarations();
  const about = ({ declared, ...asked }) => asked;
  const asked = {
    rows: rows.map(({ row, ...asked }) => ({ ...about(asked), row: plain(row) })),
    fields: fields.map(about),
    examples: examples.map(about),
  };
  const [found] = ask({ check: { ...names, headers, ...asked, events: plain(events) } }).ok;
  if (found === undefined) return;
  const mistake = new Mistake(found.operation === null ? found.mistake : `operation \`${found.operation}\`: ${found.mistake}`);
  // The build finds file and line there.
  mistake.declared = ([...rows, ...fields].find(({ operation }) => operation === found.operation) ?? table).declared.stack;
  throw mistake;
}

/** The request of a row for an input, or the fault of an input that makes none. `settings` are JSON texts. */
export function requestOf(row, input, settings) {
  return ask({ request: { row: plain(row), input, settings } });
}

/** The address of the next page in the values of a header `Link`; `undefined` if they have none. */
export const nextOf = (values) => ask({ link: values }).ok ?? undefined;

/** The rule that the file name or the media type of a part of a form breaks; `undefined` if they break none. */
export const brokenRule = ({ fileName, contentType }) => ask({ part: { file_name: fileName, content_type: contentType } }).ok ?? undefined;

/** The call of a recording, the answer to the last request, and the differences if the operation has ended. */
export const replayed = (question) => ask({ replay: question }).ok;

/** A row with the names that its members have outside of JavaScript. */
function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value === undefined || value === null || typeof value !== "object") return value;
  const name = (text) => text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [name(key), plain(member)]));
}
