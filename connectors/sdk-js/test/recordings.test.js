// A replay of the shared recordings ends as in Rust.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { replay } from "../src/testing.js";
import table from "./rows.js";

const shared = (name) => new URL(`../../sdk/tests/shared/${name}`, import.meta.url);

test("a replay fails if the call is not the recorded one", () => {
  const expected = Object.entries(JSON.parse(readFileSync(shared("recordings.json"), "utf8")));
  assert.ok(expected.length > 10);
  for (const [name, words] of expected) {
    const play = () => replay(table, shared(`recordings/${name}.json`));
    if (words === null) play();
    else assert.throws(play, ({ message }) => message.includes(words), name);
  }
});
