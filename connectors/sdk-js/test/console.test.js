// The console of a component, and what it does not have.

import assert from "node:assert/strict";
import { test } from "node:test";

import { refuseFetch, replaceConsole } from "../src/console.js";

/** Runs `use` with the console of a component, and returns the lines of its log. */
function logged(use) {
  const own = globalThis.console;
  const lines = [];
  try {
    const replaced = replaceConsole((level, line) => lines.push([level, line]));
    use(globalThis.console, replaced);
  } finally {
    globalThis.console = own;
  }
  return lines;
}

test("the console writes to the log, and in the build to nothing", () => {
  const circle = {};
  circle.self = circle;
  const lines = logged((console, replaced) => {
    console.log("in the build");
    replaced.start();
    console.log("a", 1, { b: [true, null] }, undefined);
    console.error(new TypeError("wrong"));
    console.warn(circle);
    console.debug("d");
    console.assert(true, "fine");
    console.assert(false, "not fine");
  });
  assert.deepEqual(lines, [
    ["info", 'a 1 {"b":[true,null]} undefined'],
    ["error", "TypeError: wrong"],
    ["warn", "[object Object]"],
    ["debug", "d"],
    ["error", "Assertion failed not fine"],
  ]);
});

test("fetch names what a connector has in its place", () => {
  const own = globalThis.fetch;
  try {
    refuseFetch();
    assert.throws(() => fetch("https://a.example"), /a connector has no fetch\(\).*`send/);
  } finally {
    globalThis.fetch = own;
  }
});
