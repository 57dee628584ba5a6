// The same table gives the same manifest and the same requests as in Rust.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Fault } from "../src/index.js";
import { Gateway } from "../src/testing.js";
import table from "./rows.js";

const shared = (name) => JSON.parse(readFileSync(new URL(`../../sdk/tests/shared/${name}`, import.meta.url), "utf8"));

/** Names as the files have them, and null for what is absent. */
function neutral(value) {
  if (Array.isArray(value)) return value.map(neutral);
  if (value === undefined || value === null || typeof value !== "object") return value ?? null;
  const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [snake(name), neutral(member)]));
}

test("the manifest is equal to the one of the same table in Rust", () => {
  assert.deepEqual(neutral(table.manifest), shared("manifest.json"));
});

test("the declarations of rows are equal to the ones of the same table in Rust", () => {
  const declared = table.rows().map(([operation, row]) => ({ operation, row }));
  assert.deepEqual(neutral(declared), shared("declarations.json"));
});

test("the declarations of pages are equal to the ones of the same table in Rust", () => {
  const declared = table.lastItems().map(([operation, more]) => ({ operation, more }));
  assert.deepEqual(neutral(declared), shared("last_items.json"));
});

test("the inboxes and triggers are equal to the ones of the same table in Rust", () => {
  assert.deepEqual(neutral(table.events), shared("events.json"));
});

test("the answers of internal functions are equal to the ones in Rust", () => {
  const cases = shared("internal.json");
  assert.ok(cases.length > 5);
  for (const { operation, input, answer } of cases) {
    const found = new Gateway().invoke(table, operation, input);
    assert.deepEqual(JSON.parse(JSON.stringify(found)), answer, `${operation} ${input}`);
  }
});

test("the requests are equal to the ones of the same table in Rust", () => {
  const gateway = new Gateway();
  const cases = shared("cases.json");
  assert.ok(cases.length > 50);
  for (const { operation, input, answer } of cases) {
    assert.deepEqual(answerOf(gateway, operation, input), answer, `${operation} ${input}`);
  }
});

function answerOf(gateway, operation, input) {
  try {
    const request = gateway.invoke(table, operation, input);
    const { method, upstream, path, headers, body } = request;
    const sent = body?.tag === "bytes" ? gateway.parts(request) : (body?.val ?? null);
    return { request: { method, upstream, path, headers, body: sent } };
  } catch (error) {
    if (error instanceof Fault && error.tag === "invalid-input") return { invalid: error.val };
    throw error;
  }
}
