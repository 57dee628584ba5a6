// The rows of a table: an operation that is one request, or a function.

import { checkExample } from "./accept.js";
import { encode, encodeName } from "./encoding.js";
import { fieldSchema, isFile, named, schemaOf, string } from "./fields.js";
import { checkHeader } from "./header.js";
import { Mistake, checkFunction, only, within } from "./mistake.js";
import { integer as plainInteger, members as jsonMembers, items as jsonItems, scalar } from "./reader.js";
import { checkSentNames } from "./sent_names.js";
import { Setting } from "./thin.js";

const CLAUSES = [
  "doc", "fields", "example", "effect", "rate_limit", "pages", "answers", "answer_schema", "no_envelope", "background",
];
const OF_REQUESTS = ["check", "via", "form", "multipart", "fixed_body", "default_query", "default_query_unless"];
const EFFECTS = ["read", "write", "destructive"];

/** An operation before the table is known. */
class Row {
  constructor(action, clauses, known) {
    Object.assign(this, { action, clauses, known, declared: new Error() });
  }
}

const request = (method, effect) => (upstream, path, clauses = {}) =>
  new Row({ method, upstream, path, effect }, clauses, [...CLAUSES, ...OF_REQUESTS]);

export const get = request("get", "read");
export const head = request("head", "read");
export const post = request("post", "write");
export const put = request("put", "write");
export const patch = request("patch", "write");
export const del = request("delete", "destructive");

const call = (effect) => (run, clauses = {}) => new Row({ run, effect }, clauses, CLAUSES.filter((clause) => clause !== "effect"));

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
  if (!clauses.doc) throw new Mistake("say in `doc` what the operation does; the first paragraph is the summary");
  if (action.run !== undefined && typeof action.run !== "function") throw new Mistake("`read`, `write` and `destructive` take a function");
  checkFunction("the function", action.run);
  checkFunction("`check`", clauses.check);
  checkFunction("`via`", clauses.via);
  const effect = clauses.effect ?? action.effect;
  if (!EFFECTS.includes(effect)) throw new Mistake("an effect is `read`, `write` or `destructive`");
  if (clauses.rate_limit !== undefined && !(clauses.rate_limit in table.rateLimits)) throw new Mistake(`there is no rate limit \`${clauses.rate_limit}\``);
  const declared = named(clauses.fields ?? {});
  checkBackground(clauses, declared);
  const { fields, wire } = action.method ? requestOf(table, action, clauses, declared) : { fields: declared };
  if (clauses.example !== undefined) checkExample(fields, clauses.example);
  if (clauses.pages?.into !== undefined) checkInput(name, fields, clauses.pages.into);
  return { name, ...clauses, declared: row.declared, effect, fields, run: action.run, request: wire, via: clauses.via ?? table.via, schema: schemaOf(fields) };
}

/** The pointer of `pages` leads to a field, which takes the next page. */
function checkInput(owner, fields, pointer) {
  const [first, ...rest] = pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (first === undefined) throw new Mistake(`say in \`into\` which field takes the next page, as in \`/page\``);
  const field = fields.find((known) => known.name === first);
  if (field === undefined) throw new Mistake(`\`into\`: \`${owner}\` has no field \`${first}\``);
  if (field.kind === "members") return checkInput(first, field.members, ["", ...rest].join("/"));
  if (field.kind === "entries" && !field.entries.some((entry) => rest.length === 1 && entry.name === rest[0])) {
    throw new Mistake(rest.length === 1 ? `\`into\`: \`${first}\` has no entry \`${rest[0]}\`` : `say in \`into\` which entry takes the next page: \`/${first}/…\``);
  }
  if (rest.length > 0 && !["entries", "object"].includes(field.kind)) throw new Mistake(`\`into\`: \`${first}\` is not an object`);
}

/** The gateway reads the field by which callers wait. */
function checkBackground({ background }, fields) {
  if (!background || fields.some((field) => field.name === "waiting" && field.kind === "boolean")) return;
  throw new Mistake('a row with `background` has the field `"waiting?": boolean({ default: false })`, by which callers wait');
}

function requestOf(table, { method, upstream, path }, clauses, declared) {
  if (!table.upstreams.includes(upstream)) throw new Mistake(`there is no upstream \`${upstream}\``);
  const [template, fixedQuery = ""] = path.split(/\?(.*)/s);
  if (/[{}]/.test(fixedQuery)) throw new Mistake("the query in a path is fixed; declare the other parameters as fields");
  const names = [...template.matchAll(/\{([^{}]*)\}/g)].map((found) => found[1]).filter((name) => !name.startsWith("settings."));
  const implied = names.filter((name, index) => names.indexOf(name) === index && !declared.some((field) => field.name === name));
  const all = [...implied.flatMap((name) => named({ [name]: string() })), ...declared];
  const fields = all.map((field) => withLocation(field, method, names, clauses.multipart === true));
  if (!/^(\/(?!\/)|\{settings\.|$)/.test(template)) throw new Mistake("a path begins with one `/`");
  const wire = {
    method,
    upstream,
    path: pieces(template, table.settings, (name) => ({ field: fields.findIndex((field) => field.name === name) })),
    fixedQuery,
    fields: fields.map((field) => wireField(table, field)),
    defaultQuery: defaultQuery(clauses),
    headers: table.headers,
  };
  checkSentNames(wire.fields);
  wire.body = body(wire.fields, fields, clauses.fixed_body ?? {});
  wire.encoding = encodingOf(clauses);
  if (wire.encoding !== "json" && wire.body === undefined && !fields.some(isFile)) {
    throw new Mistake(`a row with \`${wire.encoding}\` has a field in its body, which is sent as a form`);
  }
  return { fields, wire };
}

/** How the body is written. */
function encodingOf({ form, multipart }) {
  if (form && multipart) throw new Mistake("a body is sent as a `form` or as `multipart`, which is a form with files; leave one out");
  return form ? "form" : multipart ? "multipart" : "json";
}

/**
 * A field with its part of the request: the declared part, else the part that follows from the
 * path, the type and the method.
 */
function withLocation(field, method, names, isMultipart) {
  const inTemplate = names.includes(field.name);
  const isEntries = field.kind === "entries";
  const byMethod = ["get", "head", "delete"].includes(method) ? "query" : "body";
  const byType = isEntries ? (field.name === "headers" ? "header" : "query") : byMethod;
  const location = field.in ?? (inTemplate ? "path" : byType);
  const refuse = (rule) => {
    throw new Mistake(`\`${field.name}\`: ${rule}`);
  };
  if (!["path", "query", "body", "header"].includes(location)) refuse("`in` is `path`, `query`, `body` or `header`");
  if (inTemplate !== (location === "path")) refuse(inTemplate ? "the path has this name, so the field is a part of it" : "the path has no such name");
  if (location === "path" && field.optional && !field.sent) refuse("the path needs it, so the field is not optional");
  if (field.assumed) refuse("`assumed` is for functions: every default of a request that is not `sent` is assumed by the service");
  const isObject = ["object", "members"].includes(field.item?.kind ?? field.kind);
  if (isObject && location !== "body") refuse("an object cannot be a part of a path, a parameter or a header");
  if (isEntries && !["query", "header"].includes(location)) refuse("entries become query parameters or headers");
  if (isFile(field) && (location !== "body" || !isMultipart)) refuse("a `file` is in the body of a row with `multipart`; a function can take one too");
  if (location === "header") {
    const names = isEntries ? field.entries.map((entry) => entry.name) : [field.as ?? field.name];
    for (const name of names) within(`header \`${name}\``, () => checkHeader(name));
  }
  const isWhole = field.name === "body" && ["object", "members"].includes(field.kind) && field.as === undefined && location === "body";
  if (field.nullable && (location !== "body" || !field.optional || isWhole)) refuse("`nullable` is for an optional member of the body of a request");
  return Object.assign(field, { location, isWhole, in_path: location === "path", text: isEntries && location === "header" });
}

/** The part of a field that the request depends on. */
function wireField(table, field) {
  const { name, location, kind } = field;
  const upstreamName = field.as ?? name;
  const byType = location === "body" ? {} : kind === "entries" && !field.text ? table.lists : { joined: "," };
  const declared = field.repeated ? { repeated: true } : field.joined !== undefined ? { joined: field.joined } : undefined;
  return {
    name,
    location: isFile(field) ? "file" : kind === "entries" ? `${location}-entries` : location,
    upstreamName,
    // A dotted name is a path inside the body. Annotations such as
    // `@microsoft.graph.conflictBehavior` are names as they are.
    isWhole: field.isWhole,
    bodyPath: upstreamName.startsWith("@") ? [upstreamName] : upstreamName.split("."),
    required: !field.optional,
    integer: (field.item?.kind ?? kind) === "integer",
    lists: declared ?? byType,
    maxBytes: field.max_bytes,
    default: field.sent ? JSON.stringify(field.default) : undefined,
    nullable: field.nullable === true,
    keepsSlashes: field.keeps_slashes === true,
    odataString: field.odata_string === true,
  };
}

function defaultQuery({ default_query = {}, default_query_unless = [] }) {
  return Object.entries(default_query).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return { parameter: `${encodeName(name)}=${encode(text, "$@")}`, unless: [name, ...default_query_unless] };
  });
}

function body(wire, fields, fixedBody) {
  const whole = fields.findIndex((field) => field.isWhole);
  const isMember = (field, index) => field.location === "body" && index !== whole && !isFile(field);
  const members = fields.flatMap((field, index) => (isMember(field, index) ? [[index, wire[index].bodyPath]] : []));
  const fixed = Object.entries(fixedBody).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  if (whole >= 0) {
    if (members.length > 0 || fixed.length > 0) throw new Mistake("`body` is the whole request body, so there are no other members");
    return { whole };
  }
  if (members.length === 0 && fixed.length === 0) return undefined;
  return { fixed: fixed.join(","), members: grouped(members, 0).map(([index]) => index) };
}

/** Groups the fields of one inner object, and otherwise keeps the order. */
function grouped(members, depth) {
  const groups = [];
  for (const member of members) {
    const same = ([[, path]]) => path[depth] === member[1][depth] && path.length > depth + 1;
    const found = groups.find(same);
    if (found) found.push(member);
    else groups.push([member]);
  }
  return groups.flatMap((group) => (group.length > 1 ? grouped(group, depth + 1) : group));
}

/** Splits `/a/{b}` at its names. */
export function pieces(template, settings, field) {
  const found = template.split(/\{([^{}]*)\}/).map((text, index) => {
    if (index % 2 === 0) {
      if (/[{}]/.test(text)) throw new Mistake("a brace in a path or a header is not closed");
      return { text };
    }
    if (!text.startsWith("settings.")) return field(text);
    const name = text.slice("settings.".length);
    if (!(name in settings)) throw new Mistake(`there is no setting \`${name}\``);
    return { setting: settings[name] };
  });
  return found.filter((piece) => piece.text !== "");
}

/** The settings of a table by their names, and their part of the manifest. */
export function settingsOf(declared) {
  const found = {};
  const manifest = Object.entries(declared).map(([name, field]) => {
    // `named` refuses defaults of fields without `?`; the operator may always leave a setting out.
    const [setting] = named({ [`${name}?`]: field });
    if (!setting.doc) throw new Mistake(`say in \`doc\` of the setting \`${name}\` what the operator sets with it`);
    const { default: value, doc, ...type } = setting;
    const text = value === undefined ? undefined : JSON.stringify(value);
    found[name] = new Setting(name, text);
    return { name, schema: JSON.stringify(fieldSchema({ ...type, optional: false })), default: text, documentation: doc };
  });
  return { settings: found, manifest };
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
    case "integer":
      return Number(plainInteger(text) ?? text);
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
