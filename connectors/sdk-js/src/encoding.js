// Percent-encoding (RFC 3986), and the rule that a path does not lead out of its base URL.

/**
 * `text`, percent-encoded. RFC 3986's unreserved characters and the characters of `keep` remain.
 */
export function encode(text, keep = "") {
  const encoded = encodeURIComponent(text).replace(/[!'()*]/g, (character) => hex(character));
  return keep === "" ? encoded : [...keep].reduce((found, character) => found.replaceAll(hex(character), character), encoded);
}

/** The name of a query parameter. `$` and `@` remain, because names of OData begin with them. */
export function encodeName(name) {
  return encode(name, "$@");
}

function hex(character) {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

/**
 * `true` if a path has a segment `.` or `..`. It reads the path as the most lenient server would:
 * percent-encoding is undone, repeatedly if need be; encoded slashes and backslashes are
 * separators; an encoded question mark or number sign ends the path; text behind a semicolon is left
 * out of the segment.
 */
export function hasDotSegment(path) {
  let plain = path;
  for (let before; before !== plain; ) {
    before = plain;
    plain = plain.replace(/%([0-9A-Fa-f]{2})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)));
  }
  return plain.split(/[/\\]/).some((segment) => /^\.{1,2}([?#]|$)/.test(segment.split(";", 1)[0]));
}
