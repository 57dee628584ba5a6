// Lists that have pages.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Request, pages } from "../src/index.js";
import { Gateway, answer } from "../src/testing.js";

const CURSOR = { cursor: "/next", parameter: "page" };
const first = () => Request.get("api", "/a?x=1").header("X-A", "1");

function gateway(...bodies) {
  return bodies.reduce((gateway, body) => gateway.answer(body.status ? body : answer(200, body)), new Gateway());
}

function walked(words, limit) {
  const found = pages(first(), { items: "/items", limit, ...words });
  return [[...found].map((item) => item.value()), found.hasMore];
}

const targets = ({ requests }) => requests.map(({ target }) => target.val);

test("a cursor leads to the next page until it is empty", () => {
  for (const last of [{ items: [3] }, { items: [3], next: "" }, { items: [3], next: null }]) {
    const service = gateway({ items: [1, 2], next: "b c" }, { next: 7 }, last);
    assert.deepEqual(walked(CURSOR, 9), [[1, 2, 3], false]);
    assert.deepEqual(targets(service), ["/a?x=1", "/a?x=1&page=b%20c", "/a?x=1&page=7"]);
    assert.ok(service.requests.every(({ headers }) => headers.length === 1));
  }
});

test("the limit ends the walk before a page that is not needed", () => {
  const bodies = [{ items: [1, 2], next: "b" }, { items: [3, 4], next: "c" }];
  const service = gateway(...bodies);
  assert.deepEqual(walked(CURSOR, 2), [[1, 2], true]);
  assert.equal(service.requests.length, 1);
  gateway(...bodies);
  assert.deepEqual(walked(CURSOR, 3), [[1, 2, 3], true]);
  assert.deepEqual(walked(CURSOR, 0), [[], true]);
});

test("links are followed with the headers of the first request", () => {
  const service = gateway({ items: [1], next: "https://api.example/b" }, { items: [2], next: "" });
  assert.deepEqual(walked({ link: "/next" }, 9), [[1, 2], false]);
  assert.deepEqual(service.requests[1].target, { tag: "link", val: "https://api.example/b" });
  assert.equal(service.requests[1].headers.length, 1);
  const header = gateway(answer(200, { items: [1] }, { Link: '</b>; rel="next"' }), { items: [2] });
  assert.deepEqual(walked({ link: "Link" }, 9), [[1, 2], false]);
  assert.equal(header.requests[1].target.val, "/b");
});

test("numbers and offsets end with a page without items", () => {
  const bodies = [{ items: [1, 2] }, { items: [3] }, { items: [] }];
  const numbered = gateway(...bodies);
  assert.deepEqual(walked({ page_number: 1, parameter: "p" }, 9), [[1, 2, 3], false]);
  assert.deepEqual(targets(numbered), ["/a?x=1&p=1", "/a?x=1&p=2", "/a?x=1&p=3"]);
  const skipped = gateway(...bodies);
  assert.deepEqual(walked({ offset: true, parameter: "start" }, 9), [[1, 2, 3], false]);
  assert.deepEqual(targets(skipped), ["/a?x=1&start=0", "/a?x=1&start=2", "/a?x=1&start=3"]);
});

const LAST = { last: "/id", parameter: "after", while: "/more" };

test("the last item leads to the next page while the service says so", () => {
  for (const last of [{ items: [{ id: 7 }], more: false }, { items: [{ id: 7 }] }, { items: [], more: true }]) {
    const service = gateway({ items: [{ id: 1 }, { id: "b c" }], more: true }, last);
    assert.equal(walked(LAST, 9)[1], false);
    assert.deepEqual(targets(service), ["/a?x=1", "/a?x=1&after=b%20c"]);
  }
  const service = gateway({ items: [1, 2] }, { items: [3] }, { items: [] });
  assert.deepEqual(walked({ last: "", parameter: "after" }, 9), [[1, 2, 3], false]);
  assert.deepEqual(targets(service), ["/a?x=1", "/a?x=1&after=2", "/a?x=1&after=3"]);
});

test("a last item that leads nowhere or to the same page is a fault", () => {
  const same = { items: [{ id: 1 }], more: true };
  gateway(same, same);
  assert.throws(() => walked(LAST, 9), { tag: "upstream", message: /same next page/ });
  for (const item of [{ name: "a" }, { id: {} }, { id: "" }]) {
    gateway({ items: [item], more: true });
    assert.throws(() => walked(LAST, 9), { tag: "upstream", message: /at `\/id`/ });
  }
});

test("a list without an end and a failed page are faults", () => {
  const page = { items: [1], next: "b" };
  gateway(page, page, page);
  assert.throws(() => walked(CURSOR, 9), { tag: "upstream", message: /same next page/ });
  gateway(page, answer(500, {}));
  assert.throws(() => walked(CURSOR, 9), { tag: "upstream", message: /status 500/ });
});

test("progress is the part of the limit that was read", () => {
  const service = gateway({ items: [1, 2], next: "b" }, { items: [3], next: "c" }, { items: [4] });
  walked({ ...CURSOR, progress: "users" }, 8);
  assert.deepEqual(service.reported, [[0.25, "2 users"], [0.375, "3 users"], [1, "4 users"]]);
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
