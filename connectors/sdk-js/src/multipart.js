// Bodies of forms with files (`multipart/form-data`). The gateway builds them, so that no name or
// media type of a caller can end a part.

import { host, payload } from "./host.js";
import { Fault } from "./outcome.js";
import { items, members, scalar } from "./reader.js";

/**
 * The body of these parts: `{ name, text }` or `{ name, file_name, bytes }`, with `content_type` if
 * need be. A file of a caller has `content_base64` in place of `bytes`.
 */
export function multipartBody(parts) {
  return built(parts, () => "");
}

/**
 * The body of a row: the members of a JSON object as fields, then the row's files. Services that
 * read a form from its beginning need the fields first. `given` has a file's JSON text.
 */
export function rowBody(row, given, object) {
  const fields = members(object).flatMap(({ name, value }) => (items(value) ?? [value]).map((item) => field(name, item)));
  const files = row.fields.filter((field) => field.location === "file").flatMap((field) => {
    const value = given(field);
    if (value === undefined) return [];
    const place = `/${field.name}`;
    const list = items(value);
    if (list === undefined) return [{ place, part: { name: field.upstreamName, ...JSON.parse(value) } }];
    return list.map((item, index) => ({ place: `${place}/${index}`, part: { name: field.upstreamName, ...JSON.parse(item) } }));
  });
  const places = [...fields.map(() => ""), ...files.map(({ place }) => place)];
  return built([...fields, ...files.map(({ part }) => part)], (index) => places[index] ?? "");
}

/** A value as a part: a scalar as text, and an object or a list as JSON. */
function field(name, value) {
  if (/^[[{]/.test(value)) return { name, content_type: "application/json", text: value };
  // Null is empty: a form has no other value that means "none".
  return { name, text: scalar(value) ?? "" };
}

/** `place` gives the place of a part in the input. */
function built(parts, place) {
  try {
    return { tag: "bytes", val: { contentType: host().multipart.build(parts.map(toContract)), bytes: new Uint8Array() } };
  } catch (error) {
    const broken = payload(error);
    throw Fault.invalidInput(place(broken.index), broken.detail);
  }
}

function toContract({ name, file_name, content_type, text, bytes, content_base64 }) {
  const content = () => {
    if (content_base64 !== undefined) return { tag: "base64", val: content_base64 };
    return bytes === undefined ? { tag: "text", val: String(text) } : { tag: "bytes", val: bytes };
  };
  return { name, fileName: file_name, contentType: content_type ?? undefined, content: content() };
}
