// Declarations in addition to `auth`: further ways in which accounts get access tokens, signatures of
// requests, and codes of ended grants.

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

/**
 * Requests are signed with AWS Signature Version 4. `service` is for example `"s3"`. `region` is fixed,
 * or `region_part` is the name of the part of the account's address that has it.
 */
export function aws_signature(signature) {
  only(signature, ["service", "region", "region_part"], "`aws_signature`");
  const { service, region, region_part } = signature;
  if (typeof service !== "string") throw new Mistake("`aws_signature` has `service`, the name of the service in signatures");
  if ((region === undefined) === (region_part === undefined)) throw new Mistake("`aws_signature` has one of `region` and `region_part`");
  const of = region === undefined ? { tag: "address-part", val: region_part } : { tag: "fixed", val: region };
  return { tag: "aws-signature", val: { service, region: of } };
}

const PARTS = ["method", "host", "path", "query", "target", "timestamp", "key_id", "body", "body_hash"];

/**
 * Requests are signed by HMAC. `text` has the parts of the signed text: `"method"`, `"host"`, `"path"`,
 * `"query"`, `"target"`, `"timestamp"`, `"key_id"`, `"body"`, `"body_hash"`, or `{ literal: "…" }`.
 */
export function hmac_signature(signature) {
  only(signature, ["hash", "secret", "encoding", "text", "separator", "timestamp", "key_header"], "`hmac_signature`");
  const { hash = "sha256", secret = "text", encoding = "hex", text, separator = "", timestamp, key_header } = signature;
  oneOf("hash", hash, ["sha1", "sha256", "sha512"]);
  oneOf("secret", secret, ["text", "base64"]);
  oneOf("encoding", encoding, ["hex", "base64"]);
  if (!Array.isArray(text)) throw new Mistake("`hmac_signature` has `text`, a list of the parts that are signed");
  const parts = text.map((part) => {
    if (typeof part?.literal === "string") return { tag: "literal", val: part.literal };
    oneOf("text", part, PARTS);
    return { tag: part.replace("_", "-") };
  });
  if (timestamp !== undefined) {
    only(timestamp, ["header", "form"], "`timestamp` of `hmac_signature`");
    oneOf("timestamp", timestamp.form, ["seconds", "milliseconds", "rfc3339"]);
  }
  return { tag: "hmac-signature", val: { hash, secret, encoding, text: parts, separator, timestamp, keyHeader: key_header } };
}

/**
 * The provider's own error codes for a grant that has ended. If the code of a token response is one of
 * them, the user must connect the account again. The gateway knows the common codes.
 */
export function ended_codes(codes) {
  const isCode = (code) => typeof code === "string" && /^(?=.*[A-Za-z0-9])[!-~]{1,64}$/.test(code);
  if (!Array.isArray(codes) || codes.length > 32 || !codes.every(isCode)) {
    throw new Mistake("`ended_codes` are at most 32 codes of 1 to 64 visible ASCII characters, among them a letter or a digit");
  }
  return { tag: "ended-codes", val: codes };
}

function oneOf(name, value, known) {
  if (!known.includes(value)) throw new Mistake(`\`${name}\` of \`hmac_signature\` is one of ${known.join(", ")}`);
}

/** The declarations of a table, in the form of the contract. */
export function additionsOf(declared, auth, upstreams) {
  const additions = declared ?? [];
  if (!Array.isArray(additions)) throw new Mistake("`auth_additions` is a list such as `[client_credentials()]`");
  const signatures = additions.filter(({ tag }) => tag.endsWith("-signature"));
  if (signatures.length > 1) throw new Mistake("`auth_additions` have one kind of signature");
  if (signatures.length > 0 && (auth.val?.placement?.tag !== "header" || auth.val.formField !== undefined)) {
    throw new Mistake("a signature needs an `auth` that is an `api_key` with the header for the signature");
  }
  if (additions.length > signatures.length && auth.tag !== "oauth2") {
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
    else if (tag === "aws-signature") host.awsSignatureV4(val);
    else if (tag === "hmac-signature") host.hmacSignature(val);
    else if (tag === "ended-codes") host.endedCodes(val);
    else host.appInstallation(val);
  }
}
