// Text and bytes.

import assert from "node:assert/strict";
import { test } from "node:test";

import { base64, utf8 } from "../src/index.js";

test("text is UTF-8, and bytes are base64, as other programs write them", () => {
  for (const text of ["", "hello", "Größe €", "👋", "x".repeat(20000)]) {
    assert.deepEqual(utf8.encode(text), new Uint8Array(Buffer.from(text)));
    assert.equal(utf8.decode(utf8.encode(text)), text);
    assert.equal(base64.encode(text), Buffer.from(text).toString("base64"));
  }
  const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
  assert.equal(base64.encode(bytes), Buffer.from(bytes).toString("base64"));
  assert.deepEqual(base64.decode(base64.encode(bytes)), bytes);
});

test("what is neither is an exception", () => {
  assert.throws(() => utf8.decode(Uint8Array.of(0xff)), URIError);
  assert.throws(() => base64.decode("&"));
});
