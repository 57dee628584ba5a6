import assert from "node:assert/strict";
import { test } from "node:test";

import { Gateway, replay } from "@connector-gateway/sdk/testing";

import table from "./connector.js";

test("the path contains the word", () => {
  assert.equal(new Gateway().invoke(table, "define", { word: "hello" }).path, "/entries/en/hello");
});

test("a word is defined as recorded", () => {
  replay(table, "recordings/define.json");
});
