// How users authenticate at the service.

import { camelCase } from "./host.js";
import { Mistake, only } from "./mistake.js";

export {
  client_credentials, service_account, app_installation, device_code, aws_signature, hmac_signature, ended_codes,
} from "./auth_additions.js";

/** Users need no account. */
export const none = { tag: "none" };

/** The identity in the answer of an operation `userinfo`, which returns `userinfo({…})`. */
export const USERINFO = { operation: "userinfo", id: "/data/id", email: "/data/email", name: "/data/name" };

const STANDARD = {
  authorization_url: "",
  token_url: "",
  refresh_url: undefined,
  revocation: undefined,
  scopes: [],
  scope_separator: " ",
  scope_parameter: "scope",
  authorization_parameters: {},
  token_parameters: {},
  pkce: true,
  client_authentication: "body",
  token_pointer: "",
  default_lifetime_seconds: undefined,
  form_field: undefined,
  revokes_replaced_grants: true,
  identity: undefined,
};

/**
 * Users grant access by OAuth 2.0. `provider` is its name. The other members describe how it
 * differs from the standard: PKCE, client credentials in the form body, spaces between scopes, a new grant for each
 * authorization.
 */
export function oauth2(client) {
  only(client, ["provider", ...Object.keys(STANDARD)], "`oauth2`");
  if (!client.provider) throw new Mistake("`oauth2` has `provider`, the name of the provider");
  const { revocation, authorization_parameters, token_parameters, ...found } = { ...STANDARD, ...client };
  return {
    tag: "oauth2",
    val: {
      ...camelCase(found),
      revocation: revocation && one(revocation, ["form", "bearer", "delete"], "`revocation`"),
      authorizationParameters: Object.entries(authorization_parameters),
      tokenParameters: Object.entries(token_parameters),
      identity: found.identity && { email: undefined, name: undefined, ...found.identity },
    },
  };
}

/**
 * Users bring a key that the service issued to them: `{ header: "X-Key" }`,
 * `{ header: "Authorization", prefix: "Token " }`, `{ query: "key" }` or `{ basic: true }`. `check`
 * is an operation that tests a key.
 */
export function api_key(key) {
  only(key, ["header", "prefix", "query", "basic", "form_field", "check"], "`api_key`");
  const { header, prefix = "", query, basic, form_field: formField, check } = key;
  const placements = [
    header !== undefined && { tag: "header", val: { name: header, prefix } },
    query !== undefined && { tag: "query", val: query },
    basic && { tag: "basic" },
  ].filter(Boolean);
  if (placements.length !== 1) throw new Mistake("`api_key` has one of `header`, `query` and `basic`");
  return { tag: "api-key", val: { placement: placements[0], formField, check } };
}

function one(value, tags, where) {
  only(value, tags, where);
  const [[tag, val]] = Object.entries(value);
  return { tag, val };
}
