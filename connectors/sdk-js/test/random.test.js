// Random values and time, as the component gets them from the gateway.

import assert from "node:assert/strict";
import { randomFillSync } from "node:crypto";
import { after, test } from "node:test";

import { clock } from "../src/index.js";
import { replaceRandomValues } from "../src/random.js";
import { Gateway } from "../src/testing.js";
import { refuseTimers, replaceTime } from "../src/time.js";

// The functions are replaced in the whole process, and the test runner needs them afterwards.
const originals = [[Math, "random"], [Date, "now"], [Date.prototype, "constructor"], [globalThis, "Date"], [globalThis, "setTimeout"], [globalThis, "setInterval"]].map(([owner, name]) => [owner, name, owner[name]]);
const prototype = Object.getPrototypeOf(globalThis.crypto);
for (const name of ["getRandomValues", "randomUUID"]) originals.push([prototype, name, prototype[name]]);
after(() => {
  for (const [owner, name, value] of originals) Object.defineProperty(owner, name, { value, configurable: true, writable: true });
});

test("the engine's random values are those of the gateway, and there are none in the build", () => {
  let drawn = 0;
  const random = replaceRandomValues((length) => {
    drawn += length;
    return randomFillSync(new Uint8Array(length));
  });
  for (const draw of [() => Math.random(), () => crypto.randomUUID(), () => crypto.getRandomValues(new Uint8Array(1))]) {
    assert.throws(draw, /works in an operation, not while the module of the connector is loaded/);
  }
  random.start();

  const values = Array.from({ length: 1000 }, () => Math.random());
  assert.equal(new Set(values).size, 1000);
  assert.ok(values.every((value) => value >= 0 && value < 1));
  const mean = values.reduce((sum, value) => sum + value) / 1000;
  assert.ok(mean > 0.4 && mean < 0.6, `${mean}`);
  assert.equal(drawn, 8192, "eight blocks of 128 values");

  const uuids = [crypto.randomUUID(), crypto.randomUUID()];
  assert.notEqual(uuids[0], uuids[1]);
  assert.match(uuids[0], /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);

  const whole = new Uint32Array(100);
  const part = whole.subarray(10, 90);
  assert.equal(crypto.getRandomValues(part), part);
  assert.ok(new Set(part).size > 70);
  assert.ok(whole.slice(0, 10).every((value) => value === 0) && whole.slice(90).every((value) => value === 0));
  assert.throws(() => crypto.getRandomValues(new Float64Array(1)), TypeError);
  assert.throws(() => crypto.getRandomValues([1]), TypeError);
  assert.throws(() => crypto.getRandomValues(new Uint8Array(65537)), RangeError);
});

test("a function sleeps, and a test does not wait for it", () => {
  new Gateway().now(1000);
  clock.sleep(3600_000);
  clock.sleep(1.5);
  assert.equal(clock.now(), 3601_002);
  for (const wrong of [-1, NaN, undefined]) assert.throws(() => clock.sleep(wrong), RangeError);
});

test("a date shows the clock of the gateway", () => {
  const original = Date;
  const time = replaceTime(() => 1_700_000_000_000n);
  assert.ok(Date.now() > 1_700_000_000_000 && new Date().getTime() > 1_700_000_000_000, "the build's own clock");
  time.start();
  assert.equal(Date.now(), 1_700_000_000_000);
  assert.equal(new Date().toISOString(), "2023-11-14T22:13:20.000Z");
  assert.equal(Date(), new Date().toString());
  assert.equal(new Date(0).getTime(), 0);
  assert.equal(new Date(2026, 0, 2).getMonth(), 0);
  assert.equal(Date.UTC(1970, 0, 1), 0);
  assert.ok(new Date() instanceof Date && new Date() instanceof original && new original(0) instanceof Date);
  assert.equal(new Date().constructor, Date);
  class Later extends Date {}
  assert.ok(new Later() instanceof Later);
  assert.equal(new Later().getTime(), 1_700_000_000_000);
});

test("timers, which would never fire, throw", () => {
  refuseTimers();
  for (const timer of [setTimeout, setInterval]) assert.throws(() => timer(() => {}, 1), /clock\.sleep/);
});
