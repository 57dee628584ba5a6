// The fields of a table: a constructor for each type, and the JSON Schema that follows from a
// field.

import { Mistake, only } from "./mistake.js";

const BOUNDS = ["min", "max"];
const STRINGS = ["one_of", "pattern", "format", "max_bytes"];
const COMMON = ["doc", "in", "as", "default", "sent", "assumed", "nullable", "secret"];
const LISTS = ["joined", "repeated"];
/** The modifiers that say how a row sends a field. */
const OF_ROWS = ["in", "as", "sent", "assumed", "nullable", "joined", "repeated", "keeps_slashes", "odata_string"];
/** The modifiers that an item of a list may have. */
const OF_ITEMS = ["one_of", "pattern", "format"];

/**
 * A type of a field, with its modifiers. The name is the key in the table; a `?` at the end of the
 * key makes the field optional.
 */
export class Field {
  constructor(kind, modifiers, known, extra = {}) {
    only(modifiers, [...COMMON, ...known], `the type \`${kind}\``);
    Object.assign(this, { kind }, modifiers, extra);
  }
}

export const string = (modifiers = {}) => new Field("string", modifiers, [...BOUNDS, ...STRINGS, "keeps_slashes", "odata_string"]);
export const integer = (modifiers = {}) => new Field("integer", modifiers, BOUNDS);
export const number = (modifiers = {}) => new Field("number", modifiers, BOUNDS);
export const boolean = (modifiers = {}) => new Field("boolean", modifiers, []);

/**
 * A list of items of one type. Modifiers of the items, such as `one_of`, belong to the item's type.
 */
export function list(item, modifiers = {}) {
  const { kind, members, item: inner, entries, one_of, pattern, format, ...others } = item;
  const idle = Object.keys(others).find((word) => others[word] !== undefined);
  if (idle !== undefined) {
    throw new Mistake(`an item of a list has no \`${idle}\`; it may have ${OF_ITEMS.map((word) => `\`${word}\``).join(", ")}, and its list has the other modifiers`);
  }
  return new Field("list", modifiers, [...BOUNDS, ...LISTS, "max_bytes"], { item, one_of, pattern, format });
}

/** A string or a list of strings. */
export const string_or_list = (modifiers = {}) =>
  new Field("string_or_list", modifiers, [...BOUNDS, ...LISTS, "one_of", "pattern", "format", "max_bytes"]);

/** An object: with any members, or with these fields only. */
export function object(fields, modifiers = {}) {
  if (fields instanceof Field) throw new Mistake("`object` takes fields by their names: `object({ street: string() })`");
  const members = fields === undefined ? undefined : named(fields).map(inside);
  return new Field(members ? "members" : "object", modifiers, ["without", "max_bytes"], { members });
}

/** Returns `true` if a modifier says how a row sends the field. */
export const isOfRow = (field) => OF_ROWS.some((word) => field[word] !== undefined);

/** A field inside of an object. Modifiers that would have no effect there are refused, as in Rust. */
function inside(field) {
  if (isOfRow(field)) {
    throw new Mistake(`\`${field.name}\`: an object is sent as it is, so this modifier does not belong to a field inside of it`);
  }
  if (field.kind === "entries") throw new Mistake(`\`${field.name}\`: \`entries\` do not belong into an object; write its fields`);
  return field;
}

/** A file: `{ file_name, content_type?, content_base64 }`. */
export const file = (modifiers = {}) => new Field("file", modifiers, []);

/** Returns `true` for a file and for a list of files. */
export const isFile = (field) => (field.item?.kind ?? field.kind) === "file";

/**
 * An object with these names only, whose values are scalars or lists of scalars:
 * `entries(["page", { sort: ["asc", "desc"], order: { one_of: ["name", "size"], doc: "key of the order" } }])`.
 */
export function entries(names, modifiers = {}) {
  const found = names.flatMap((name) => (typeof name === "string" ? [{ name }] : Object.entries(name).map(entry)));
  const twice = found.find(({ name }, index) => found.findIndex((known) => known.name === name) !== index);
  if (twice) throw new Mistake(`the entry \`${twice.name}\` is there twice`);
  return new Field("entries", modifiers, LISTS, { entries: found });
}

/** An entry with its values, or with an object of its values and its description. */
function entry([name, declared]) {
  if (Array.isArray(declared)) return { name, values: declared };
  only(declared, ["one_of", "doc"], `the entry \`${name}\``);
  return { name, values: declared.one_of, doc: declared.doc };
}

/** The fields of an object literal, in their order, with names and `optional`. */
export function named(fields) {
  const declared = Object.keys(fields).map((key) => key.replace(/\?$/, ""));
  const twice = declared.find((name, index) => declared.indexOf(name) !== index);
  if (twice !== undefined) throw new Mistake(`\`${twice}\` is declared twice`);
  return Object.entries(fields).map(([key, field]) => {
    const optional = key.endsWith("?");
    const name = optional ? key.slice(0, -1) : key;
    if (!(field instanceof Field)) throw new Mistake(`\`${name}\` has no type; write a type such as \`string()\``);
    if (!/^[a-zA-Z0-9_]{1,64}$/.test(name)) {
      throw new Mistake(`the name of a field is 1 to 64 of \`a-z\`, \`A-Z\`, \`0-9\` and \`_\`, not \`${name}\``);
    }
    if (field.default !== undefined && !optional) throw new Mistake(`a field with a default is optional: \`${name}?\``);
    if (field.members?.some(isFile) || field.item?.members?.some(isFile)) throw new Mistake(`\`${name}\`: a \`file\` is a field of a row, and not inside of an object`);
    return Object.assign(Object.create(Field.prototype), field, { name, optional });
  });
}

/** A field in the form of the crate `contract_rules`. */
export function plainField({ name, optional, min, max, one_of, pattern, format, default: value, max_bytes, without, ...field }) {
  return { name, optional, kind: kindOf(field), minimum: min, maximum: max, values: one_of, pattern, format, default: value, max_bytes, without };
}

function kindOf({ kind, text, item, members, entries }) {
  if (kind === "list") return { tag: "list", val: kindOf(item) };
  if (kind === "members") return { tag: "members", val: members.map(plainField) };
  if (kind === "entries") return { tag: text ? "text-entries" : "entries", val: entries.map(({ name, values }) => ({ name, values })) };
  return { tag: kind.replaceAll("_", "-") };
}

/** The schema of an object with these fields only. */
export function schemaOf(fields) {
  return { type: "object", ...properties(fields) };
}

function properties(fields) {
  const schema = { properties: Object.fromEntries(fields.map((field) => [field.name, fieldSchema(field)])) };
  const required = fields.filter((field) => !field.optional).map((field) => field.name);
  if (required.length > 0) schema.required = required;
  schema.additionalProperties = false;
  return schema;
}

/** The schema of one field's value. */
export function fieldSchema(field) {
  const schema = { ...typed(field), ...bounds(field) };
  if (field.default !== undefined) schema.default = field.default;
  if (field.nullable) schema.nullable = true;
  if (field.secret) schema.writeOnly = true;
  if (field.doc) schema.description = documentation(field.doc);
  return schema;
}

function typed(field) {
  const types = (...names) => {
    const all = field.optional ? [...names, "null"] : names;
    return all.length === 1 ? all[0] : all;
  };
  const text = { type: "string", ...keywords(field, false) };
  switch (field.kind) {
    case "string_or_list":
      // An `enum` next to `"type": ["string", "array"]` would refuse every list.
      if (field.one_of) return { anyOf: [text, { type: "array", items: text }, ...(field.optional ? [{ type: "null" }] : [])] };
      return { type: types("string", "array"), ...keywords(field, false), items: text };
    case "list":
      return { type: types("array"), items: itemSchema(field) };
    case "entries":
      return { type: types("object"), ...entrySchemas(field) };
    case "members":
      return { type: types("object"), ...properties(field.members) };
    case "file":
      return { type: types("object"), ...FILE };
    case "object":
      if (!field.without?.length) return { type: types("object") };
      return {
        type: types("object"),
        properties: Object.fromEntries(field.without.map((name) => [name, false])),
        additionalProperties: true,
      };
    default:
      return { type: types(field.kind), ...(field.kind === "string" ? keywords(field, field.optional) : {}) };
  }
}

/** The members of a file, which files in answers have too. */
const FILE = {
  properties: {
    file_name: { type: "string", minLength: 1, maxLength: 255 },
    content_type: { type: ["string", "null"], maxLength: 255 },
    content_base64: { type: "string", contentEncoding: "base64" },
  },
  required: ["file_name", "content_base64"],
  additionalProperties: false,
};

function itemSchema({ item, ...field }) {
  if (item.kind === "file") return { type: "object", ...FILE };
  if (item.kind === "members") return { type: "object", ...properties(item.members) };
  return { type: item.kind, ...(item.kind === "string" ? keywords(field, false) : {}) };
}

function entrySchemas(field) {
  const scalar = ["string", "number", "boolean"];
  const schema = ({ values }) => {
    if (field.text) return { type: ["string", "null"] };
    return values ? { enum: [...values, null] } : { type: [...scalar, "array", "null"], items: { type: scalar } };
  };
  const described = ({ doc }) => (doc ? { description: documentation(doc) } : {});
  const found = field.entries.map((entry) => [entry.name, { ...schema(entry), ...described(entry) }]);
  return { properties: Object.fromEntries(found), additionalProperties: false };
}

function keywords({ one_of, pattern, format }, orNull) {
  return {
    ...(one_of && { enum: orNull ? [...one_of, null] : one_of }),
    ...(pattern && { pattern }),
    ...(format && { format }),
  };
}

/** The declared bounds, and the bounds of the place: a path has no empty segments. */
function bounds(field) {
  const atLeastOne = field.min ?? (field.in_path ? 1 : undefined);
  const found = {
    integer: { minimum: field.min, maximum: field.max },
    number: { minimum: field.min, maximum: field.max },
    string: { minLength: atLeastOne, maxLength: field.max ?? field.max_bytes },
    list: { minItems: atLeastOne, maxItems: field.max },
    string_or_list: { minLength: field.in_path ? 1 : undefined, minItems: atLeastOne, maxItems: field.max },
  }[field.kind];
  return Object.fromEntries(Object.entries(found ?? {}).filter(([, value]) => value !== undefined));
}

/** Documentation without the indentation that its lines share in the source. */
export function documentation(text) {
  const [first, ...others] = text.split("\n").map((line) => line.trimEnd());
  const indents = others.filter((line) => line !== "").map((line) => line.search(/\S/));
  const indent = Math.min(...indents);
  return [first.trim(), ...others.map((line) => line.slice(indent))].join("\n").trim();
}
