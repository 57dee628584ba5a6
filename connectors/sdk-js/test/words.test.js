// The page with the words of a table in three languages has every word of this SDK, and no other.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import * as sdk from "../src/index.js";

const text = (path) => readFileSync(new URL(path, import.meta.url), "utf8");

/** The words in the column of JavaScript, by section. */
function sections() {
  const found = text("../../docs/words.md").split("\n## ").slice(1);
  return found.map((section) => {
    const rows = section.split("\n").filter((line) => line.startsWith("| ")).slice(1);
    return rows.flatMap((row) => [...row.split(/(?<!\\)\|/)[2].matchAll(/`(\w+)`/g)].map(([, word]) => word));
  });
}

/** The words of a list in a file of the SDK. */
function list(file, name) {
  const [, inside] = text(`../src/${file}`).match(new RegExp(`const ${name} = \\[([^\\]]*)\\]`));
  return [...inside.matchAll(/"(\w+)"/g)].map(([, word]) => word);
}

const sorted = (words) => [...new Set(words)].sort();

test("the page has the words of the table", () => {
  const [statements, rows, types, modifiers] = sections();
  assert.deepEqual(sorted(statements), sorted([...list("table.js", "STATEMENTS"), ...list("table.js", "UPSTREAM")]));
  const functions = ["get", "head", "post", "put", "patch", "del", "read", "write", "destructive", "internal"];
  const clauses = [...list("rows.js", "CLAUSES"), ...list("rows.js", "FUNCTIONS"), ...list("declared_rows.js", "ROW_CLAUSES"), ...list("table.js", "PAGES")];
  assert.deepEqual(sorted(rows), sorted([...functions, ...clauses]));
  for (const word of [...functions, ...types]) assert.equal(typeof sdk[word], "function", word);
  const known = ["COMMON", "BOUNDS", "STRINGS", "LISTS"].flatMap((name) => list("fields.js", name));
  assert.deepEqual(sorted(modifiers), sorted([...known, "keeps_slashes", "odata_string", "without"]));
});
