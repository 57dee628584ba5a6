// Further ways in which accounts get access tokens, besides the authorization code of `oauth2`.

import { Mistake, only } from "./mistake.js";

/** Accounts bring a client id and a client secret (RFC 6749, section 4.4). */
export function client_credentials() {
  return { tag: "client-credentials" };
}

/**
 * Accounts bring the key file of a service account, which signs assertions (RFC 7523). `subject`
 * says if an account names the user for whom the service account acts: `"required"` or `"optional"`.
 * `audience` is the claim `aud`; without it, the token URL.
 */
export function service_account(account) {
  only(account, ["subject", "audience"], "`service_account`");
  const { subject, audience } = account;
  if (!["required", "optional"].includes(subject)) throw new Mistake('`service_account` has `subject`: "required" or "optional"');
  return { tag: "service-account", val: { audience, subject } };
}

/** Accounts are installations of an application. The gateway gets a token with a POST to `path`. */
export function app_installation(app) {
  only(app, ["upstream", "path"], "`app_installation`");
  return { tag: "app-installation", val: app };
}

/**
 * Users authorize with a code that they enter on another device (RFC 8628). `device_authorization_url`
 * is empty if only the operator knows it.
 */
export function device_code(device) {
  only(device, ["device_authorization_url"], "`device_code`");
  const { device_authorization_url } = device;
  if (typeof device_authorization_url !== "string") throw new Mistake("`device_code` has `device_authorization_url`, a text");
  return { tag: "device-code", val: { deviceAuthorizationUrl: device_authorization_url } };
}

/** The declarations of a table, in the form of the contract. */
export function additionsOf(declared, auth, upstreams) {
  const additions = declared ?? [];
  if (!Array.isArray(additions)) throw new Mistake("`auth_additions` is a list such as `[client_credentials()]`");
  if (additions.length > 0 && auth.tag !== "oauth2") {
    throw new Mistake("`auth_additions` need an `auth` with OAuth 2.0, whose token URL and scopes they use");
  }
  const tags = new Set(additions.map(({ tag }) => tag));
  if (tags.size !== additions.length) throw new Mistake("`auth_additions` have each way once");
  const app = additions.find(({ tag }) => tag === "app-installation")?.val;
  if (app !== undefined) {
    if (!upstreams.includes(app.upstream)) throw new Mistake("the `upstream` of an installation is the name of an upstream of the table");
    if (!isPath(app.path)) {
      throw new Mistake("the `path` of an installation begins with `/`, has no query, and has `{installation_id}` once, as a whole segment");
    }
  }
  return additions;
}

function isPath(path) {
  if (typeof path !== "string" || !path.startsWith("/") || /[?#]/.test(path)) return false;
  const segments = path.split("/").filter((segment) => segment === "{installation_id}");
  return segments.length === 1 && path.split("{").length === 2;
}

/** Calls the functions of the contract for the declarations of a table. */
export function declare(host, additions) {
  for (const { tag, val } of additions) {
    if (tag === "client-credentials") host.clientCredentials();
    else if (tag === "service-account") host.serviceAccount(val);
    else if (tag === "device-code") host.deviceCode(val);
    else host.appInstallation(val);
  }
}
