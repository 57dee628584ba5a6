// Text and bytes in the forms that services exchange. Both engines have `btoa` and `atob`, which
// take one character for each byte.

import { bytesOf, textOf } from "./utf8.js";

/** Bytes that become characters at once: an engine limits the number of arguments. */
const PART = 8192;

/** Text as bytes in UTF-8. The small engine has no `TextEncoder`. */
export const utf8 = {
  encode: (text) => bytesOf(String(text)),

  /** Throws a `URIError` if the bytes are not UTF-8. */
  decode: (bytes) => textOf(bytes),
};

/** Base64 of RFC 4648, section 4. */
export const base64 = {
  /** Takes bytes, or text, which is written as UTF-8. */
  encode(content) {
    const bytes = typeof content === "string" ? bytesOf(content) : content;
    let characters = "";
    for (let at = 0; at < bytes.length; at += PART) characters += String.fromCharCode(...bytes.subarray(at, at + PART));
    return btoa(characters);
  },

  /** Returns bytes. Throws an exception if the text is not base64. */
  decode: (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)),
};
