// What builds a module: the contract in the package, and the versions of Node.js.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { refusal } from "../src/build/node.js";

const text = (path) => readFileSync(new URL(path, import.meta.url), "utf8");

test("the package has the contract", () => {
  assert.equal(text("../connector.wit"), text("../../../wit/connector.wit"), "`make sdks` copies it");
  assert.ok(JSON.parse(text("../package.json")).files.includes("connector.wit"));
});

test("an old Node.js is refused with the place of a newer one", () => {
  for (const version of ["18.20.4", "20.18.3", "21.7.0", "22.11.0"]) {
    assert.match(refusal(version), new RegExp(`this is Node.js ${version},.*https://nodejs.org`));
  }
  for (const version of ["20.19.0", "20.20.2", "22.12.0", "23.0.0", "24.1.0"]) assert.equal(refusal(version), undefined);
});
