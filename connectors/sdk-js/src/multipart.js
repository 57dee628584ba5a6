// Bodies of forms with files (`multipart/form-data`). The gateway builds them, so that no name or
// media type of a caller can end a part.

import { Fault } from "./fault.js";
import { host, payload } from "./host.js";

/**
 * The body of these parts: `{ name, text }` or `{ name, file_name, bytes }`, with `content_type` if
 * need be. A file of a caller has `content_base64` in place of `bytes`.
 */
export function multipartBody(parts) {
  try {
    return { tag: "bytes", val: { contentType: host().multipart.build(parts.map(toContract)), bytes: new Uint8Array() } };
  } catch (error) {
    throw Fault.invalidInput("", payload(error).detail);
  }
}

function toContract({ name, file_name, content_type, text, bytes, content_base64 }) {
  const content = () => {
    if (content_base64 !== undefined) return { tag: "base64", val: content_base64 };
    return bytes === undefined ? { tag: "text", val: String(text) } : { tag: "bytes", val: bytes };
  };
  return { name, fileName: file_name, contentType: content_type ?? undefined, content: content() };
}
