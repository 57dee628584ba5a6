// Attempts, and the delays between them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fault, Request, clock, connector, none, read, retry, send } from "../src/index.js";
import { Gateway, answer } from "../src/testing.js";

/** Runs a function as an operation. Returns the milliseconds that the gateway's clock advanced by. */
function run(gateway, work) {
  let took;
  const operation = () => {
    const before = clock.now();
    try {
      return work();
    } finally {
      took = clock.now() - before;
    }
  };
  const operations = { work: read(operation, { doc: "Works." }) };
  const table = connector({ identifier: "a", version: "1.0.0", title: "A", auth: none, upstreams: { api: "https://a.example" }, operations });
  const outcome = gateway.invoke(table, "work", {});
  return { outcome, took };
}

/** The number of attempts of a function that always fails so, and the time that they took. */
function failing(fault, options) {
  let count = 0;
  const work = () => {
    count += 1;
    throw fault;
  };
  const { took } = run(new Gateway(), () => {
    assert.throws(() => retry(work, options), fault);
    return {};
  });
  return { count, took };
}

const fault = (status, retryAfterSeconds) => Fault.upstream(status, "Not now.", { retryAfterSeconds });

test("a passing failure is tried again, later each time", () => {
  const { count, took } = failing(fault(503));
  assert.ok(count === 4 && took >= 1750 && took <= 3503, `${count} attempts in ${took} ms`);
  const short = failing(fault(429), { longest: 600 });
  assert.ok(short.count === 4 && short.took >= 850 && short.took <= 1703, `${short.count} attempts in ${short.took} ms`);
});

test("the service may ask for a longer delay, but not for any", () => {
  assert.deepEqual(failing(fault(429, 5)), { count: 4, took: 15000 });
  assert.deepEqual(failing(fault(429, 9)), { count: 1, took: 0 });
});

test("another failure is final", () => {
  for (const other of [fault(404), Fault.notFound("No."), new TypeError("a defect")]) assert.deepEqual(failing(other), { count: 1, took: 0 });
  assert.equal(failing(fault(503), { attempts: 0 }).count, 1);
});

test("a response that comes later is returned", () => {
  const gateway = new Gateway().answer(answer(429, {})).answer(answer(200, { id: 1 }));
  const { outcome } = run(gateway, () => retry(() => send(Request.post("api", "/orders").json({})).successful()).document());
  assert.deepEqual(outcome.value(), { id: 1 });
  assert.equal(gateway.requests.length, 2);
});
