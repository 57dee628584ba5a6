// Headers that a connector cannot send, because the gateway sets them (`wit/rules/src/header.rs`).

import { Mistake } from "./mistake.js";

export const RESERVED = [
  "authorization", "connection", "content-length", "cookie", "cookie2", "expect", "forwarded", "host", "http2-settings", "keep-alive",
  "te", "trailer", "transfer-encoding", "upgrade", "via", "x-http-method", "x-http-method-override", "x-method-override",
  "x-original-url", "x-real-ip", "x-rewrite-url",
];
export const RESERVED_PREFIXES = ["proxy-", "x-forwarded-"];

/** Refuses the name of a header that requests cannot have. */
export function checkHeader(name) {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw new Mistake(`\`${name}\` is not the name of a header`);
  // Some servers take `_` for `-`.
  const plain = name.toLowerCase().replaceAll("_", "-");
  if (RESERVED.includes(plain) || RESERVED_PREFIXES.some((prefix) => plain.startsWith(prefix))) {
    throw new Mistake("the gateway sets this header itself; leave it out");
  }
}
