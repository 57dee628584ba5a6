// Recorded calls, which `connector-gateway connectors call --record` writes. Values stay JSON text,
// so that numbers stay as the service wrote them.

import { Fault } from "./fault.js";
import { Document, HttpError, Request } from "./http.js";
import { File } from "./outcome.js";
import { compact, items, members } from "./reader.js";

/** The format of recordings that this SDK reads. */
const FORMAT = 1;

export class Recording {
  #left;
  #differences = [];
  #answer;
  #fails;

  constructor(text) {
    let parts;
    try {
      JSON.parse(text);
      parts = membersOf(text.trim());
      if (parts.format === undefined) throw new Error("it has no `format`");
    } catch (error) {
      throw new Error(`it is not a recording: ${error.message}`);
    }
    if (parts.format !== String(FORMAT)) {
      throw new Error(`it has the format ${parts.format}, and this SDK reads format ${FORMAT}; record it again`);
    }
    this.operation = JSON.parse(parts.operation);
    this.input = compact(parts.input);
    /** Names, and values as JSON text. */
    this.settings = members(parts.settings ?? "{}").map(({ name, value }) => [name, compact(value)]);
    this.#left = items(parts.exchanges).map(exchangeOf);
    this.#answer = parts.answer;
    this.#fails = parts.problem !== undefined;
  }

  /** The answer to a request of the contract. `parts` are the parts of a form with files. */
  take(asked, parts = []) {
    const index = this.#left.findIndex(({ request }) => isFor(request, asked, parts));
    if (index < 0) {
      const difference = `the recording has no request ${shown(asked)}`;
      this.#differences.push(difference);
      throw new HttpError({ tag: "denied", val: difference });
    }
    return this.#left.splice(index, 1)[0].answer;
  }

  /**
   * Runs the operation. Throws an error if it differs from the recording. `parts` gives the parts of
   * a request.
   */
  compare(run, parts) {
    let failure, answered;
    try {
      answered = this.#answered(run(), parts);
    } catch (error) {
      if (!(error instanceof Fault || error instanceof HttpError)) throw error;
      failure = error;
    }
    const unsent = this.#left.map(({ request }) => `the recording has a request that was not sent: ${nameOf(request)}`);
    const differences = [...this.#differences, ...unsent];
    if (differences.length === 0) {
      if (failure && !this.#fails) differences.push(`an answer is recorded, and the operation failed: ${failure.message}`);
      else if (!failure && this.#fails) differences.push("a problem is recorded, and the operation answered");
      else if (!failure && answered !== undefined && !same(JSON.parse(this.#answer), JSON.parse(answered))) {
        differences.push(`the answer differs: recorded ${compact(this.#answer)}, now ${answered}`);
      }
    }
    if (differences.length > 0) throw new Error(differences.join("\n  "));
  }

  /** The answer as JSON text; `undefined` for a file. */
  #answered(outcome, parts) {
    if (outcome instanceof File) return undefined;
    if (outcome instanceof Document) return outcome.text();
    if (!(outcome instanceof Request)) return JSON.stringify(outcome);
    const { status, body } = this.take(outcome.toContract(), parts(outcome));
    if (status < 200 || status >= 300) throw Fault.upstream(status, `The service answered with status ${status}.`);
    const text = Buffer.from(body).toString().trim() || "{}";
    try {
      JSON.parse(text);
      return text;
    } catch {
      // A body that is not JSON is a file.
      return undefined;
    }
  }
}

/** The members of an object by their names, as JSON text. */
function membersOf(text) {
  return Object.fromEntries(members(text).map(({ name, value }) => [name, value]));
}

function exchangeOf(text) {
  const { request, answer } = membersOf(text);
  const { status, headers = "[]", body } = membersOf(answer);
  return {
    request: JSON.parse(request),
    answer: { status: Number(status), headers: JSON.parse(headers), body: body ? bytesOf(membersOf(body)) : new Uint8Array() },
  };
}

function bytesOf({ json, text, base64 }) {
  if (json !== undefined) return Buffer.from(compact(json));
  return text !== undefined ? Buffer.from(JSON.parse(text)) : Buffer.from(JSON.parse(base64), "base64");
}

function isFor(recorded, { method, upstream, target, body }, parts) {
  const isTarget = target.tag === "path" ? recorded.path === target.val : recorded.link === target.val;
  if (recorded.method !== method.toUpperCase() || recorded.upstream !== upstream || !isTarget) return false;
  if (!body || !recorded.body) return !body && !recorded.body;
  return isBody(recorded.body, body, parts);
}

function isBody(recorded, { tag, val }, parts) {
  if (parts.length > 0) return same(recorded.multipart, parts.map(recordedPart));
  if (tag === "form") return same(recorded.form, val);
  const sent = tag === "json" ? Buffer.from(val) : Buffer.from(val.bytes);
  if ("json" in recorded) {
    try {
      return same(recorded.json, JSON.parse(sent.toString()));
    } catch {
      return false;
    }
  }
  return "text" in recorded ? recorded.text === sent.toString() : recorded.base64 === sent.toString("base64");
}

/** A part as the gateway records it: a field as text, and a file in base64. */
function recordedPart({ name, file_name, content_type, text, bytes, content_base64 }) {
  if (file_name === undefined) return { name, ...(content_type && { content_type }), text };
  const base64 = content_base64 ?? Buffer.from(bytes ?? text).toString("base64");
  return { name, file_name, content_type: content_type ?? "application/octet-stream", base64 };
}

function nameOf({ method, upstream, path, link }) {
  return `${method} ${upstream} ${path ?? link}`;
}

function shown({ method, upstream, target, body }) {
  const text = `${method.toUpperCase()} ${upstream} ${target.val}`;
  if (!body) return text;
  const sent = { json: () => body.val, form: () => JSON.stringify(body.val), bytes: () => `of ${body.val.bytes.length} bytes` };
  return `${text} with the body ${sent[body.tag]()}`;
}

function same(one, other) {
  if (one === null || other === null || typeof one !== "object" || typeof other !== "object") return one === other;
  const names = Object.keys(one);
  if (Array.isArray(one) !== Array.isArray(other) || names.length !== Object.keys(other).length) return false;
  return names.every((name) => Object.hasOwn(other, name) && same(one[name], other[name]));
}
