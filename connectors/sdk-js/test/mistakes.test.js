// Mistakes in a table stop the build, with a message that says what to write.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { declare } from "../src/auth_additions.js";
import {
  api_key, app_installation, aws_signature, client_credentials, connector, device_code, ended_codes, file, get, hmac_signature, integer, internal, list, none,
  oauth2, object, read, service_account, string,
} from "../src/index.js";
import { checkRows } from "../src/row_module.js";
import { Gateway } from "../src/testing.js";
import { fieldsOf, rowOf } from "./rows.js";

const table = (operations, more = {}) =>
  connector({ identifier: "a", version: "1.0.0", title: "A", auth: none, upstreams: { api: "https://a.example" }, operations, ...more });
const added = (auth_additions, more = {}) => table({ one: get("api", "/x", { doc: "One" }) }, { auth: oauth2({ provider: "p" }), auth_additions, ...more });
const row = (path, clauses = {}) => table({ one: get("api", path, { doc: "One", ...clauses }) });

const MISTAKES = [
  [() => table({}), /at least one operation/],
  [() => table({ one: get("api", "/x", { doc: "One" }) }, { idnetifier: "b" }), /no `idnetifier`/],
  [() => table({ one: get("api", "/x") }), /operation `one`: say in `doc`/],
  [() => table({ one: read("x", { doc: "One" }) }), /take a function/],
  [() => table({ one: read(() => 1, { doc: "One", check() {} }) }), /no `check`/],
  [() => row("/x", { fields: { a: "string" } }), /`a` has no type/],
  [() => row("/x", { via: async () => {} }), /`via` is an `async` function/],
  [() => row("/x", { check: async () => {} }), /`check` is an `async` function/],
  [() => table({ one: read(async () => 1, { doc: "One" }) }), /operation `one`: the function is an `async` function/],
  [() => table({ one: read(function* () {}, { doc: "One" }) }), /a generator function/],
  [() => row("/x", { fields: { a: object({ b: file() }) } }), /a `file` is a field of a row/],
  [() => table({ one: get("api", "/x", { doc: "One" }) }, { settings: { s: string() } }), /what the operator sets/],
  [() => table({ one: get("api", "/x", { doc: "One" }) }, { address: { sub: { titel: "A" } } }), /part `sub` of the address has no `titel`/],
  [() => oauth2({ scopes: [] }), /has `provider`/],
  [() => oauth2({ provider: "a", scope: "b" }), /no `scope`/],
  [() => api_key({ header: "A", query: "b" }), /one of/],
  [() => service_account({ subject: "some" }), /"required" or "optional"/],
  [() => service_account({ subject: "required", audiences: "a" }), /no `audiences`/],
  [() => device_code({ url: "a" }), /no `url`/],
  [() => device_code({}), /`device_authorization_url`, a text/],
  [() => added([client_credentials()], { auth: none }), /`auth_additions` need an `auth` with OAuth 2\.0, whose token URL and scopes they use/],
  [() => added(client_credentials()), /a list such as/],
  [() => added([client_credentials(), client_credentials()]), /`auth_additions` have each way once/],
  [() => added([app_installation({ upstream: "b", path: "/x/{installation_id}" })]), /the `upstream` of an installation is the name of an upstream/],
  ...["/x/{id}", "/x/a{installation_id}", "x/{installation_id}", "/{installation_id}?a"].map((path) => [
    () => added([app_installation({ upstream: "api", path })]), /the `path` of an installation begins with `\/`, has no query, and has `\{installation_id\}` once/,
  ]),
  ...["gone", ["token consumed"], ["---"], [7], Array(33).fill("gone")].map((codes) => [() => ended_codes(codes), /at most 32 codes of 1 to 64 visible ASCII/]),
  [() => added([ended_codes(["gone"])], { auth: none }), /`auth_additions` need an `auth` with OAuth 2\.0/],
  [() => aws_signature({ service: "s3" }), /one of `region` and `region_part`/],
  [() => aws_signature({ region: "eu" }), /has `service`/],
  [() => hmac_signature({ text: ["bodies"] }), /`text` of `hmac_signature` is one of method/],
  [() => hmac_signature({ hash: "md5", text: [] }), /`hash` of `hmac_signature` is one of sha1, sha256, sha512/],
  [() => added([aws_signature({ service: "s3", region: "eu" })]), /a signature needs an `auth`/],
];

test("every mistake has a message that says what to write", () => {
  for (const [make, message] of MISTAKES) assert.throws(make, { name: "Mistake", message });
});

const shared = JSON.parse(readFileSync(new URL("../../sdk/tests/shared/mistakes.json", import.meta.url), "utf8"));
const settings = { version: string({ doc: "A" }), list: list(string(), { doc: "A" }) };

test("mistakes in a table have the words that they have in Python", () => {
  assert.ok(shared.tables.length > 35);
  for (const { statements, row, mistake } of shared.tables) {
    const make = () => checkRows(table({ one: row ? rowOf(row) : get("api", "/x", { doc: "One" }) }, statements));
    assert.throws(make, ({ name, message }) => name === "Mistake" && message.includes(mistake), mistake);
  }
});

test("mistakes in rows have the words that they have in Rust", () => {
  const { rows, fields, headers } = shared;
  assert.ok(rows.length > 35 && fields.length > 4 && headers.length > 4);
  const ofFields = fields.map(({ row, mistake }) => ({ row, mistake: `field \`a\`: ${mistake}` }));
  for (const { row, mistake } of [...rows, ...ofFields]) {
    const one = rowOf(row);
    const message = `operation \`one\`: ${mistake}`;
    assert.throws(() => checkRows(table({ one }, { settings })), { name: "Mistake", message });
    assert.throws(() => new Gateway().invoke(table({ one }, { settings }), "one"), { message });
  }
  for (const { header: [name, value], mistake } of headers) {
    const one = get("api", "/x", { doc: "One" });
    assert.throws(() => checkRows(table({ one }, { settings, headers: { [name]: value } })), { name: "Mistake", message: mistake });
  }
});

test("the types of functions have the rules that they have in rows", () => {
  const one = read(() => 1, { doc: "One", fields: { a: list(object({ b: integer({ min: 5, max: 1 }) })) } });
  const message = "operation `one`: field `a.b`: the lower bound is not larger than the upper bound";
  assert.throws(() => checkRows(table({ one })), { name: "Mistake", message });
});

test("mistakes in settings have the words that they have in Rust", () => {
  assert.ok(shared.settings.length > 4);
  for (const { field, mistake } of shared.settings) {
    const check = () => checkRows(table({ one: get("api", "/x", { doc: "One" }) }, { settings: fieldsOf({ s: field }) }));
    assert.throws(check, { name: "Mistake", message: mistake });
  }
});

test("a header depends on parameters that a row has", () => {
  const one = get("api", "/x", { doc: "One", fields: { "a?": string() } });
  const headers = (when) => ({ headers: { "X-A": { value: "1", when } } });
  checkRows(table({ one }, headers(["a"])));
  const message = "header `X-A`: `when` has `b`, which is no parameter of any row with this header";
  assert.throws(() => checkRows(table({ one }, headers(["a", "b"]))), { name: "Mistake", message });
});

test("mistakes in inboxes and triggers have the words that they have in every language", () => {
  const cases = JSON.parse(readFileSync(new URL("../../sdk/tests/shared/event_mistakes.json", import.meta.url), "utf8"));
  assert.ok(cases.length > 7);
  for (const { inboxes, triggers, mistake } of cases) {
    assert.throws(() => checkRows(table({ one: get("api", "/x", { doc: "One" }) }, { inboxes, triggers })), { name: "Mistake", message: mistake });
  }
});

test("an operation is internal if, and only if, a trigger names it", () => {
  const triggers = [{ name: "word", title: "Word", source: "read", read: "changes" }];
  const changes = internal("read", () => ({ cursor: 1 }));
  checkRows(table({ changes }, { triggers }));
  const message = "operation `changes`: a row with `internal` is for a trigger; name it in `triggers`";
  assert.throws(() => table({ changes }), { message });
  const named = 'operation `changes`: a trigger names it as `read`; write `internal("read", …)`';
  for (const other of [get("api", "/x", { doc: "One" }), internal("renew", () => {})]) {
    assert.throws(() => table({ changes: other }, { triggers }), { message: named });
  }
  assert.throws(() => internal("reads", () => {}), { message: /`internal` has a role: "subscribe"/ });
  assert.throws(() => table({ changes: internal("read", () => 1, { fields: {} }) }, { triggers }), { message: /a row has no `fields`/ });
});

test("a value that no row has is a mistake", () => {
  const one = get("api", "/x", { doc: "One", fields: { "a?": string({ max_bytes: 1.5 }) } });
  assert.throws(() => checkRows(table({ one })), { name: "Mistake", message: /a field, a row, an inbox or a trigger has a value of another type: .*1\.5/ });
});

test("a mistake in a row knows where the row was written", () => {
  const [, line] = new Error().stack.match(/mistakes\.test\.js:(\d+)/);
  const wrong = table({
    one: get("api", "/x", { doc: "One" }),
    two: get("api", "x", { doc: "Two" }),
  });
  assert.throws(() => checkRows(wrong), ({ declared }) => declared.includes(`mistakes.test.js:${Number(line) + 3}`));
});

test("an example fits the fields as in Rust", () => {
  const { fields, fits, wrong } = shared.examples;
  const check = (example) => checkRows(table({ one: read(() => 1, { doc: "One", fields: fieldsOf(fields), example: { id: "1", ...example } }) }));
  check(fits);
  for (const [example, mistake] of wrong) {
    assert.throws(() => check(example), { name: "Mistake", message: `operation \`one\`: the example does not fit at ${mistake}` });
  }
});

test("ways to authorize are declared before the manifest", () => {
  const declared = [];
  const note = (name) => (val) => declared.push([name, val]);
  const host = {
    clientCredentials: note("client"), serviceAccount: note("account"), appInstallation: note("app"), deviceCode: note("device"),
  };
  const app = { upstream: "api", path: "/x/{installation_id}" };
  const device = device_code({ device_authorization_url: "https://a.example/device" });
  declare(host, added([client_credentials(), service_account({ subject: "required" }), app_installation(app), device]).authAdditions);
  const account = { audience: undefined, subject: "required" };
  const inContract = { deviceAuthorizationUrl: "https://a.example/device" };
  assert.deepEqual(declared, [["client", undefined], ["account", account], ["app", app], ["device", inContract]]);
});

test("codes of ended grants are declared before the manifest", () => {
  const declared = [];
  declare({ endedCodes: (codes) => declared.push(codes) }, added([ended_codes(["refresh_token_consumed", "70008"])]).authAdditions);
  assert.deepEqual(declared, [["refresh_token_consumed", "70008"]]);
});

test("signatures are declared before the manifest", () => {
  const declared = [];
  const host = { awsSignatureV4: (val) => declared.push(val), hmacSignature: (val) => declared.push(val) };
  const key = { auth: api_key({ header: "Authorization" }) };
  declare(host, added([aws_signature({ service: "s3", region_part: "region" })], key).authAdditions);
  const timestamp = { header: "X-Time", form: "seconds" };
  const text = ["timestamp", "body_hash", { literal: "a" }];
  declare(host, added([hmac_signature({ text, separator: "\n", timestamp, key_header: "X-Key" })], key).authAdditions);
  const parts = [{ tag: "timestamp" }, { tag: "body-hash" }, { tag: "literal", val: "a" }];
  assert.deepEqual(declared, [
    { service: "s3", region: { tag: "address-part", val: "region" } },
    { hash: "sha256", secret: "text", encoding: "hex", text: parts, separator: "\n", timestamp, keyHeader: "X-Key" },
  ]);
});
