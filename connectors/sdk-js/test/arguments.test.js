// Names that a function takes and that are no fields of its row stop the build.

import assert from "node:assert/strict";
import { test } from "node:test";

import { checkArguments } from "../src/build/arguments.js";
import { auth, connector, get, read, string } from "../src/index.js";

/** The syntax tree of a function whose first parameter takes these names out of its object. */
const taking = (...names) => {
  const properties = names.map((name) => ({ type: "Property", computed: false, key: { type: "Identifier", name } }));
  const expression = { type: "ArrowFunctionExpression", params: [{ type: "ObjectPattern", properties }] };
  return () => ({ body: [{ type: "ExpressionStatement", expression }] });
};
const table = (row) => connector({ identifier: "a", version: "1.0.0", title: "A", auth: auth.none, upstreams: { api: "https://a.example" }, operations: { one: row } });
const run = ({ word }) => word;

test("a function that takes no other names than its fields is accepted", () => {
  const row = read(run, { doc: "One", fields: { word: string(), "other?": string() } });
  checkArguments(table(row), taking("word"));
  checkArguments(table(row), taking());
  checkArguments(table(row), () => {
    throw new SyntaxError();
  });
});

test("a name that is no field is named with the operation and the fields", () => {
  const named = (row, ...names) => {
    try {
      checkArguments(table(row), taking(...names));
    } catch (error) {
      return error;
    }
  };
  const found = named(read(run, { doc: "One", fields: { words: string(), "other?": string() } }), "other", "word");
  assert.equal(found.message, "operation `one`: the function takes `word`, which is no field of its row; its fields are `words`, `other`");
  assert.match(found.declared, /arguments\.test\.js/);
  assert.match(named(read(run, { doc: "One" }), "word").message, /it has no fields$/);
  const checked = get("api", "/x", { doc: "One", fields: { id: string() }, check: run });
  assert.match(named(checked, "word").message, /`check` takes `word`/);
});
