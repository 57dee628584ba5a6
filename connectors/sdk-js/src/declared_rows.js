// The row of an operation as the contract has it (`row-additions`), from the words of a table. The
// rules of rows, and the requests that follow from them, are in the crate `rows` alone.

import { encode, encodeName } from "./encoding.js";
import { isFile } from "./fields.js";
import { Mistake } from "./mistake.js";

/** The clauses that say what a row sends. */
export const ROW_CLAUSES = ["form", "multipart", "fixed_body", "default_query", "default_query_unless"];

/** The row of a request. `fields` have their places, and `table` has the headers of all rows. */
export function declarationOf(table, { method, upstream, path }, fields, clauses) {
  const { fixed_body = {}, form, multipart } = clauses;
  if (form && multipart) throw new Mistake("a body is sent as a `form` or as `multipart`, which is a form with files; leave one out");
  return {
    method,
    upstream,
    path,
    fields: fields.map((field) => fieldOf(table, field)),
    defaultQuery: defaultQuery(clauses),
    headers: table.headers,
    fixedBody: Object.keys(fixed_body).length > 0 ? JSON.stringify(fixed_body) : undefined,
    encoding: form ? "form" : multipart ? "multipart" : "json",
  };
}

/** A header of the table. `when` has names of parameters, or names with a value that does not count. */
export function headerOf(name, header) {
  const { value, when = [] } = typeof header === "string" ? { value: header } : header;
  const trigger = (found) => (typeof found === "string" ? { parameter: found, unless: undefined } : { parameter: found.name, unless: found.unless });
  return { name, value, when: when.map(trigger) };
}

function fieldOf(table, field) {
  const { name, kind, item, optional, max_bytes, nullable = false } = field;
  return {
    name,
    location: locationOf(field),
    required: !optional,
    integer: (item?.kind ?? kind) === "integer",
    lists: listsOf(table, field),
    maxBytes: max_bytes,
    default: field.sent ? JSON.stringify(field.default) : undefined,
    nullable,
  };
}

function locationOf(field) {
  const { location, keeps_slashes, odata_string } = field;
  const name = field.as ?? field.name;
  if (field.kind === "entries") return { tag: `${location}-entries` };
  if (location === "path") return { tag: "path", val: keeps_slashes ? "path" : odata_string ? "odata-string" : "segment" };
  if (location !== "body") return { tag: location, val: name };
  if (isFile(field)) return { tag: "file", val: name };
  const isObject = field.kind === "object" || field.kind === "members";
  if (field.name === "body" && field.as === undefined && isObject) return { tag: "whole-body" };
  // A dotted name is a path inside the body. Annotations such as `@microsoft.graph.conflictBehavior`
  // are names as they are.
  return { tag: "body", val: name.startsWith("@") ? [name] : name.split(".") };
}

function listsOf(table, { kind, text, location, joined, repeated }) {
  if (repeated) return { tag: "repeated" };
  if (joined !== undefined) return { tag: "joined", val: joined };
  if (location === "body") return { tag: "as-they-are" };
  return kind === "entries" && !text ? table.lists : { tag: "joined", val: "," };
}

function defaultQuery({ default_query = {}, default_query_unless = [] }) {
  return Object.entries(default_query).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return { parameter: `${encodeName(name)}=${encode(text, "$@")}`, unless: [name, ...default_query_unless] };
  });
}
