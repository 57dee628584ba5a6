// Events of the service: inboxes, which say how the service notifies the gateway, and triggers, which
// are types of events. The crate `contract_rules` has the rules, which the build asks.

import { documentation } from "./fields.js";
import { camelCase } from "./host.js";
import { Mistake, only, within } from "./mistake.js";

const SUBSCRIPTION = ["upstream_id", "state", "parameters"];
const SCHEMAS = {
  parameters: { type: "object" }, kinds: { type: "array", items: { type: "string" } }, upstream_id: { type: "string" }, state: {}, cursor: {},
  hint: {}, limit: { type: "integer", minimum: 1 },
};

/** The operations that a trigger names: the summary and the members of the input, some of which may be absent. */
export const ROLES = {
  subscribe: { summary: "Subscribe to events", members: ["parameters", "kinds"] },
  renew: { summary: "Renew a subscription", members: [...SUBSCRIPTION, "kinds"] },
  unsubscribe: { summary: "End a subscription", members: SUBSCRIPTION },
  read: { summary: "Read events", members: ["parameters", "cursor", "hint", "limit"] },
  recover: { summary: "Let the service send failed notifications again", members: SUBSCRIPTION },
  identify: { summary: "What the account sees", members: ["parameters"] },
};

const itself = (value) => value;
const or = (byDefault, make = itself) => (value = byDefault) => make(value);
const ifGiven = (make) => (value) => (value === undefined ? undefined : make(value));
const list = (make) => or([], (values) => values.map((value) => make(value)));
const pairs = (make) => or({}, (values) => Object.entries(values).map(([name, value]) => [name, make(value)]));

/** Makes a record of the contract. `members` has a function for each member. It gets the author's value, or `undefined`. */
const record = (what, members) => (declared) => {
  only(declared, Object.keys(members), what);
  return camelCase(Object.fromEntries(Object.entries(members).map(([word, make]) => [word, make(declared[word])])));
};

/**
 * A case of a variant: its name, or an object whose only member has the name. `null` among the cases
 * stands for one without a value.
 */
const oneOf = (what, cases) => (value) => {
  const [[word, given] = [], ...more] = typeof value === "string" ? [[value]] : Object.entries(value ?? {});
  if (more.length > 0 || !Object.hasOwn(cases, word ?? "")) {
    const known = Object.entries(cases).map(([name, make]) => (make === null ? `"${name}"` : `{ ${name}: … }`));
    throw new Mistake(`${what} is one of ${known.join(", ")}`);
  }
  const tag = word.replaceAll("_", "-");
  return cases[word] === null ? { tag } : { tag, val: cases[word](given) };
};

const place = oneOf("a place", { header: itself, header_field: itself, pointer: itself, query: itself, body_hash: null });
const claim = oneOf("a claim", { literal: itself, setting: itself });

const hmac = record("`hmac`", {
  hash: or("sha256"), secret: or("text"), encoding: or("hex"),
  text: or(["body"], list(oneOf("a part of `text`", { body: null, timestamp: null, header: itself, literal: itself }))),
  separator: or(""), signature: place, prefix: or(""), list_separator: itself, timestamp: ifGiven(place), tolerance_seconds: or(300),
});

const jwt = record("`jwt`", {
  place, issuers: or([]), jwks_url: itself, audience: or("address", oneOf("`audience`", { address: null, setting: itself })),
  claims: pairs((value) => claim(typeof value === "string" ? { literal: value } : value)),
});

const handshake = oneOf("a handshake", {
  echo_query: itself,
  echo_member: record("`echo_member`", { when: itself, member: itself }),
  hmac_query: record("`hmac_query`", {
    parameter: itself, hash: or("sha256"), secret: or("text"), encoding: or("base64"), member: itself, prefix: or(""),
  }),
});

const inboxOf = record("an inbox", {
  name: itself, scope: or("subscription"), checks: list(oneOf("a check", { hmac, token: place, jwt })), handshakes: list(handshake),
  decode: itself, items: itself, id: list(place), kind: list(place), data: or(""), time: ifGiven(place),
  accounts: list(record("a key of `accounts`", { place, account: itself })),
  visibility: ifGiven(record("`visibility`", {
    upstream: itself, path: itself, context: itself, parameter: itself, accounts: itself, cursor: itself,
  })),
  ignored: or([]), lifecycle: pairs(itself), max_body: or(1 << 20),
});

const condition = record("a condition", {
  place, comparison: or("equals", (value) => value.replaceAll("_", "-")),
  value: oneOf("the value of a condition", { parameter: itself, account: itself, literal: itself }), pattern: or(""),
});

function source(value) {
  if (!["carried", "read"].includes(value)) throw new Mistake('`source` of a trigger is "carried" or "read"');
  return value;
}

const json = (value) => JSON.stringify(value);

const triggerOf = record("a trigger", {
  name: itself, title: itself, description: or("", documentation),
  parameters: or({ type: "object", properties: {}, additionalProperties: false }, json), payload: or({ type: "object" }, json),
  example: or({}, json), source, kinds: or([]), scopes: or([]), inboxes: or([]), key: or([]), conditions: list(condition),
  ...Object.fromEntries(Object.keys(ROLES).map((role) => [role, itself])),
  requires_setting: itself, lifetime_seconds: itself, poll_seconds: or(300),
});

/** The declarations of a table, in the form of the contract. */
export function eventsOf({ inboxes = [], triggers = [] }) {
  for (const [word, declared] of Object.entries({ inboxes, triggers })) {
    if (!Array.isArray(declared)) throw new Mistake(`\`${word}\` is a list such as \`[{ name: "…" }]\``);
  }
  return {
    inboxes: inboxes.map((inbox) => within(`inbox \`${inbox?.name}\``, () => inboxOf(inbox))),
    triggers: triggers.map((trigger) => within(`trigger \`${trigger?.name}\``, () => triggerOf(trigger))),
  };
}

/** The schema of the input of an operation with a role. */
export function inputSchema(role) {
  const { members } = ROLES[role];
  return {
    type: "object",
    properties: Object.fromEntries(members.map((name) => [name, SCHEMAS[name]])),
    required: members.filter((name) => Object.keys(SCHEMAS[name]).length > 0),
    additionalProperties: false,
  };
}

/** Runs the function of a role, and completes its answer. A member that is null is absent in the input. */
export function runRole(role, run, text) {
  const given = Object.entries(JSON.parse(text)).filter(([, value]) => value !== null);
  const answer = run(Object.fromEntries(given));
  if (role === "read") {
    const { events = [], cursor, more = false, gap = false } = answer ?? {};
    return { events: events.map(({ id, kind = "", time = null, data }) => ({ id, kind, time, data })), cursor, more, gap };
  }
  return answer ?? {};
}
