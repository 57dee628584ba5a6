// Tests of connectors without a gateway: `new Gateway()` is a stand-in for it. It returns the
// responses that the test has prepared, and records the requests.

import { readFileSync } from "node:fs";

import { Fault } from "./fault.js";
import { setHost } from "./host.js";
import { HttpError } from "./http.js";
import { items, members, scalar } from "./reader.js";
import { Recording } from "./recording.js";
import { brokenRule, checkRows, nextOf, requestOf } from "./row_module.js";

/** A response of a service. A body that is not text is written as JSON. */
export function answer(status, body = "", headers = {}) {
  return { status, headers, body: typeof body === "string" ? body : JSON.stringify(body) };
}

/**
 * Runs the operation of a recording, answers its requests from the recording, and checks that it
 * sends the recorded requests and ends as recorded. The content of a file is not compared. For a
 * recorded problem, it only checks that the operation fails. Throws an error with the differences.
 */
export function replay(table, file) {
  try {
    const recording = new Recording(readFileSync(file, "utf8"));
    const { identifier, operations } = table.manifest;
    if (!operations.some(({ path }) => path === recording.operation)) {
      throw new Error(`${identifier} has no operation ${recording.operation}; delete the recording, or name another operation in it`);
    }
    const gateway = new Gateway(recording);
    recording.compare(
      () => gateway.invoke(table, recording.operation, recording.input),
      (request) => gateway.parts(request),
    );
  } catch (error) {
    throw new Error(`${file}: ${error.message}`, { cause: error });
  }
}

/** The tables whose rows have been checked. */
const checked = new WeakSet();

/** The gateway that the code under test calls, until the next one is made. */
export class Gateway {
  /** The requests sent so far, in the form of the contract. */
  requests = [];
  /** The stored values, as bytes. */
  stored = new Map();
  /** The lines of the log: `[level, message]`. */
  logged = [];
  /** The reports of progress: `[fraction, message]`. */
  reported = [];
  #answers = [];
  #settings = new Map();
  #now = 0;
  #multiparts = new Map();
  #recording;

  /** A recording, which replaces the prepared responses. */
  constructor(recording) {
    this.#recording = recording;
    for (const [name, json] of recording?.settings ?? []) this.#settings.set(name, json);
    setHost({
      http: { send: (request) => this.#send(request), sendAll: (requests) => requests.map((request) => this.#result(request)) },
      Document: StandInDocument,
      storage: {
        get: (key) => this.stored.get(key),
        set: (key, value) => this.stored.set(key, value),
        delete: (key) => this.stored.delete(key),
      },
      config: { get: (name) => this.#settings.get(name) },
      log: { write: (level, message) => this.logged.push([level, message]) },
      clock: {
        now: () => this.#now,
        sleep: (milliseconds) => {
          this.#now += milliseconds;
        },
      },
      multipart: { build: (parts) => this.#build(parts) },
      progress: { report: (fraction, message) => this.reported.push([fraction, message]) },
      signedLinks: {
        // The link shows what it is for. No secret is there to sign it.
        make: ({ method, upstream, path, seconds }) =>
          `https://${upstream}.test${path}${path.includes("?") ? "&" : "?"}method=${method}&seconds=${seconds}`,
      },
      makeRequest: (row, input, settings) => this.#made(row, input, settings),
    });
  }

  /** Prepares a response: `answer(200, { … })`. Requests get the responses in this order. */
  answer(prepared) {
    this.#answers.push(prepared);
    return this;
  }

  /** Prepares a failure instead of the next response, for example `{ tag: "timed-out" }`. */
  failure(error) {
    this.#answers.push({ error });
    return this;
  }

  setting(name, value) {
    this.#settings.set(name, JSON.stringify(value));
    return this;
  }

  /** Sets the clock: milliseconds since 1970-01-01T00:00:00Z. It advances when a connector sleeps. */
  now(milliseconds) {
    this.#now = milliseconds;
    return this;
  }

  /**
   * Runs an operation, and returns what its function returned. Its input may be JSON text. Throws
   * its fault, or a mistake in the rows of the table.
   */
  invoke(table, operation, input = {}) {
    if (!checked.has(table)) checkRows(table);
    checked.add(table);
    return table.run(operation, typeof input === "string" ? input : JSON.stringify(input));
  }

  /** The violations of an input that an operation refuses. */
  refused(table, operation, input) {
    try {
      this.invoke(table, operation, input);
    } catch (error) {
      if (error instanceof Fault && error.tag === "invalid-input") return error.val;
      throw error;
    }
    throw new Error(`${operation} does not refuse ${JSON.stringify(input)}`);
  }

  /**
   * The parts of a request whose body is a form with files, as `multipart` takes them. Empty for any
   * other body.
   */
  parts(request) {
    return (this.#multiparts.get(request.body?.val?.contentType) ?? []).map(({ name, fileName, contentType, content }) => {
      const kind = { text: "text", bytes: "bytes", base64: "content_base64" }[content.tag];
      const part = { name, file_name: fileName, content_type: contentType, [kind]: content.val };
      return Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined));
    });
  }

  /** The request of a row, in the form of the contract. */
  #made(row, input, settings) {
    const values = Object.entries(settings).flatMap(([name, setting]) => [[name, setting.json()]].filter(([, json]) => json !== undefined));
    const { ok, fault } = requestOf(row, input, Object.fromEntries(values));
    if (fault) throw { payload: fault };
    const { method, upstream, path, headers, body } = ok;
    return { method, upstream, target: { tag: "path", val: path }, headers, body: body?.tag === "parts" ? this.#form(body.val) : (body ?? undefined) };
  }

  /** The body of the parts of a row. A fault names the place of a part in the input. */
  #form(parts) {
    const sent = parts.map(({ name, file_name, content_type, content }) => ({
      name, fileName: file_name ?? undefined, contentType: content_type ?? undefined, content,
    }));
    try {
      return { tag: "bytes", val: { contentType: this.#build(sent), bytes: new Uint8Array() } };
    } catch ({ payload: { index, detail } }) {
      throw { payload: { tag: "invalid-input", val: [{ pointer: parts[index].place, detail }] } };
    }
  }

  /** Checks the parts as the gateway does, and keeps them for the test. */
  #build(parts) {
    parts.forEach((part, index) => {
      const detail = wrongPart(part);
      if (detail !== undefined) throw { payload: { index, detail } };
    });
    const contentType = `multipart/form-data; boundary=parts-${this.#multiparts.size + 1}`;
    this.#multiparts.set(contentType, parts);
    return contentType;
  }

  #send(request) {
    this.requests.push(request);
    if (this.#recording) return new StandInResponse(this.#recorded(request));
    const prepared = this.#answers.shift() ?? { error: { tag: "failed", val: `the test has no answer for ${request.upstream} ${request.target.val}` } };
    if (prepared.error) throw { payload: prepared.error };
    return new StandInResponse(prepared);
  }

  #recorded(request) {
    try {
      return this.#recording.take(request, this.parts(request)).answer;
    } catch (error) {
      if (error instanceof HttpError) throw { payload: error.error };
      throw error;
    }
  }

  #result(request) {
    try {
      return { tag: "ok", val: this.#send(request) };
    } catch ({ payload }) {
      return { tag: "err", val: payload };
    }
  }
}

/** What is wrong with a part, in the words of the gateway. */
function wrongPart({ fileName, contentType, content }) {
  const isBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
  const isWrong = content.tag === "base64" && !isBase64.test(content.val);
  return brokenRule({ fileName, contentType }) ?? (isWrong ? "Give the content in base64 (RFC 4648, section 4)." : undefined);
}

class StandInResponse {
  #answer;

  constructor(answer) {
    this.#answer = answer;
  }

  status() {
    return this.#answer.status;
  }

  header(name) {
    const same = ([known]) => known.toLowerCase() === name.toLowerCase();
    const { headers } = this.#answer;
    return (Array.isArray(headers) ? headers : Object.entries(headers)).filter(same).map(([, value]) => value);
  }

  headerLink(name) {
    const values = this.header(name);
    return name.toLowerCase() === "link" ? nextOf(values) : values[0];
  }

  bodyLink(pointer) {
    return this.document().pointer(pointer)?.asString();
  }

  peek(length) {
    return this.bytes().slice(0, length);
  }

  bytes() {
    const { body } = this.#answer;
    return typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
  }

  text() {
    return new TextDecoder().decode(this.bytes());
  }

  document() {
    try {
      return StandInDocument.parse(this.text() || "{}");
    } catch (error) {
      throw { payload: { tag: "bad-answer", val: error.payload } };
    }
  }
}

/** A document that keeps the text of its numbers, as the gateway's documents do. */
class StandInDocument {
  #text;

  constructor(text) {
    this.#text = text;
  }

  static parse(text) {
    try {
      JSON.parse(text);
    } catch (error) {
      throw { payload: error.message };
    }
    return new StandInDocument(text.trim());
  }

  #parts() {
    return members(this.#text) ?? items(this.#text)?.map((value, index) => ({ name: String(index), value })) ?? [];
  }

  pointer(pointer) {
    const steps = pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
    const step = (found, name) => found?.#parts().find((part) => part.name === name)?.value;
    return steps.reduce((found, name) => {
      const value = step(found, name);
      return value === undefined ? undefined : new StandInDocument(value);
    }, this);
  }

  kind() {
    return { "{": "object", "[": "array", '"': "string", t: "boolean", f: "boolean", n: "null" }[this.#text[0]] ?? "number";
  }

  length() {
    return this.#parts().length;
  }

  keys() {
    return this.kind() === "object" ? this.#parts().map((part) => part.name) : [];
  }

  item(index) {
    const part = this.#parts()[index];
    return part && new StandInDocument(part.value);
  }

  text() {
    return this.#text;
  }

  asString() {
    return this.kind() === "string" ? scalar(this.#text) : undefined;
  }
}
