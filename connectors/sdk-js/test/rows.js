// The table of the Rust SDK's tests (`sdk/tests/shared/rows.rs`) in JavaScript.

import { readFileSync } from "node:fs";

import {
  Fault, boolean, connector, del, entries, file, get, integer, internal, list, number, oauth2, object, patch, post, send, string,
  string_or_list, write,
} from "../src/index.js";

const answers = new URL("../../sdk/tests/shared/answers.json", import.meta.url);
const colors = ["#000000", "#ffffff"];

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
  answer_examples: JSON.parse(readFileSync(answers, "utf8")),
  headers: {
    "X-Api-Version": "{settings.api_version}",
    ConsistencyLevel: { value: "eventual", when: ["$search", { name: "$count", unless: "false" }] },
  },
  inboxes: [
    {
      name: "app",
      scope: "application",
      checks: [
        {
          hmac: {
            text: [{ literal: "v0" }, "timestamp", "body"],
            separator: ":",
            signature: { header: "X-Signature" },
            prefix: "v0=",
            timestamp: { header: "X-Timestamp" },
          },
        },
      ],
      handshakes: [{ echo_member: { when: ["/type", "url_verification"], member: "/challenge" } }],
      id: [{ pointer: "/event_id" }],
      kind: [{ pointer: "/event/type" }],
      data: "/event",
      time: { pointer: "/event_time" },
      accounts: [{ place: { pointer: "/team_id" }, account: "/users/0/team" }],
      visibility: {
        upstream: "api",
        path: "/authorizations",
        context: "/event_context",
        parameter: "event_context",
        accounts: "/authorizations",
        cursor: ["/next", "cursor"],
      },
    },
    {
      name: "hook",
      checks: [
        { token: { header_field: ["X-Token", "t"] } },
        {
          jwt: {
            place: { header: "Authorization" },
            issuers: ["https://accounts.example.com"],
            jwks_url: "https://accounts.example.com/certs",
            audience: { setting: "api_version" },
            claims: { email_verified: "true", email: { setting: "employees_path" } },
          },
        },
        {
          hmac: {
            secret: "base64",
            encoding: "base64",
            text: [{ header: "webhook-id" }, "timestamp", "body"],
            separator: ".",
            signature: { header: "webhook-signature" },
            prefix: "v1,",
            list_separator: " ",
            timestamp: { header: "webhook-timestamp" },
          },
        },
      ],
      handshakes: [
        { echo_query: "validationToken" },
        { hmac_query: { parameter: "crc_token", member: "response_token", prefix: "sha256=" } },
      ],
      decode: "/message/data",
      items: "/value",
      id: [{ header: "X-Id" }, "body_hash"],
      kind: [{ query: "kind" }, { header: "X-Kind" }],
      ignored: ["sync"],
      lifecycle: { removed: "recreate", missed: "read" },
      max_body: 65536,
    },
  ],
  triggers: [
    {
      name: "message",
      title: "Message",
      description: "A message in a channel.",
      parameters: { type: "object", properties: { channel: { type: "string" } }, additionalProperties: false },
      payload: { type: "object", properties: { text: { type: "string" } } },
      example: { text: "Hello" },
      source: "carried",
      kinds: ["message"],
      scopes: ["messages"],
      inboxes: ["app"],
      conditions: [
        { place: { pointer: "/event/channel" }, value: { parameter: "/channel" } },
        { place: { pointer: "/event/text" }, comparison: "contains", value: { account: "/users/0/id" }, pattern: "<@{}>" },
        { place: { header: "X-Kind" }, comparison: "starts_with", value: { literal: "message" } },
      ],
    },
    {
      name: "change",
      title: "Change",
      parameters: { type: "object", properties: { folder: { type: "string" } }, required: ["folder"], additionalProperties: false },
      payload: { type: "object" },
      example: { id: "7" },
      source: "read",
      inboxes: ["hook"],
      key: ["folder"],
      subscribe: "change_subscribe",
      renew: "change_renew",
      unsubscribe: "change_unsubscribe",
      read: "change_read",
      recover: "change_recover",
      identify: "change_identify",
      requires_setting: "api_version",
      lifetime_seconds: 86400,
      poll_seconds: 600,
    },
  ],
  operations: {
    events_get: get("api", "/calendars/{calendar_id}/events/{event_id}", {
      doc: `Event by its id.

        With all of its attendees.`,
      fields: {
        "query?": entries(["alwaysIncludeEmail", { maxAttendees: { doc: "most attendees in the answer" }, q: { doc: "words to find" } }]),
      },
      example: { calendar_id: "primary", event_id: "abc", query: { maxAttendees: 10 } },
    }),
    events_insert: post("api", "/calendars/{calendar_id}/events", {
      doc: "Create an event",
      fields: { body: object(undefined, { without: ["attendees"] }), "query?": entries(["sendUpdates"]) },
    }),
    create_label: post("api", "/labels", {
      doc: "Create a label",
      fields: {
        "text_color?": string({ as: "color.textColor", one_of: colors }),
        name: string({ min: 1, max: 225 }),
        "visibility?": string({ as: "labelListVisibility", one_of: ["labelShow", "labelHide"], default: "labelShow", sent: true }),
        "background_color?": string({ as: "color.backgroundColor", one_of: colors }),
        "deep?": integer({ as: "color.inner.deep" }),
      },
    }),
    update_issue: patch("api", "/issues/{number}", {
      doc: "Change an issue",
      fields: { "title?": string(), "milestone?": integer({ as: "fields.milestone", nullable: true }) },
    }),
    create_folder: post("api", "/drives/{drive_id}/children", {
      doc: "Create a folder",
      fields: {
        name: string(),
        "conflict_behavior?": string({
          as: "@microsoft.graph.conflictBehavior", one_of: ["fail", "rename"], default: "fail", sent: true,
        }),
        "users?": string_or_list({ joined: "," }),
        "tags?": list(string()),
      },
      fixed_body: { folder: {} },
    }),
    search: get("api", "/me/drive/search(q='{q}')", {
      doc: "Search",
      fields: { q: string({ odata_string: true }), "query?": entries(["$select", "$search", "$top", "$count"]) },
      rate_limit: "searches",
    }),
    contents: get("api", "/repos/{owner}/contents/{path}?ref=main", {
      doc: "A file",
      fields: { path: string({ keeps_slashes: true }), "part?": integer({ min: 1, max: 9 }) },
    }),
    update_label: patch("api", "/labels/{id}", {
      doc: "Update a label",
      fields: {
        "name?": string(),
        "text_color?": string({ as: "color.textColor", one_of: colors }),
        "query?": entries(["fields"]),
      },
      check({ name, text_color }) {
        if (name === undefined && text_color === undefined) throw Fault.invalidInput("", "Give `name` or `text_color`.");
      },
    }),
    charge: post("api", "/charges", {
      doc: "Charge a card",
      fields: {
        amount: integer(),
        "currency?": string({ one_of: ["eur", "usd"], default: "eur", sent: true }),
        "number?": string({ as: "card.number" }),
        "year?": integer({ as: "card.year" }),
        "note?": string({ nullable: true }),
        "expand?": list(string(), { as: "expand[]" }),
        "ids?": list(string(), { joined: "," }),
        "lines?": list(object()),
      },
      form: true,
      fixed_body: { source: "api", flags: { test: true } },
    }),
    send_form: post("api", "/forms", { doc: "Send a form as it is", fields: { body: object() }, form: true }),
    upload_photos: post("api", "/albums/{album}/photos", {
      doc: "Upload photos",
      fields: {
        photo: file({ as: "photo[file]" }),
        "more?": list(file()),
        title: string(),
        "size?": integer(),
        "tags?": list(string()),
        "about?": object({ author: string(), "year?": integer() }),
        "places?": list(object(), { as: "details.places" }),
        "note?": string({ nullable: true }),
        "notify?": boolean({ in: "query" }),
      },
      multipart: true,
      fixed_body: { source: "api" },
      example: { album: "a", title: "Sea", photo: { file_name: "sea.png", content_base64: "iVBORw==" } },
    }),
    list_items: get("api", "/items", {
      doc: "Items, by the header `Link`",
      fields: { "page?": integer() },
      pages: { items: "", link: "Link", parameter: "page", into: "/page" },
    }),
    list_users: get("api", "/users", {
      doc: "Users",
      fields: { "query?": entries(["customer", "domain", "pageToken"]) },
      pages: { items: "/users", cursor: "/nextPageToken", into: "/query/pageToken" },
      default_query: { customer: "my_customer" },
      default_query_unless: ["domain"],
    }),
    list_charges: get("api", "/charges", {
      doc: "Charges, by the last item of a page",
      fields: { "query?": entries(["limit", "starting_after"]) },
      pages: { items: "/data", last: "/id", while: "/has_more", into: "/query/starting_after" },
    }),
    list_names: get("api", "/names", {
      doc: "Names, each of which leads to the next ones",
      fields: { "after?": string() },
      pages: { items: "", last: "", into: "/after" },
    }),
    list_events: get("api", "/me/events", {
      doc: "Events with headers",
      fields: { "trace?": string({ in: "header", as: "X-Trace" }), "headers?": entries(["Prefer"]) },
    }),
    get_posts: get("api", "/posts", {
      doc: "Posts",
      fields: {
        ids: list(string(), { min: 1, max: 100, joined: "," }),
        "post_fields?": list(string(), { as: "post.fields", joined: "," }),
        "ranges?": list(string(), { repeated: true }),
        "limit?": integer({ max: 100, default: 30, sent: true }),
      },
    }),
    get_employee: get("api", "{settings.employees_path}/{employee_id}", {
      doc: "An employee",
      fields: { employee_id: integer() },
    }),
    post_message: post("api", "/messages", {
      doc: "Post a message",
      fields: { text: string({ max_bytes: 8 }), "card?": object(undefined, { max_bytes: 16 }), "thread?": string({ in: "query" }) },
    }),
    post_card: post("api", "/cards", { doc: "Post a card", fields: { body: object(undefined, { max_bytes: 16 }) } }),
    end_call: post("api", "/calls/{id}:end", { doc: "End a call", effect: "destructive" }),
    delete_thing: del("api", "/things/{id}", { doc: "Delete a thing" }),
    guarded: get("api", "/guarded", { doc: "A list by another function", fields: { "limit?": integer() }, via: guarded }),
    typed: write((input) => input, {
      doc: "Typed input",
      fields: {
        type: string(),
        "many?": string_or_list(),
        "count?": integer({ min: 1, default: 5 }),
        "flag?": boolean({ default: true }),
        "filters?": entries(["state", "labels"]),
        "thing?": object(),
        "parts?": list(object()),
        "share?": number({ default: 0.5, assumed: true }),
      },
    }),
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

/** A service that reports errors with status 200. */
function guarded(request) {
  const answer = send(request).successful().document();
  const code = answer.string("/error");
  if (code !== undefined) throw Fault.upstream(400, code);
  return answer;
}
