// Mistakes in a table stop the build, with a message that says what to write.

import assert from "node:assert/strict";
import { test } from "node:test";

import { api_key, boolean, connector, entries, get, none, oauth2, object, post, read, string } from "../src/index.js";

const table = (operations, more = {}) =>
  connector({ identifier: "a", version: "1.0.0", title: "A", auth: none, upstreams: { api: "https://a.example" }, operations, ...more });
const row = (path, clauses = {}) => table({ one: get("api", path, { doc: "One", ...clauses }) });
const body = (fields) => table({ one: post("api", "/x/{id}", { doc: "One", fields }) });

const MISTAKES = [
  [() => table({}), /at least one operation/],
  [() => table({ one: get("api", "/x", { doc: "One" }) }, { idnetifier: "b" }), /no `idnetifier`/],
  [() => table({ one: read(() => 1, { doc: "One" }) }, { identifier: "A" }), /an identifier/],
  [() => table({ one: get("api", "/x") }), /operation `one`: say in `doc`/],
  [() => table({ one: get("other", "/x", { doc: "One" }) }), /no upstream `other`/],
  [() => table({ one: read("x", { doc: "One" }) }), /take a function/],
  [() => table({ one: read(() => 1, { doc: "One", check() {} }) }), /no `check`/],
  [() => row("x"), /begins with one `\/`/],
  [() => row("//x"), /begins with one `\/`/],
  [() => row("/x/{id"), /not closed/],
  [() => row("/x?a={b}"), /the query in a path is fixed/],
  [() => row("/x/{settings.y}"), /no setting `y`/],
  [() => row("/x", { rate_limit: "r" }), /no rate limit `r`/],
  [() => row("/x", { feilds: {} }), /no `feilds`/],
  [() => row("/x", { fields: { a: "string" } }), /`a` has no type/],
  [() => row("/x", { fields: { "a-b": string() } }), /name of a field/],
  [() => row("/x", { fields: { a: string({ maximum: 1 }) } }), /no `maximum`/],
  [() => row("/x", { fields: { a: string({ default: "b" }) } }), /optional: `a\?`/],
  [() => row("/x", { fields: { "a?": string({ default: "b", assumed: true }) } }), /`assumed` is for functions/],
  [() => row("/x", { fields: { a: object() } }), /an object cannot be/],
  [() => row("/x/{a}", { fields: { "a?": string() } }), /the path needs it/],
  [() => row("/x/{a}", { fields: { a: string({ in: "query" }) } }), /the path has this name/],
  [() => row("/x", { fields: { a: string({ in: "path" }) } }), /the path has no such name/],
  [() => row("/x", { fields: { "a?": boolean({ nullable: true }) } }), /`nullable` is for/],
  [() => row("/x", { pages: { items: "/a", into: "/b" } }), /how the next page is found/],
  [() => row("/x", { form: true }), /has a field in its body/],
  [() => body({ a: entries(["x"], { in: "body" }) }), /entries become/],
  [() => body({ body: object(), a: string() }), /the whole request body/],
  [() => body({ a: string(), "a?": string() }), /`a` is declared twice/],
  [() => body({ a: string(), b: string({ as: "a" }) }), /`a` is sent as `a` too; give it or `b` another name/],
  [() => body({ a: string({ as: "c.d" }), b: string({ as: "c" }) }), /one of the two would be inside/],
  [() => body({ a: string({ as: "c" }), b: string({ as: "c.d.e" }) }), /one of the two would be inside/],
  [() => row("/x", { fields: { a: string(), b: string({ as: "a" }) } }), /is sent as `a` too/],
  [() => row("/x", { fields: { a: string({ in: "header", as: "X-A" }), b: string({ in: "header", as: "x-a" }) } }), /is sent as `x-a` too/],
  [() => row("/x", { fields: { "query?": entries(["a", "a"]) } }), /the entry `a` is there twice/],
  [() => row("/x", { background: true }), /the field `"waiting\?": boolean/],
  [() => row("/x", { background: true, fields: { waiting: string() } }), /by which callers wait/],
  [() => table({ one: get("api", "/x", { doc: "One" }) }, { rate_limits: { r: "3 a day" } }), /300 per minute/],
  [() => table({ one: get("api", "/x", { doc: "One" }) }, { upstreams: { api: "https://a.example/" } }), /no `\/` at its end/],
  [() => table({ one: get("api", "/x", { doc: "One" }) }, { headers: { A: "{b}" } }), /`\{b\}` is not a setting/],
  [() => table({ one: get("api", "/x", { doc: "One" }) }, { settings: { s: string() } }), /what the operator sets/],
  [() => table({ one: get("api", "/x", { doc: "One" }) }, { answer_examples: { two: {} } }), /no operation of the table/],
  [() => oauth2({ scopes: [] }), /has `provider`/],
  [() => oauth2({ provider: "a", scope: "b" }), /no `scope`/],
  [() => api_key({ header: "A", query: "b" }), /one of/],
];

test("every mistake has a message that says what to write", () => {
  for (const [make, message] of MISTAKES) assert.throws(make, { name: "Mistake", message });
});
