// Text as bytes in UTF-8. Small engines have no `TextEncoder`.

export function bytesOf(text) {
  const escaped = encodeURIComponent(text).matchAll(/%(..)|./g);
  return Uint8Array.from(escaped, ([character, digits]) => (digits ? Number.parseInt(digits, 16) : character.charCodeAt(0)));
}

export function textOf(bytes) {
  return decodeURIComponent(Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""));
}
