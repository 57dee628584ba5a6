// Mistakes in a table stop the build, with a message that says what to write.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { declare } from "../src/auth_additions.js";
import {
  api_key, app_installation, aws_signature, boolean, client_credentials, connector, device_code, ended_codes, entries, file, get, hmac_signature, integer, internal,
  list, none, number, oauth2, object, post, read,
  service_account, string, string_or_list,
} from "../src/index.js";
import { checkRows } from "../src/row_module.js";
import { Gateway } from "../src/testing.js";

const table = (operations, more = {}) =>
  connector({ identifier: "a", version: "1.0.0", title: "A", auth: none, upstreams: { api: "https://a.example" }, operations, ...more });
const added = (auth_additions, more = {}) => table({ one: get("api", "/x", { doc: "One" }) }, { auth: oauth2({ provider: "p" }), auth_additions, ...more });
const row = (path, clauses = {}) => table({ one: get("api", path, { doc: "One", ...clauses }) });
const body = (fields) => table({ one: post("api", "/x/{id}", { doc: "One", fields }) });

const withAddress = (more) =>
  table({ one: get("api", "/x", { doc: "One" }) }, { auth: api_key({ header: "A" }), address: { sub: { title: "Subdomain" } }, ...more });

const MISTAKES = [
  [() => table({}), /at least one operation/],
  [() => table({ one: get("api", "/x", { doc: "One" }) }, { idnetifier: "b" }), /no `idnetifier`/],
  [() => table({ one: read(() => 1, { doc: "One" }) }, { identifier: "A" }), /an identifier/],
  [() => table({ one: read(() => 1, { doc: "One" }) }, { identifier: "a__b" }), /an identifier/],
  [() => table({ one: read(() => 1, { doc: "One" }) }, { identifier: "a_" }), /an identifier/],
  [() => table({ one: get("api", "/x") }), /operation `one`: say in `doc`/],
  [() => table({ one: read("x", { doc: "One" }) }), /take a function/],
  [() => table({ one: read(() => 1, { doc: "One", check() {} }) }), /no `check`/],
  [() => row("/x", { rate_limit: "r" }), /no rate limit `r`/],
  [() => row("/x", { feilds: {} }), /no `feilds`/],
  [() => row("/x", { fields: { a: "string" } }), /`a` has no type/],
  [() => row("/x", { fields: { "a-b": string() } }), /name of a field/],
  [() => row("/x", { fields: { a: string({ maximum: 1 }) } }), /no `maximum`/],
  [() => row("/x", { fields: { a: string({ default: "b" }) } }), /optional: `a\?`/],
  [() => row("/x", { fields: { "a?": string({ default: "b", assumed: true }) } }), /`assumed` is for functions/],
  [() => row("/x", { fields: { b: string() }, pages: { items: "/a", into: "/b" } }), /how the next page is found/],
  [() => row("/x", { fields: { b: string() }, pages: { items: "/a", into: "/c", offset: true } }), /`one` has no field `c`/],
  [() => row("/x", { fields: { b: string() }, pages: { items: "/a", into: "/b", cursor: "/n", while: "/m" } }), /`while` in `pages` is for `last`/],
  [() => row("/x", { fields: { b: string() }, pages: { items: "/a", into: "/b", last: "/id", while: "more" } }), /such as `\/has_more`/],
  [() => row("/x", { fields: { q: entries(["a"]) }, pages: { items: "", into: "/q/b", offset: true } }), /`q` has no entry `b`/],
  [() => row("/x", { fields: { q: entries(["a"]) }, pages: { items: "", into: "/q", offset: true } }), /which entry/],
  [() => row("/x", { fields: { q: string() }, pages: { items: "", into: "/q/b", offset: true } }), /`q` is not an object/],
  [() => row("/x", { via: async () => {} }), /`via` is an `async` function/],
  [() => row("/x", { check: async () => {} }), /`check` is an `async` function/],
  [() => table({ one: read(async () => 1, { doc: "One" }) }), /operation `one`: the function is an `async` function/],
  [() => table({ one: read(function* () {}, { doc: "One" }) }), /a generator function/],
  [() => row("/x", { example: { a: 1 } }), /does not fit at `\/a`: there is no field `a`/],
  [() => row("/x/{id}", { example: {} }), /does not fit: the field `id` is required/],
  [() => row("/x", { form: true, multipart: true }), /leave one out/],
  [() => body({ a: object({ b: file() }) }), /a `file` is a field of a row/],
  [() => body({ a: entries(["x"], { in: "body" }) }), /entries become/],
  [() => body({ a: string(), "a?": string() }), /`a` is declared twice/],
  [() => row("/x", { fields: { "query?": entries(["a", "a"]) } }), /the entry `a` is there twice/],
  [() => row("/x", { fields: { "query?": entries([{ a: { docs: "A" } }]) } }), /the entry `a` has no `docs`; it has `one_of`, `doc`/],
  [() => row("/x", { background: true }), /the field `"waiting\?": boolean/],
  [() => row("/x", { background: true, fields: { waiting: string() } }), /by which callers wait/],
  [() => table({ one: get("api", "/x", { doc: "One" }) }, { rate_limits: { r: "3 a day" } }), /300 per minute/],
  [() => table({ one: get("api", "/x", { doc: "One" }) }, { upstreams: { api: "https://a.example/" } }), /no `\/` at its end/],
  [() => table({ one: get("api", "/x", { doc: "One" }) }, { settings: { s: string() } }), /what the operator sets/],
  [() => table({ one: get("api", "/x", { doc: "One" }) }, { answer_examples: { two: {} } }), /no operation of the table/],
  [() => withAddress({ upstreams: { api: "https://a.example/{b}" } }), /upstream `api`: there is no part `b`/],
  [() => withAddress({ upstreams: { api: "https://{sub}.a.example" } }), /upstream `api`: .*say in `site`/],
  [() => withAddress({ upstreams: { api: { url: "https://{sub}.a.example", site: "b.example" } } }), /its host is below `b.example`/],
  [() => withAddress({ upstreams: { api: { url: "http://{sub}.a.example", site: "a.example" } } }), /is `https`/],
  [() => withAddress({ upstreams: { api: { url: "https://a.example", site: "a.example" } } }), /it needs no `site`/],
  [() => withAddress({ address: { sub: { titel: "A" } } }), /part `sub` of the address has no `titel`/],
  [() => withAddress({ address: { sub: {} } }), /say in `title`/],
  [() => withAddress({ address: { Sub: { title: "A" } } }), /a name is 1 to 64/],
  [() => withAddress({ address: { api: { title: "A" } } }), /an upstream has this name/],
  [() => withAddress({ address: { sub: { title: "A", form: "word" } } }), /`form` is `label`, `host` or `segment`/],
  [() => withAddress({ address: { sub: { title: "A", max: 64 } } }), /`max` is 1 to 63/],
  [() => withAddress({ address: { sub: { title: "A", from: "id" } } }), /a JSON Pointer/],
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

test("mistakes in rows have the words that they have in Rust", () => {
  const { rows, headers } = JSON.parse(readFileSync(new URL("../../sdk/tests/shared/mistakes.json", import.meta.url), "utf8"));
  assert.ok(rows.length > 30 && headers.length > 4);
  const types = { string, object, objects: (modifiers) => list(object(), modifiers), file };
  const typed = (type, modifiers) => (Array.isArray(type) ? entries(type, modifiers) : types[type]?.(...(type === "object" ? [undefined, modifiers] : [modifiers])));
  const methods = { get, post };
  const settings = { version: string({ doc: "A" }), list: list(string(), { doc: "A" }) };
  for (const { row: { method, upstream, path, fields, clauses }, mistake } of rows) {
    const declared = Object.fromEntries(fields.map(([key, type, modifiers]) => [key, typed(type, modifiers)]));
    const one = methods[method](upstream, path, { doc: "One", fields: declared, ...clauses });
    const message = `operation \`one\`: ${mistake}`;
    assert.throws(() => checkRows(table({ one }, { settings })), { name: "Mistake", message });
    assert.throws(() => new Gateway().invoke(table({ one }, { settings }), "one"), { message });
  }
  for (const { header: [name, value], mistake } of headers) {
    const one = get("api", "/x", { doc: "One" });
    assert.throws(() => checkRows(table({ one }, { settings, headers: { [name]: value } })), { name: "Mistake", message: mistake });
  }
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
  assert.throws(() => checkRows(table({ one })), { name: "Mistake", message: /a row, an inbox or a trigger has a value of another type: .*1\.5/ });
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
  const fields = {
    id: string(), "tags?": list(string({ one_of: ["a", "b"] }), { max: 2 }), "page?": integer({ min: 1 }), "share?": number({ max: 1 }),
    "query?": entries(["q", { order: ["asc"] }]), "address?": object({ street: string() }), "open?": object(undefined, { without: ["hidden"] }),
    "photo?": file(), "many?": string_or_list(), "flag?": boolean(), "name?": string({ min: 2, max: 3 }),
  };
  const wrong = (example) => {
    try {
      table({ one: read(() => 1, { doc: "One", fields, example: { id: "1", ...example } }) });
    } catch (error) {
      return error.message.replace("operation `one`: the example does not fit at ", "");
    }
    return undefined;
  };
  const fits = {
    tags: ["a"], page: 2.0, share: 0.5, query: { q: [1, true], order: "asc" }, address: { street: "x" }, open: { a: 1 },
    photo: { file_name: "a", content_base64: "" }, many: ["x"], flag: null, name: "äöü",
  };
  assert.equal(wrong(fits), undefined);
  for (const [example, message] of [
    [{ id: 1 }, "`/id`: expected a string"],
    [{ tags: ["a", "c"] }, "`/tags/1`: expected one of a, b"],
    [{ tags: ["a", "a", "a"] }, "`/tags`: expected at most 2 items"],
    [{ tags: "a" }, "`/tags`: expected a list"],
    [{ page: 0 }, "`/page`: expected a number that is at least 1"],
    [{ page: 1.5 }, "`/page`: expected a whole number"],
    [{ share: 2 }, "`/share`: expected a number that is at most 1"],
    [{ query: { x: 1 } }, "`/query/x`: there is no entry `x`"],
    [{ query: { order: "up" } }, "`/query/order`: the entry `order` does not accept this value"],
    [{ address: {} }, "`/address`: the field `street` is required"],
    [{ open: { hidden: 1 } }, "`/open/hidden`: the member `hidden` is forbidden"],
    [{ photo: { file_name: "a" } }, "`/photo`: the field `content_base64` is required"],
    [{ many: 1 }, "`/many`: expected a string or a list of strings"],
    [{ flag: 1 }, "`/flag`: expected a boolean"],
    [{ name: "ä" }, "`/name`: expected at least 2 characters"],
  ]) {
    assert.equal(wrong(example), message);
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
