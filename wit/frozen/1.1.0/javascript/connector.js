// A connector that calls every function of the contract once. It has no SDK, so that only the contract is between it and the gateway.

import { appInstallation, clientCredentials, deviceCode, serviceAccount } from "gateway:connector/auth-additions@1.1.0";
import { now, sleep } from "gateway:connector/clock@1.1.0";
import { get as setting } from "gateway:connector/config@1.1.0";
import { send, sendAll } from "gateway:connector/http@1.1.0";
import { Document } from "gateway:connector/json@1.1.0";
import { write } from "gateway:connector/log@1.1.0";
import { build } from "gateway:connector/multipart@1.1.0";
import { report } from "gateway:connector/progress@1.1.0";
import { bytes as random } from "gateway:connector/random@1.1.0";
import * as storage from "gateway:connector/storage@1.1.0";
import { declarePart, declareSite } from "gateway:connector/upstream-additions@1.1.0";

const MANIFEST = {
  identifier: "frozen",
  version: "1.1.0",
  title: "Frozen",
  description: "Calls every function of the contract.",
  imprint: {
    license: "Apache-2.0",
    homepage: "https://frozen.example",
    author: "Connector Gateway contributors",
    icon: undefined,
  },
  auth: {
    tag: "oauth2",
    val: {
      provider: "frozen-provider",
      authorizationUrl: "",
      tokenUrl: "https://api.frozen.example/token",
      refreshUrl: undefined,
      revocation: undefined,
      scopes: ["read"],
      scopeSeparator: " ",
      scopeParameter: "scope",
      authorizationParameters: [],
      tokenParameters: [],
      pkce: true,
      clientAuthentication: "body",
      tokenPointer: "",
      defaultLifetimeSeconds: undefined,
      formField: undefined,
      revokesReplacedGrants: false,
      identity: undefined,
    },
  },
  upstreams: [
    {
      name: "api",
      baseUrl: "https://api.frozen.example",
      credential: "none",
      linkHosts: ["files.frozen.example"],
      pacing: { intervalMs: 1, concurrency: 4, maxWaitMs: 10000 },
    },
    {
      name: "customers",
      baseUrl: "https://{customer}.frozen.example/{cloud}",
      credential: "standard",
      linkHosts: [],
      pacing: undefined,
    },
  ],
  rateLimits: [{ name: "calls", requests: 1000, periodSeconds: 60 }],
  settings: [
    {
      name: "greeting",
      schema: '{"type": "string"}',
      default: '"hello"',
      documentation: "A word that an answer repeats.",
    },
  ],
  operations: ["forward", "everything", "document", "file", "fault"].map((path) => ({
    path,
    summary: `Tries ${path}`,
    description: "",
    inputSchema:
      '{"type": "object", "properties": {"id": {"type": "string"}, "kind": {"type": "string"}}, "additionalProperties": false}',
    example: '{"id": "1"}',
    envelope: true,
    effect: path === "forward" ? "write" : "read",
    answer: path === "file" ? "file" : "json",
    answerSchema: path === "forward" ? '{"type": "object"}' : undefined,
    answerExample: path === "forward" ? "{}" : undefined,
    pagination:
      path === "forward" || path === "document"
        ? { items: "/items", next: { tag: "link", val: { pointer: path === "forward" ? "/next" : "Link", parameter: "page" } }, input: "/id" }
        : undefined,
    background: false,
    immediate: path === "forward",
    rateLimit: "calls",
  })),
};

const bytes = (text) => Uint8Array.from(text, (character) => character.charCodeAt(0));

/** The error that a function of the contract answered with. Engines wrap it in different ways. */
const payload = (error) => error?.payload ?? error;

function failure(action) {
  try {
    action();
  } catch (error) {
    return payload(error);
  }
  return undefined;
}

const request = (method, target, body) => ({
  method,
  upstream: "api",
  target,
  headers: [["x-frozen", "1.1.0"]],
  body,
  omitCredential: true,
});
const get = (path) => request("get", { tag: "path", val: path }, undefined);

const OPERATIONS = {
  forward(input) {
    const id = input.pointer("/id").asString();
    const body = { tag: "json", val: input.text() };
    return { tag: "forward", val: request("post", { tag: "path", val: `/items/${id}` }, body) };
  },

  everything() {
    storage.set("key", bytes("value"), 60);
    const stored = String.fromCharCode(...storage.get("key"));
    storage.delete("key");
    const deleted = storage.get("key") == null;
    const refused = failure(() => storage.set("", bytes(""), undefined))?.tag === "invalid";

    const began = now();
    sleep(20);
    const slept = now() - began >= 19n;
    const values = [random(16), random(16)].map(String);

    write("warn", "a line of the frozen connector");
    report(0.5, "half");

    const response = send(get("/items"));
    const links = [response.headerLink("location"), response.bodyLink("/next")];
    const first = [...response.peek(1)];
    const same = response.bytes().length === response.text().length;
    const document = response.document();
    const [place, next] = links.map((val) => send(request("get", { tag: "link", val }, undefined)).status());
    const results = sendAll([get("/items/1"), get("no-slash")]);
    const both = results.map(({ tag, val }) => (tag === "ok" ? val.status() : payload(val).tag === "invalid-request" ? -1 : -2));

    const part = (name, fileName, content) => ({ name, fileName, contentType: undefined, content });
    const contentType = build([
      part("text", undefined, { tag: "text", val: "ü" }),
      part("file", "a.txt", { tag: "base64", val: "SGk=" }),
      part("bytes", "b.bin", { tag: "bytes", val: Uint8Array.of(255) }),
    ]);
    const form = { tag: "bytes", val: { contentType, bytes: new Uint8Array() } };
    const parts = JSON.parse(send(request("post", { tag: "path", val: "/form" }, form)).text());
    const brokenPart = failure(() => build([part("a", "a/b", { tag: "text", val: "" })]));

    const items = document.pointer("/items");
    const answer = {
      stored,
      deleted,
      refused,
      setting: JSON.parse(setting("greeting")),
      unset: setting("unknown") == null,
      later: now() > 1700000000000n,
      status: response.status(),
      type: response.header("Content-Type"),
      place,
      next,
      first,
      same_size: same,
      both,
      keys: document.keys(),
      kinds: Array.from({ length: items.length() }, (_, index) => items.item(index).kind()),
      word: items.item(1).asString(),
      text: JSON.parse(items.text()),
      broken: failure(() => Document.parse("{")) !== undefined,
      slept,
      random: values[0].split(",").length === 16 && values[0] !== values[1],
      too_long: failure(() => random(65537)) !== undefined,
      parts,
      broken_part: brokenPart?.index === 0,
    };
    return { tag: "reply", val: JSON.stringify(answer) };
  },

  document() {
    return { tag: "reply-document", val: send(get("/items")).document().pointer("/items") };
  },

  file() {
    const content = { tag: "response", val: send(get("/file")) };
    const members = '{"kind": "note"}';
    const file = { content, fileName: "note.txt", contentType: "text/plain", members, digest: true, maxBytes: 100 };
    return { tag: "reply-file", val: file };
  },

  fault(input) {
    const explanation = { detail: "An explanation.", members: '{"a": 1}' };
    const detail = "A reason.";
    const tag = input.pointer("/kind").asString();
    switch (tag) {
      case "invalid-input":
        throw { tag, val: [{ pointer: "/kind", detail }] };
      case "not-found":
      case "conflict":
        throw { tag, val: explanation };
      case "upstream":
        throw { tag, val: { status: 429, detail, body: '{"why": "busy"}', retryAfterSeconds: 7 } };
      case "http":
        throw { tag, val: failure(() => send({ ...get("/missing-host"), upstream: "unknown" })) };
      default:
        throw { tag: "failed", val: detail };
    }
  },
};

export function describe() {
  clientCredentials();
  serviceAccount({ audience: "frozen", subject: "optional" });
  appInstallation({ upstream: "api", path: "/installations/{installation_id}/tokens" });
  deviceCode({ deviceAuthorizationUrl: "https://api.frozen.example/device" });
  const customer = { name: "customer", title: "Customer", form: "label", maxLength: 63, source: { tag: "user" } };
  declarePart(customer);
  declarePart({ ...customer, name: "cloud", title: "Cloud", form: "segment" });
  declareSite("customers", "frozen.example");
  return MANIFEST;
}

export function invoke(operation, input) {
  return OPERATIONS[operation](Document.parse(input));
}
