// The rows of a table: an operation that is one request, or a function.

import { ROW_CLAUSES, declarationOf } from "./declared_rows.js";
import { fieldSchema, isOfRow, named, schemaOf, string } from "./fields.js";
import { host } from "./host.js";
import { Mistake, checkFunction, only } from "./mistake.js";
import { members as jsonMembers, items as jsonItems, scalar } from "./reader.js";
import { ROLES, inputSchema } from "./triggers.js";

const CLAUSES = [
  "doc", "fields", "example", "effect", "rate_limit", "pages", "answers", "answer_schema", "no_envelope", "background",
];
const FUNCTIONS = ["check", "via"];
const EFFECTS = ["read", "write", "destructive"];

/** An operation before the table is known. */
class Row {
  constructor(action, clauses, known) {
    Object.assign(this, { action, clauses, known, declared: new Error() });
  }
}

const request = (method, effect) => (upstream, path, clauses = {}) =>
  new Row({ method, upstream, path, effect }, clauses, [...CLAUSES, ...FUNCTIONS, ...ROW_CLAUSES]);

export const get = request("get", "read");
export const head = request("head", "read");
export const post = request("post", "write");
export const put = request("put", "write");
export const patch = request("patch", "write");
export const del = request("delete", "destructive");

const call = (effect) => (run, clauses = {}) => new Row({ run, effect }, clauses, CLAUSES.filter((clause) => clause !== "effect"));

/** An operation that a trigger names, and that callers cannot run. */
export function internal(role, run, clauses = {}) {
  if (!Object.hasOwn(ROLES, role)) throw new Mistake(`\`internal\` has a role: ${Object.keys(ROLES).map((name) => `"${name}"`).join(", ")}`);
  return new Row({ run, role, effect: ["read", "identify"].includes(role) ? "read" : "write" }, clauses, ["doc", "rate_limit"]);
}

export const read = call("read");
export const write = call("write");
export const destructive = call("destructive");

/**
 * An operation of a table: its clauses, its fields with their places, and its request if it has
 * one.
 */
export function operation(table, name, row) {
  if (!(row instanceof Row)) throw new Mistake('write a row such as `get("api", "/path")` or `read(run)`');
  const { action, clauses, known } = row;
  only(clauses, known, "a row");
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) throw new Mistake("the path of an operation is 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`");
  const { role } = action;
  if (!clauses.doc && role === undefined) throw new Mistake("say in `doc` what the operation does; the first paragraph is the summary");
  if (action.run !== undefined && typeof action.run !== "function") throw new Mistake("`read`, `write`, `destructive` and `internal` take a function");
  checkFunction("the function", action.run);
  checkFunction("`check`", clauses.check);
  checkFunction("`via`", clauses.via);
  const effect = clauses.effect ?? action.effect;
  if (!EFFECTS.includes(effect)) throw new Mistake("an effect is `read`, `write` or `destructive`");
  if (clauses.rate_limit !== undefined && !(clauses.rate_limit in table.rateLimits)) throw new Mistake(`there is no rate limit \`${clauses.rate_limit}\``);
  if (role !== undefined) {
    const doc = clauses.doc ?? ROLES[role].summary;
    return { name, ...clauses, doc, no_envelope: true, declared: row.declared, effect, fields: [], role, run: action.run, schema: inputSchema(role) };
  }
  const declared = named(clauses.fields ?? {});
  const fields = action.method ? fieldsOf(action, declared) : declared;
  const request = action.method ? declarationOf(table, action, fields, clauses) : undefined;
  return { name, ...clauses, declared: row.declared, effect, fields, run: action.run, request, via: clauses.via ?? table.via, schema: schemaOf(fields) };
}

/** The declared fields, and those that the path implies, with their places. */
function fieldsOf({ method, path }, declared) {
  const [template] = path.split("?");
  const names = [...template.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name).filter((name) => !name.startsWith("settings."));
  const implied = names.filter((name, index) => names.indexOf(name) === index && !declared.some((field) => field.name === name));
  return [...implied.flatMap((name) => named({ [name]: string() })), ...declared].map((field) => placed(field, method, names));
}

/**
 * A field with its part of the request: the declared part, else the part that follows from the
 * path, the type and the method.
 */
function placed(field, method, names) {
  const isEntries = field.kind === "entries";
  const byMethod = ["get", "head", "delete"].includes(method) ? "query" : "body";
  const byType = isEntries ? (field.name === "headers" ? "header" : "query") : byMethod;
  const location = field.in ?? (names.includes(field.name) ? "path" : byType);
  const refuse = (rule) => {
    throw new Mistake(`\`${field.name}\`: ${rule}`);
  };
  if (!["path", "query", "body", "header"].includes(location)) refuse("`in` is `path`, `query`, `body` or `header`");
  if (field.assumed) refuse("`assumed` is for functions: every default of a request that is not `sent` is assumed by the service");
  if (isEntries && !["query", "header"].includes(location)) refuse("entries become query parameters or headers");
  return Object.assign(field, { location, in_path: location === "path", text: isEntries && location === "header" });
}

/** A setting of the table. */
class Setting {
  constructor(name, defaultText) {
    Object.assign(this, { name, defaultText });
  }

  /** Its value as JSON text; `undefined` if there is neither a value nor a default. */
  json() {
    return host().config.get(this.name) ?? this.defaultText;
  }
}

/** The settings of a table by their names, their part of the manifest, and their fields. */
export function settingsOf(declared) {
  const found = {};
  const fields = [];
  const manifest = Object.entries(declared).map(([name, field]) => {
    // `named` refuses defaults of fields without `?`; the operator may always leave a setting out.
    const [setting] = named({ [`${name}?`]: field });
    if (!setting.doc) throw new Mistake(`say in \`doc\` of the setting \`${name}\` what the operator sets with it`);
    if (isOfRow(setting)) throw new Mistake(`setting \`${name}\`: this modifier is for fields of a row`);
    fields.push(setting);
    const { default: value, doc, ...type } = setting;
    const text = value === undefined ? undefined : JSON.stringify(value);
    found[name] = new Setting(name, text);
    return { name, schema: JSON.stringify(fieldSchema({ ...type, optional: false })), default: text, documentation: doc };
  });
  return { settings: found, manifest, fields };
}

/**
 * The input of a function: a JavaScript value for each field. Absent fields have their defaults.
 */
export function readInput(fields, text) {
  const given = new Map(jsonMembers(text).map(({ name, value }) => [name, value]));
  const input = {};
  for (const field of fields) {
    const value = given.get(field.name);
    if (value !== undefined && value !== "null") input[field.name] = valueOf(field, value);
    else if (field.default !== undefined && !field.assumed) input[field.name] = structuredCopy(field.default);
  }
  return input;
}

function valueOf(field, text) {
  switch (field.kind) {
    case "string_or_list":
      return [JSON.parse(text)].flat();
    case "entries":
      return Object.fromEntries(
        jsonMembers(text)
          .filter(({ value }) => value !== "null")
          .map(({ name, value }) => [name, (jsonItems(value) ?? [value]).map(scalar)]),
      );
    default:
      return JSON.parse(text);
  }
}

function structuredCopy(value) {
  return JSON.parse(JSON.stringify(value));
}
