// `connector({…})`: a table becomes the manifest of a connector, and runs its operations.

import { checkUrl, partsOf } from "./address.js";
import { additionsOf } from "./auth_additions.js";
import { headerOf } from "./declared_rows.js";
import { Fault } from "./fault.js";
import { documentation, plainField } from "./fields.js";
import { host, payload } from "./host.js";
import { Request } from "./http.js";
import { Mistake, checkFunction, only, within } from "./mistake.js";
import { scalar } from "./reader.js";
import { operation, readInput, settingsOf } from "./rows.js";
import { ROLES, eventsOf, runRole } from "./triggers.js";

const STATEMENTS = [
  "identifier", "version", "title", "doc", "license", "homepage", "author", "icon", "auth", "auth_additions", "upstreams", "address", "rate_limits",
  "settings", "headers", "lists", "via", "inboxes", "triggers", "answer_examples", "operations",
];
const UPSTREAM = ["url", "credential", "links", "pacing", "site"];
const PAGES = ["items", "cursor", "link", "parameter", "page_number", "offset", "last", "while", "into"];
const SECONDS = { second: 1, minute: 60, hour: 3600, day: 86_400 };

/** Declares a connector. The module of a connector exports the table as its default. */
export function connector(statements) {
  only(statements, STATEMENTS, "a table");
  return new Table(statements);
}

/** The connector of a table. */
export class Table {
  #headers;
  #operations = new Map();
  #settings;
  /** The settings as fields. */
  #fields;
  /** An error that was made where the author wrote the table, for its place. */
  declared = new Error();

  constructor(statements) {
    const { identifier, version, title, auth, upstreams = {}, rate_limits = {}, lists } = statements;
    for (const [word, value] of Object.entries({ identifier, version, title, auth })) {
      if (value === undefined) throw new Mistake(`a table has \`${word}\``);
    }
    if (!/^(?!.*__)(?!.*_$)[a-z][a-z0-9_]{0,63}$/.test(identifier)) {
      throw new Mistake("an identifier is 1 to 64 of `a-z`, `0-9` and `_`, begins with a letter, has no `__` and does not end with `_`");
    }
    const { settings, manifest: settingsManifest, fields } = settingsOf(statements.settings ?? {});
    this.#settings = settings;
    this.#fields = fields;
    this.#headers = Object.entries(statements.headers ?? {}).map(([name, header]) => headerOf(name, header));
    checkFunction("`via`", statements.via);
    const table = {
      rateLimits: rate_limits,
      headers: this.#headers,
      lists: lists === "repeated" ? { tag: "repeated" } : { tag: "joined", val: lists?.joined ?? "," },
      via: statements.via,
    };
    for (const [name, row] of Object.entries(statements.operations ?? {})) {
      this.#operations.set(name, within(`operation \`${name}\``, () => operation(table, name, row), row?.declared));
    }
    const answers = statements.answer_examples ?? {};
    for (const name of Object.keys(answers)) {
      if (!this.#operations.has(name)) throw new Mistake(`\`answer_examples\` has \`${name}\`, which is no operation of the table`);
    }
    if (this.#operations.size === 0) throw new Mistake("a connector has at least one operation");
    /** The declarations that the component makes before it returns the manifest. */
    this.authAdditions = additionsOf(statements.auth_additions, auth, Object.keys(upstreams));
    const parts = partsOf(statements.address ?? {}, upstreams);
    /** What the manifest has no place for, in the form of the contract. */
    this.additions = {
      parts,
      sites: Object.entries(upstreams).flatMap(([name, { site }]) => (site === undefined ? [] : [[name, site]])),
    };
    /** The inboxes and types of events, in the form of the contract. */
    this.events = eventsOf(statements);
    for (const { name, role, declared } of this.#operations.values()) {
      within(`operation \`${name}\``, () => checkNamed(this.events.triggers, name, role), declared);
    }
    const first = auth.tag === "none" ? "none" : "standard";
    /** The manifest, in the form of the contract. */
    this.manifest = {
      identifier,
      version,
      title,
      description: documentation(statements.doc ?? ""),
      imprint: { license: statements.license ?? "", homepage: statements.homepage, author: statements.author, icon: statements.icon },
      auth,
      upstreams: Object.entries(upstreams).map(([name, found], index) =>
        within(`upstream \`${name}\``, () => upstreamOf(name, found, index === 0 ? first : "none", parts)),
      ),
      rateLimits: Object.entries(rate_limits).map(([name, rate]) => rateLimitOf(name, rate)),
      settings: settingsManifest,
      operations: [...this.#operations.values()].map((found) =>
        within(`operation \`${found.name}\``, () => operationOf(found, answers[found.name]), found.declared),
      ),
    };
  }

  /** The operations that are one request, each with its row. */
  rows() {
    return this.#requests().filter(isSent).map(({ name, request }) => [name, request]);
  }

  /** The operations with `check` or `via`, each with the row of its request. */
  requests() {
    return this.#requests().filter((found) => !isSent(found)).map(({ name, request }) => [name, request]);
  }

  #requests() {
    return [...this.#operations.values()].filter(({ request }) => request);
  }

  /** All that the rules of rows, of types, and of examples, are about. */
  declarations() {
    return {
      upstreams: this.manifest.upstreams.map(({ name }) => name),
      settings: this.manifest.settings.map(({ name, schema }) => [name, JSON.parse(schema)]),
      headers: this.#headers,
      rows: this.#requests().map(({ name, request, schema, effect, declared }) => ({ operation: name, row: request, input: schema, effect, declared })),
      fields: [
        ...[...this.#operations.values()].map(({ name, fields, pages, background, declared }) => {
          return { operation: name, fields: fields.map(plainField), into: pages?.into, background, declared };
        }),
        { operation: null, fields: this.#fields.map(plainField), declared: this.declared },
      ],
      examples: [...this.#operations.values()]
        .filter(({ example }) => example !== undefined)
        .map(({ name, fields, example, declared }) => ({ operation: name, fields: fields.map(plainField), example, declared })),
      events: this.#eventDeclarations(),
    };
  }

  /** All that the rules of inboxes and types of events are about. `undefined` if there are none. */
  #eventDeclarations() {
    const { inboxes, triggers } = this.events;
    if (inboxes.length + triggers.length === 0) return undefined;
    const { auth, operations } = this.manifest;
    return {
      has_oauth2: auth.tag === "oauth2",
      identity: auth.tag === "oauth2" ? auth.val.identity?.operation : auth.val?.check,
      operations: operations.map(({ path, envelope, background, pagination, answer }) => {
        return { path, envelope, background, paged: pagination !== undefined, answers_json: answer === "json" };
      }),
      inboxes,
      triggers,
    };
  }

  /** The operations whose next page is found from the last item of a page, each with the pointer that tells the last page. */
  lastItems() {
    const found = [...this.#operations.values()].filter(({ pages }) => pages?.last !== undefined);
    return found.map(({ name, pages }) => [name, pages.while]);
  }

  /** The functions that take the fields of a row, for the build. */
  functions() {
    return [...this.#operations.values()].flatMap(({ name, role, run, check, fields, declared }) => {
      const row = { name, fields: role ? ROLES[role].members : fields.map((field) => field.name), declared };
      const functions = [["the function", run], ["`check`", check]].filter(([, run]) => run !== undefined);
      return functions.map(([what, run]) => ({ ...row, what, run }));
    });
  }

  /**
   * Runs an operation on an input, which is JSON text, and returns what its function returns, or
   * its request.
   */
  run(name, input) {
    const found = this.#operations.get(name);
    if (found === undefined) throw Fault.failed(`${this.manifest.identifier} has no operation ${name}`);
    if (found.role) return runRole(found.role, found.run, input);
    if (found.run) return found.run(readInput(found.fields, input));
    found.check?.(readInput(found.fields, input));
    const request = this.#made(found.request, input);
    return found.via ? found.via(request) : request;
  }

  /** The request of a row. The gateway knows the row and the input, and a test needs both. */
  #made(row, input) {
    try {
      return Request.ofContract(host().makeRequest(row, input, this.#settings));
    } catch (error) {
      const { tag, val } = payload(error);
      throw new Fault(tag, val, tag === "invalid-input" ? val[0].detail : val);
    }
  }

  /**
   * A request of a function with the headers that the table gives to its rows. Headers with `when`
   * are left out.
   */
  request(method, upstream, path) {
    const request = new Request(method.toLowerCase(), upstream, path);
    request.headers = this.#headers.filter(({ when }) => when.length === 0).flatMap((header) => this.#pair(header));
    return request;
  }

  /** Name and value of a header. Empty if a setting in the value has no value. */
  #pair({ name, value }) {
    const texts = value.split(/\{settings\.([^{}]*)\}/).map((text, index) => (index % 2 === 0 ? text : this.#text(text)));
    return texts.includes(undefined) ? [] : [[name, texts.join("")]];
  }

  #text(setting) {
    const json = this.#settings[setting]?.json();
    return json === undefined ? undefined : scalar(json);
  }

  /** The operator's value of a setting, or its default; `undefined` if there is neither. */
  setting(name) {
    if (!(name in this.#settings)) throw new Mistake(`there is no setting \`${name}\``);
    const text = this.#settings[name].json();
    return text === undefined ? undefined : JSON.parse(text);
  }
}

/** Returns `true` if the gateway sends the request of an operation itself. */
function isSent({ check, via }) {
  return check === undefined && via === undefined;
}

/** An operation that a trigger names has the row `internal`, and no other operation has it. */
function checkNamed(triggers, name, role) {
  const named = Object.keys(ROLES).filter((known) => triggers.some((trigger) => trigger[known] === name));
  if (role !== undefined && named.length === 0) throw new Mistake("a row with `internal` is for a trigger; name it in `triggers`");
  for (const known of named) {
    if (role !== known) throw new Mistake(`a trigger names it as \`${known}\`; write \`internal("${known}", …)\``);
  }
}

function upstreamOf(name, declared, byDefault, parts) {
  const upstream = typeof declared === "string" ? { url: declared } : declared;
  only(upstream, UPSTREAM, "an upstream");
  const { url, credential = byDefault, links = [], pacing, site } = upstream;
  if (url.endsWith("/")) throw new Mistake("a base URL has no `/` at its end: paths begin with one");
  checkUrl(url, site, parts);
  return {
    name,
    baseUrl: url,
    credential: credential.replace("_", "-"),
    linkHosts: links,
    pacing: pacing && { intervalMs: pacing.interval_ms, concurrency: pacing.concurrency, maxWaitMs: pacing.max_wait_ms },
  };
}

/** `300 per minute`, `300 per 15 minutes` */
function rateLimitOf(name, rate) {
  const [, requests, count = "1", unit] = /^([1-9]\d*) per (?:([1-9]\d*) )?(second|minute|hour|day)s?$/.exec(rate) ?? [];
  if (requests === undefined) throw new Mistake(`rate limit \`${name}\`: write a rate such as \`300 per minute\` or \`300 per 15 minutes\``);
  return { name, requests: Number(requests), periodSeconds: Number(count) * SECONDS[unit] };
}

function operationOf(row, answerExample) {
  const [summary, ...paragraphs] = documentation(row.doc).split("\n\n");
  const text = (value) => (value === undefined ? undefined : JSON.stringify(value));
  return {
    path: row.name,
    summary: summary.replaceAll("\n", " ").replace(/\.$/, ""),
    description: paragraphs.join("\n\n").trim(),
    inputSchema: JSON.stringify(row.schema),
    example: text(row.example),
    envelope: row.no_envelope !== true,
    effect: row.effect,
    answer: row.answers ?? "json",
    answerSchema: text(row.answer_schema),
    answerExample: text(answerExample),
    pagination: row.pages && paginationOf(row.pages),
    background: row.background === true,
    immediate: row.request !== undefined && row.via === undefined,
    rateLimit: row.rate_limit,
  };
}

function paginationOf(pages) {
  only(pages, PAGES, "`pages`");
  const { items, cursor, link, parameter, page_number, offset, last, while: more, into } = pages;
  if (items === undefined || into === undefined) throw new Mistake("`pages` has `items` and `into`, which are JSON Pointers");
  if (more !== undefined && last === undefined) throw new Mistake("`while` in `pages` is for `last`");
  if (more !== undefined && !/^\//.test(more)) throw new Mistake("`while` in `pages` is a JSON Pointer to a boolean of the answer, such as `/has_more`");
  const next = () => {
    if (cursor !== undefined) return { tag: "cursor", val: cursor };
    if (link !== undefined) return { tag: "link", val: { pointer: link, parameter } };
    if (page_number !== undefined) return { tag: "page-number", val: page_number };
    if (offset) return { tag: "offset" };
    // `page-additions` says that the pointer leads from the last item.
    if (last !== undefined) return { tag: "cursor", val: last };
    throw new Mistake("`pages` says how the next page is found: `cursor`, `link` with `parameter`, `page_number`, `offset: true` or `last`");
  };
  return { items, next: next(), input: into };
}
