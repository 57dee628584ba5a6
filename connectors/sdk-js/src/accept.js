// Checks whether the fields of a row accept its example. The gateway validates the bodies of calls
// with the schema itself.

import { Mistake } from "./mistake.js";

/** Refuses an example that does not fit. Patterns and formats are not checked. */
export function checkExample(fields, example) {
  if (!isObject(example)) throw new Mistake("an example is an object: `{ … }`");
  const mismatch = ofMembers(fields, example, "");
  if (mismatch) throw new Mistake(`the example does not fit${mismatch.place && ` at \`${mismatch.place}\``}: ${mismatch.reason}`);
}

/** The fields of a file, as far as an example needs them. */
const FILE = ["file_name", "content_type", "content_base64"].map((name) => ({ name, kind: "string", optional: name === "content_type" }));

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isScalar = (value) => ["string", "number", "boolean"].includes(typeof value);
const wrong = (place, reason) => ({ place, reason });

function ofMembers(fields, value, place) {
  if (!isObject(value)) return wrong(place, "expected an object");
  for (const [name, member] of Object.entries(value)) {
    const field = fields.find((known) => known.name === name);
    const mismatch = field ? ofField(field, member, `${place}/${name}`) : wrong(`${place}/${name}`, `there is no field \`${name}\``);
    if (mismatch) return mismatch;
  }
  const missing = fields.find((field) => !field.optional && !Object.hasOwn(value, field.name));
  return missing && wrong(place, `the field \`${missing.name}\` is required`);
}

/** The first part of a value that a field does not accept; `undefined` if it accepts the value. */
function ofField(field, value, place) {
  if (field.optional && value === null) return undefined;
  const list = (item) => {
    for (const [index, inner] of value.entries()) {
      const mismatch = ofField({ ...item, optional: false }, inner, `${place}/${index}`);
      if (mismatch) return mismatch;
    }
    return ofSize(field, value.length, "items", place);
  };
  switch (field.kind) {
    case "file":
      return ofMembers(FILE, value, place);
    case "members":
      return ofMembers(field.members, value, place);
    case "object": {
      const forbidden = isObject(value) ? field.without?.find((name) => Object.hasOwn(value, name)) : undefined;
      if (forbidden !== undefined) return wrong(`${place}/${forbidden}`, `the member \`${forbidden}\` is forbidden`);
      return isObject(value) ? undefined : wrong(place, "expected an object");
    }
    case "entries":
      return isObject(value) ? ofEntries(field, value, place) : wrong(place, "expected an object");
    case "list":
      return Array.isArray(value) ? list({ ...field.item, one_of: field.one_of }) : wrong(place, "expected a list");
    case "string_or_list":
      if (Array.isArray(value)) return list({ kind: "string", one_of: field.one_of });
      return typeof value === "string" ? ofValues(field, value, place) : wrong(place, "expected a string or a list of strings");
    case "string":
      if (typeof value !== "string") return wrong(place, "expected a string");
      return ofValues(field, value, place) ?? ofSize(field, [...value].length, "characters", place);
    case "boolean":
      return typeof value === "boolean" ? undefined : wrong(place, "expected a boolean");
    case "integer":
      return Number.isInteger(value) ? ofNumber(field, value, place) : wrong(place, "expected a whole number");
    default:
      return typeof value === "number" ? ofNumber(field, value, place) : wrong(place, "expected a number");
  }
}

function ofEntries(field, value, place) {
  for (const [name, member] of Object.entries(value)) {
    const entry = field.entries.find((known) => known.name === name);
    if (!entry) return wrong(`${place}/${name}`, `there is no entry \`${name}\``);
    const fits = field.text ? typeof member === "string" : isScalar(member) || (Array.isArray(member) && member.every(isScalar));
    if (member !== null && !(fits && (entry.values?.includes(member) ?? true))) {
      return wrong(`${place}/${name}`, `the entry \`${name}\` does not accept this value`);
    }
  }
  return undefined;
}

function ofValues({ one_of }, text, place) {
  return one_of && !one_of.includes(text) ? wrong(place, `expected one of ${one_of.join(", ")}`) : undefined;
}

function ofSize({ min, max }, size, unit, place) {
  if (size < min) return wrong(place, `expected at least ${min} ${unit}`);
  return size > max ? wrong(place, `expected at most ${max} ${unit}`) : undefined;
}

function ofNumber({ min, max }, value, place) {
  if (value < min) return wrong(place, `expected a number that is at least ${min}`);
  return value > max ? wrong(place, `expected a number that is at most ${max}`) : undefined;
}
