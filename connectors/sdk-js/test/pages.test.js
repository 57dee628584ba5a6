// Lists that have pages.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Request, pages } from "../src/index.js";
import { Gateway, answer } from "../src/testing.js";

const CURSOR = { cursor: "/next", parameter: "page" };
const first = () => Request.get("api", "/a?x=1").header("X-A", "1");
const cases = JSON.parse(readFileSync(new URL("../../sdk/tests/shared/pages.json", import.meta.url), "utf8"));

test("lists are walked as in Rust", () => {
  assert.ok(cases.length > 20);
  for (const { case: name, words, answers, limit = 9, progress, items, more, targets, reports = [], fault } of cases) {
    const gateway = answers.reduce((found, answered) => found.answer(answer(...answered)), new Gateway());
    const found = pages(first(), { items: "/items", limit, progress, ...words });
    if (fault) {
      const [status, part] = fault;
      assert.throws(() => [...found], ({ tag, val, message }) => tag === "upstream" && val.status === status && message.includes(part), name);
      continue;
    }
    assert.deepEqual([[...found].map((item) => item.value()), found.hasMore], [items, more], name);
    assert.deepEqual(gateway.requests.map(({ target }) => target.val), targets, name);
    assert.ok(gateway.requests.every(({ headers }) => headers.length === 1), name);
    assert.deepEqual(gateway.reported, reports, name);
  }
});

test("a word that is missing is named", () => {
  const words = { items: "/items", limit: 5, ...CURSOR };
  for (const [wrong, message] of [
    [{ ...words, limit: undefined }, /`limit`/],
    [{ items: "/items", limit: 5 }, /how the next page is found/],
    [{ ...words, link: "/next" }, /how the next page is found/],
    [{ ...words, parameter: undefined }, /`parameter`/],
    [{ ...words, curser: "/a" }, /no `curser`/],
    [{ ...words, while: "/more" }, /`while` of `pages` is for `last`/],
    [{ ...words, last: "/id" }, /how the next page is found/],
  ]) {
    assert.throws(() => pages(first(), wrong), { name: "Mistake", message });
  }
});
