// The table of the Rust SDK's tests (`sdk/tests/shared/rows.rs`) in JavaScript. Its rows, inboxes and
// triggers are in files that the SDK for Python reads too.

import { readFileSync } from "node:fs";

import {
  Fault, boolean, connector, del, entries, file, get, integer, internal, list, number, oauth2, object, patch, post, send, string,
  string_or_list, write,
} from "../src/index.js";

const shared = (name) => JSON.parse(readFileSync(new URL(`../../sdk/tests/shared/${name}`, import.meta.url), "utf8"));
const { requests, typed } = shared("rows.json");

/** A field of the shared files: its type, its modifiers, and the item, the fields or the names inside of it. */
function fieldOf([kind, modifiers = {}, inner]) {
  if (kind === "list") return list(fieldOf(inner), modifiers);
  if (kind === "entries") return entries(inner, modifiers);
  if (kind === "object") return object(inner && fieldsOf(inner), modifiers);
  return { string, integer, number, boolean, string_or_list, file }[kind](modifiers);
}

/** The fields of a row or an object of the shared files. */
export const fieldsOf = (fields) => Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, fieldOf(field)]));

/** A row of the shared files. */
export function rowOf({ method, upstream, path, doc = "One", fields = {}, check, via, ...clauses }) {
  const functions = { ...(check && { check: some_change }), ...(via && { via: guarded }) };
  return { get, post, patch, delete: del }[method](upstream, path, { doc, fields: fieldsOf(fields), ...functions, ...clauses });
}

export default connector({
  identifier: "rows",
  version: "0.1.0",
  title: "Rows",
  doc: "Rows of many services.",
  license: "Apache-2.0",
  author: "Connector Gateway contributors",
  auth: oauth2({
    provider: "google",
    scopes: ["openid"],
    authorization_parameters: { access_type: "offline" },
    identity: { operation: "list_users", id: "/users/0/id" },
  }),
  upstreams: {
    api: "https://api.example.com/v1",
    files: {
      url: "{api}/files",
      credential: "none",
      links: ["*.example-files.com"],
      pacing: { interval_ms: 3000, concurrency: 1, max_wait_ms: 15000 },
    },
  },
  rate_limits: { searches: "30 per 2 minutes" },
  settings: {
    employees_path: string({ default: "/employees", doc: "Path of the employees." }),
    api_version: string({ default: "2022-11-28", doc: "Version of the service's API." }),
  },
  lists: "repeated",
  answer_examples: shared("answers.json"),
  headers: {
    "X-Api-Version": "{settings.api_version}",
    ConsistencyLevel: { value: "eventual", when: ["$search", { name: "$count", unless: "false" }] },
  },
  ...shared("inboxes_and_triggers.json"),
  operations: {
    ...Object.fromEntries(Object.entries(requests).map(([name, row]) => [name, rowOf(row)])),
    typed: write((input) => input, { doc: "Typed input", fields: fieldsOf(typed) }),
    change_subscribe: internal("subscribe", ({ parameters }) => ({ upstream_id: parameters.folder, expires_at: "2026-12-04T00:00:00Z" })),
    change_renew: internal("renew", ({ upstream_id, state }) => ({ upstream_id, state })),
    change_unsubscribe: internal("unsubscribe", () => {}, { rate_limit: "searches" }),
    change_read: internal("read", changes, { doc: "Changes of a folder" }),
    change_recover: internal("recover", () => {}),
    change_identify: internal("identify", ({ parameters }) => parameters),
  },
});

function changes({ cursor, limit }) {
  if (cursor === undefined) return { cursor: "1" };
  return { events: [{ id: "7", kind: "changed", data: [limit] }], cursor, gap: true };
}

function some_change({ name, text_color }) {
  if (name === undefined && text_color === undefined) throw Fault.invalidInput("", "Give `name` or `text_color`.");
}

/** A service that reports errors with status 200. */
function guarded(request) {
  const answer = send(request).successful().document();
  const code = answer.string("/error");
  if (code !== undefined) throw Fault.upstream(400, code);
  return answer;
}
