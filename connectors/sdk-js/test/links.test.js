// The header `Link` is read as the gateway reads it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Request, send } from "../src/index.js";
import { Gateway } from "../src/testing.js";

const cases = JSON.parse(readFileSync(new URL("../../sdk/tests/shared/links.json", import.meta.url), "utf8"));

test("the next page is found in the header Link", () => {
  for (const { values, next } of cases) {
    new Gateway().answer({ status: 200, body: "{}", headers: values.map((value) => ["Link", value]) });
    assert.equal(send(Request.get("api", "/x")).headerLink("link") ?? null, next, JSON.stringify(values));
  }
});
