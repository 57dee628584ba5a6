// The request of a row: it follows from the input, which is JSON text, and from the row's
// description.

import { encode, encodeName, hasDotSegment } from "./encoding.js";
import { pairs } from "./form.js";
import { host } from "./host.js";
import { DOT_SEGMENT, EMPTY_SEGMENT, Request } from "./http.js";
import { rowBody } from "./multipart.js";
import { Fault } from "./outcome.js";
import * as reader from "./reader.js";

/** The request of a row for an input. */
export function rowRequest(row, input) {
  const values = new Values(row, input);
  values.check();
  const request = new Request(row.method, row.upstream, "");
  const query = new Query(values.path());
  values.query(query);
  request.path = query.path;
  request.headers = values.headers(query);
  request.body = values.encoded(values.body());
  return request;
}

class Values {
  constructor(row, input) {
    this.row = row;
    this.given = new Map((reader.members(input) ?? []).map(({ name, value }) => [name, value]));
  }

  /** The JSON text of a field's value, or of its default. */
  get(field) {
    const given = this.given.get(field.name);
    return given === undefined || (given === "null" && !field.nullable) ? field.default : given;
  }

  /** Sizes in bytes, which the schema cannot limit, and required fields. */
  check() {
    for (const field of this.row.fields) {
      const value = this.get(field);
      if (value === undefined) {
        if (field.required) throw refuse(field, "Give a value: the operation needs it.");
      } else if (field.maxBytes !== undefined && reader.utf8Length(value) > field.maxBytes) {
        const length = reader.utf8Length(reader.scalar(value) ?? reader.compact(value));
        if (length > field.maxBytes) throw refuse(field, `Give at most ${field.maxBytes} bytes; these are ${length}.`);
      }
    }
  }

  path() {
    let path = "";
    for (const piece of this.row.path) {
      if (piece.text !== undefined) {
        path += piece.text;
      } else if (piece.setting) {
        const value = piece.setting.text();
        if (value === undefined) {
          throw Fault.failed(`The operation needs the setting \`${piece.setting.name}\` of this connector, which the operator has not set.`);
        }
        path += value;
      } else {
        const field = this.row.fields[piece.field];
        const value = this.get(field);
        if (value === undefined) continue;
        const text = pathValue(field, value, path.endsWith("/"));
        if (text === "") throw refuse(field, EMPTY_SEGMENT);
        path += text;
      }
    }
    // Only a value with a dot, encoded or not, can make a dot segment: the table's own text was
    // checked.
    const suspects = this.row.fields.filter((field) => field.location === "path" && /[.\\%]/.test(this.get(field) ?? ""));
    if (suspects.length > 0 && hasDotSegment(path)) {
      const climbs = (field) => hasDotSegment(reader.scalar(this.get(field)) ?? "");
      throw refuse(suspects.find(climbs) ?? suspects[0], DOT_SEGMENT);
    }
    return path;
  }

  query(query) {
    if (this.row.fixedQuery !== "") query.raw(this.row.fixedQuery);
    for (const field of this.row.fields) {
      const value = this.get(field);
      if (value === undefined) continue;
      if (field.location === "query") query.parameter(field.upstreamName, value, field);
      if (field.location === "query-entries") {
        for (const entry of reader.members(value)) {
          if (entry.value !== "null") query.parameter(entry.name, entry.value, field);
        }
      }
    }
    for (const { parameter, unless } of this.row.defaultQuery) {
      if (!unless.some((name) => query.given.has(name))) query.raw(parameter);
    }
  }

  headers(query) {
    const headers = [];
    for (const header of this.row.headers) {
      const counts = ({ name, unless }) => query.given.has(name) && !(unless !== undefined && reader.scalar(query.given.get(name)) === unless);
      if (header.when.length === 0 || header.when.some(counts)) headers.push(...headerPair(header));
    }
    for (const field of this.row.fields) {
      const value = this.get(field);
      if (value === undefined) continue;
      if (field.location === "header") headers.push([field.upstreamName, headerValue(field, value)]);
      if (field.location === "header-entries") {
        for (const entry of reader.members(value)) {
          if (entry.value !== "null") headers.push([entry.name, headerValue(field, entry.value)]);
        }
      }
    }
    return headers;
  }

  body() {
    const { whole, members, fixed } = this.row.body ?? {};
    if (whole !== undefined) {
      const field = this.row.fields[whole];
      const value = this.get(field);
      return value === undefined ? undefined : asSent(field, value);
    }
    return members ? this.members(fixed, members) : undefined;
  }

  /** The body in the form of the contract, from its JSON text. */
  encoded(json) {
    if (this.row.encoding === "multipart") return rowBody(this.row, (field) => this.get(field), json ?? "{}");
    if (json === undefined) return undefined;
    return this.row.encoding === "form" ? { tag: "form", val: pairs(json) } : { tag: "json", val: json };
  }

  /** An object of the given fields. Fields of one inner object follow one another. */
  members(fixed, indices) {
    let json = `{${fixed}`;
    let open = [];
    const name = (text) => {
      if (!json.endsWith("{")) json += ",";
      json += `${JSON.stringify(text)}:`;
    };
    for (const index of indices) {
      const field = this.row.fields[index];
      const value = this.get(field);
      if (value === undefined) continue;
      const outer = field.bodyPath.slice(0, -1);
      let common = 0;
      while (common < open.length && open[common] === outer[common]) common += 1;
      json += "}".repeat(open.length - common);
      for (const segment of outer.slice(common)) {
        name(segment);
        json += "{";
      }
      open = outer;
      name(field.bodyPath.at(-1));
      const joins = field.lists.joined !== undefined && value.startsWith("[");
      // The caller may write an integer as `1.0`, which is a text of its own in a form.
      const isPlain = this.row.encoding !== "json" && field.integer && !value.startsWith("[") && value !== "null";
      if (joins) json += JSON.stringify(reader.items(value).map((item) => text(field, item)).join(field.lists.joined));
      else json += isPlain ? text(field, value) : asSent(field, value);
    }
    return `${json}${"}".repeat(open.length)}}`;
  }
}

/** The path, and the part of the query that is already written. */
class Query {
  given = new Map();
  #separator = "?";

  constructor(path) {
    this.path = path;
  }

  raw(parameters) {
    this.path += this.#separator + parameters;
    this.#separator = "&";
  }

  parameter(name, value, field) {
    if (!this.given.has(name)) this.given.set(name, value);
    const encodedName = encodeName(name);
    if (!value.startsWith("[")) return this.raw(`${encodedName}=${encode(text(field, value))}`);
    const items = reader.items(value);
    if (items.length === 0) return;
    if (field.lists.joined !== undefined) return this.raw(`${encodedName}=${joined(field, items)}`);
    for (const item of items) this.raw(`${encodedName}=${encode(text(field, item))}`);
  }
}

function pathValue(field, value, afterSlash) {
  if (field.lists.joined !== undefined && value.startsWith("[")) return joined(field, reader.items(value));
  const plain = text(field, value);
  if (field.keepsSlashes) return encode(afterSlash && plain.startsWith("/") ? plain.slice(1) : plain, "/");
  if (field.odataString) return encode(plain.replaceAll("'", "''"), "'");
  return encode(plain);
}

/** Commas between items are not encoded. Commas inside an item are percent-encoded. */
function joined(field, items) {
  return items.map((item) => encode(text(field, item))).join(encode(field.lists.joined, ","));
}

/** A scalar as text: a string without its quotes, any other scalar as the caller wrote it. */
function text(field, value) {
  const found = reader.scalar(value);
  if (found === undefined) throw refuse(field, "Give a string, a number or a boolean here.");
  return field.integer ? (reader.integer(found) ?? found) : found;
}

function headerValue(field, value) {
  const found = text(field, value);
  if (/[\r\n\0]/.test(found)) throw refuse(field, "Give a value without line breaks: it is sent as a header.");
  return found;
}

/** Name and value of a header of the table. Empty if a setting in the value has no value. */
export function headerPair({ name, value }) {
  const parts = value.map((piece) => piece.text ?? piece.setting.text());
  return parts.includes(undefined) ? [] : [[name, parts.join("")]];
}

/** An object that fits its limit only in its compact form is sent in this form. */
function asSent({ maxBytes }, value) {
  const isLong = maxBytes !== undefined && reader.utf8Length(value) > maxBytes;
  return isLong && /^[[{]/.test(value) ? reader.compact(value) : value;
}

function refuse(field, detail) {
  return Fault.invalidInput(`/${field.name}`, detail);
}

/** A setting of the table, for paths and headers. */
export class Setting {
  constructor(name, defaultText) {
    Object.assign(this, { name, defaultText });
  }

  /** Its value as JSON text; `undefined` if there is neither a value nor a default. */
  json() {
    return host().config.get(this.name) ?? this.defaultText;
  }

  text() {
    const json = this.json();
    const found = json === undefined ? undefined : reader.scalar(json);
    if (json !== undefined && found === undefined) {
      throw Fault.failed(`The setting \`${this.name}\` of this connector is ${json}, which is not of the declared type.`);
    }
    return found;
  }
}
