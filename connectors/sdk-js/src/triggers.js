// Events of the service: inboxes, which say how the service notifies the gateway, and triggers, which
// are types of events. The crate `contract_rules` has the rules, which the build asks.

import { documentation } from "./fields.js";
import { Mistake, only } from "./mistake.js";

const INBOX = [
  "name", "scope", "checks", "handshakes", "decode", "items", "id", "kind", "data", "time", "accounts", "visibility", "ignored", "lifecycle",
  "max_body",
];
const TRIGGER = [
  "name", "title", "description", "parameters", "payload", "example", "source", "kinds", "scopes", "inboxes", "key", "conditions", "subscribe",
  "renew", "unsubscribe", "read", "recover", "identify", "requires_setting", "lifetime_seconds", "poll_seconds",
];
const HMAC = [
  "hash", "secret", "encoding", "text", "separator", "signature", "prefix", "list_separator", "timestamp", "tolerance_seconds",
];
const JWT = ["place", "issuers", "jwks_url", "audience", "claims"];
const HMAC_QUERY = ["parameter", "hash", "secret", "encoding", "member", "prefix"];
const VISIBILITY = ["upstream", "path", "context", "parameter", "accounts", "cursor"];
const NO_PARAMETERS = { type: "object", properties: {}, additionalProperties: false };

const itself = (value) => value;

/**
 * A case of a variant: its name, or an object whose only member has the name. `null` among the cases
 * stands for one without a value.
 */
function caseOf(what, value, cases) {
  const [[word, given] = [], ...more] = typeof value === "string" ? [[value]] : Object.entries(value ?? {});
  if (more.length > 0 || !Object.hasOwn(cases, word ?? "")) {
    const known = Object.entries(cases).map(([name, make]) => (make === null ? `"${name}"` : `{ ${name}: … }`));
    throw new Mistake(`${what} is one of ${known.join(", ")}`);
  }
  const tag = word.replaceAll("_", "-");
  return cases[word] === null ? { tag } : { tag, val: cases[word](given) };
}

const place = (value) =>
  caseOf("a place", value, { header: itself, header_field: itself, pointer: itself, query: itself, body_hash: null });
const ifGiven = (value, make) => (value === undefined ? undefined : make(value));

function check(value) {
  return caseOf("a check", value, { hmac, token: place, jwt });
}

function hmac(declared) {
  only(declared, HMAC, "`hmac`");
  const { hash = "sha256", secret = "text", encoding = "hex", text = ["body"], separator = "", signature, prefix = "" } = declared;
  const { list_separator, timestamp, tolerance_seconds = 300 } = declared;
  const part = (value) => caseOf("a part of `text`", value, { body: null, timestamp: null, header: itself, literal: itself });
  return {
    hash, secret, encoding, text: text.map(part), separator, signature: place(signature), prefix, listSeparator: list_separator,
    timestamp: ifGiven(timestamp, place), toleranceSeconds: tolerance_seconds,
  };
}

function jwt(declared) {
  only(declared, JWT, "`jwt`");
  const { place: at, issuers = [], jwks_url, audience = "address", claims = {} } = declared;
  const claim = (value) =>
    typeof value === "string" ? { tag: "literal", val: value } : caseOf("a claim", value, { literal: itself, setting: itself });
  return {
    place: place(at), issuers, jwksUrl: jwks_url, audience: caseOf("`audience`", audience, { address: null, setting: itself }),
    claims: Object.entries(claims).map(([name, value]) => [name, claim(value)]),
  };
}

function handshake(value) {
  return caseOf("a handshake", value, {
    echo_query: itself,
    echo_member(echo) {
      only(echo, ["when", "member"], "`echo_member`");
      return { when: echo.when, member: echo.member };
    },
    hmac_query(query) {
      only(query, HMAC_QUERY, "`hmac_query`");
      const { parameter, hash = "sha256", secret = "text", encoding = "base64", member, prefix = "" } = query;
      return { parameter, hash, secret, encoding, member, prefix };
    },
  });
}

function accountKey(key) {
  only(key, ["place", "account"], "a key of `accounts`");
  return { place: place(key.place), account: key.account };
}

function visibility(declared) {
  only(declared, VISIBILITY, "`visibility`");
  const { upstream, path, context, parameter, accounts, cursor } = declared;
  return { upstream, path, context, parameter, accounts, cursor };
}

function inboxOf(inbox) {
  only(inbox, INBOX, "an inbox");
  const { name, scope = "subscription", checks = [], handshakes = [], decode, items, id = [], kind = [], data = "", time } = inbox;
  const { accounts = [], visibility: asked, ignored = [], lifecycle = {}, max_body = 1 << 20 } = inbox;
  return {
    name, scope, checks: checks.map(check), handshakes: handshakes.map(handshake), decode, items, id: id.map(place), kind: kind.map(place), data,
    time: ifGiven(time, place), accounts: accounts.map(accountKey), visibility: ifGiven(asked, visibility), ignored,
    lifecycle: Object.entries(lifecycle), maxBody: max_body,
  };
}

function condition(declared) {
  only(declared, ["place", "comparison", "value", "pattern"], "a condition");
  const { place: at, comparison = "equals", value, pattern = "" } = declared;
  const values = { parameter: itself, account: itself, literal: itself };
  return { place: place(at), comparison: comparison.replaceAll("_", "-"), value: caseOf("the value of a condition", value, values), pattern };
}

function triggerOf(trigger) {
  only(trigger, TRIGGER, "a trigger");
  const { name, title, description = "", parameters = NO_PARAMETERS, payload = { type: "object" }, example = {}, source } = trigger;
  if (!["carried", "read"].includes(source)) throw new Mistake('`source` of a trigger is "carried" or "read"');
  const { kinds = [], scopes = [], inboxes = [], key = [], conditions = [], subscribe, renew, unsubscribe, read, recover, identify } = trigger;
  const { requires_setting, lifetime_seconds, poll_seconds = 300 } = trigger;
  const [parametersText, payloadText, exampleText] = [parameters, payload, example].map((value) => JSON.stringify(value));
  return {
    name, title, description: documentation(description), parameters: parametersText, payload: payloadText, example: exampleText, source, kinds,
    scopes, inboxes, key, conditions: conditions.map(condition), subscribe, renew, unsubscribe, read, recover, identify,
    requiresSetting: requires_setting, lifetimeSeconds: lifetime_seconds, pollSeconds: poll_seconds,
  };
}

const inPart = (what, name, make) => {
  try {
    return make();
  } catch (error) {
    if (error instanceof Mistake) error.message = `${what} \`${name}\`: ${error.message}`;
    throw error;
  }
};

/** The declarations of a table, in the form of the contract. */
export function eventsOf({ inboxes = [], triggers = [] }) {
  for (const [word, list] of Object.entries({ inboxes, triggers })) {
    if (!Array.isArray(list)) throw new Mistake(`\`${word}\` is a list such as \`[{ name: "…" }]\``);
  }
  return {
    inboxes: inboxes.map((inbox) => inPart("inbox", inbox?.name, () => inboxOf(inbox))),
    triggers: triggers.map((trigger) => inPart("trigger", trigger?.name, () => triggerOf(trigger))),
  };
}

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
