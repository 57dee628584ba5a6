// The inputs and results of functions, and the requests that they send.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Document, Fault, File, HttpError, Request, clock, connector, log, none, read, send, sendAll, storage, string, userinfo } from "../src/index.js";
import { faultOf, outcome } from "../src/outcome.js";
import { Gateway, answer } from "../src/testing.js";
import rows from "./rows.js";

test("a function gets a value for each field, and defaults for absent ones", () => {
  const gateway = new Gateway();
  const given = { type: "t", many: "a", count: null, filters: { labels: ["x", 2], state: null } };
  const expected = { type: "t", many: ["a"], count: 5, flag: true, filters: { labels: ["x", "2"] } };
  assert.deepEqual(gateway.invoke(rows, "typed", given), expected);
  assert.equal(gateway.invoke(rows, "typed", '{"type":"t","count":1e1}').count, 10);
});

test("a request of a row can go through a function", () => {
  const gateway = new Gateway().answer(answer(200, { error: "not_in_channel" })).answer(answer(200, { ok: 1 }));
  assert.throws(() => gateway.invoke(rows, "guarded", { limit: 3 }), { tag: "upstream", message: "not_in_channel" });
  assert.ok(gateway.invoke(rows, "guarded") instanceof Document);
  assert.equal(gateway.requests[0].target.val, "/guarded?limit=3");
});

test("settings replace their defaults in paths and headers", () => {
  const gateway = new Gateway().setting("employees_path", "/v2/people").setting("api_version", "7");
  const request = gateway.invoke(rows, "get_employee", { employee_id: 42 });
  assert.deepEqual([request.path, request.headers], ["/v2/people/42", [["X-Api-Version", "7"]]]);
  assert.deepEqual(rows.request("GET", "api", "/x").headers, [["X-Api-Version", "7"]]);
  assert.equal(rows.setting("employees_path"), "/v2/people");
});

test("an error status of the service is a fault with its body", () => {
  const gateway = new Gateway().answer(answer(429, { why: "slow" }, { "Retry-After": "7" }));
  const fault = failure(() => send(Request.get("api", "/x")).successful());
  const upstream = { status: 429, detail: "The service answered with status 429.", body: '{"why":"slow"}', retryAfterSeconds: 7 };
  assert.deepEqual(faultOf(fault), { tag: "upstream", val: upstream });
  gateway.answer(answer(500, "<html>"));
  assert.equal(failure(() => send(Request.get("api", "/x")).successful()).val.body, undefined);
});

test("several lines of a header are one value", () => {
  const headers = [["Link", '<a>; rel="prev"'], ["link", '<b>; rel="next"']];
  new Gateway().answer(answer(200, {}, headers));
  const response = send(Request.get("api", "/x"));
  assert.equal(response.header("LINK"), '<a>; rel="prev", <b>; rel="next"');
  assert.equal(response.header("etag"), undefined);
});

test("a request without a response is an error of http", () => {
  new Gateway().failure({ tag: "busy", val: 3 }).failure({ tag: "timed-out" }).answer(answer(204));
  assert.deepEqual(faultOf(failure(() => send(Request.get("api", "/x")))), { tag: "http", val: { tag: "busy", val: 3 } });
  const [failed, empty] = sendAll([Request.get("api", "/x"), Request.post("api", "/y").json({ a: 1 })]);
  assert.ok(failed instanceof HttpError && failed.tag === "timed-out");
  assert.throws(() => failed.successful(), failed);
  assert.deepEqual([empty.status, empty.json()], [204, {}]);
});

test("a request is made of encoded parts", () => {
  const request = Request.get("api", "/a").segment("id", ["x/y", "z"]).query("$q", "a b").query("n", undefined).query("b", true);
  assert.equal(request.path, "/a/x%2Fy,z?$q=a%20b&b=true");
  for (const value of ["..", ".", "%2e%2E", "a/..", "..;v=1", "..?x", ".#"]) {
    assert.deepEqual(failure(() => Request.get("api", "").segment("id", value)).val[0].pointer, "/id", value);
  }
  for (const value of ["...", "a..", "a?..", ".a"]) Request.get("api", "").segment("id", value);
  assert.deepEqual(Request.post("api", "/f").form({ a: 1 }).toContract().body, { tag: "form", val: [["a", "1"]] });
});

test("a link of a response is followed, and takes no path", () => {
  const gateway = new Gateway().answer(answer(200, { next: "https://api.example/2" })).answer(answer(200));
  const link = send(Request.get("api", "/1")).bodyLink("/next");
  send(Request.follow("api", link));
  assert.deepEqual(gateway.requests[1].target, { tag: "link", val: "https://api.example/2" });
  const refused = Request.follow("api", link).query("a", 1);
  assert.throws(() => send(refused), { tag: "invalid-request" });
});

test("a document keeps numbers as they are, and finds values", () => {
  new Gateway();
  const document = Document.parse('{"a/b": [1.0, "x\\u00fc"], "n": null}');
  assert.equal(document.pointer("/a~1b").text(), '[1.0, "x\\u00fc"]');
  assert.deepEqual([document.string("/a~1b/1"), document.string("/n"), document.pointer("/z")], ["xü", undefined, undefined]);
  assert.deepEqual([document.kind, document.length, document.keys()], ["object", 2, ["a/b", "n"]]);
  assert.deepEqual([...document.pointer("/a~1b").items()].map((item) => item.kind), ["number", "string"]);
  assert.throws(() => Document.parse("{"), SyntaxError);
});

test("storage, log and clock belong to the gateway", () => {
  const gateway = new Gateway().now(1234);
  storage.set("k", "ü😀");
  assert.equal(storage.get("k"), "ü😀");
  assert.equal(gateway.stored.get("k").length, 6);
  storage.delete("k");
  assert.equal(storage.get("k"), undefined);
  log.warn("low");
  assert.deepEqual([gateway.logged, clock.now()], [[["warn", "low"]], 1234]);
});

test("what a function returns is its answer", () => {
  new Gateway();
  assert.deepEqual(outcome({ a: [1] }), { tag: "reply", val: '{"a":[1]}' });
  assert.equal(outcome(Request.get("api", "/x")).tag, "forward");
  const file = outcome(new File("hé", { file_name: "a.txt", content_type: "text/plain", members: { n: 1 } }));
  assert.deepEqual(file.val.content, { tag: "bytes", val: new Uint8Array([104, 195, 169]) });
  assert.equal(file.val.members, '{"n":1}');
  assert.throws(() => outcome(undefined), /returned nothing/);
  assert.throws(() => outcome(Promise.resolve()), /not `async`/);
});

test("an exception is a defect of the connector, with its place in the line for admins", () => {
  const found = faultOf(new TypeError("x"), () => ({ text: "TypeError: x", place: "src/a.js:3" }));
  assert.deepEqual(found, { tag: "failed", val: "The connector has a defect. Its author finds the cause in the gateway's log.\nTypeError: x, at src/a.js:3" });
});

test("members of a fault are JSON", () => {
  assert.deepEqual(faultOf(Fault.conflict("Two.", { candidates: ["a"] })).val, { detail: "Two.", members: '{"candidates":["a"]}' });
});

test("an account has null for what the service does not give", () => {
  const data = { id: "7", email: null, username: null, name: "Ada", picture: null, organization: { id: "o", name: null } };
  assert.deepEqual(userinfo({ id: "7", name: "Ada", organization: { id: "o" } }), { data, meta: null });
});

test("an operation that is not there is a fault", () => {
  const table = connector({ identifier: "a", version: "1.0.0", title: "A", auth: none, operations: { one: read(() => 1, { doc: "One", fields: { "a?": string() } }) } });
  assert.throws(() => new Gateway().invoke(table, "two"), { tag: "failed", message: "a has no operation two" });
});

function failure(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}
