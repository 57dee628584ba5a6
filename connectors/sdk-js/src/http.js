// Requests to the upstreams of the table, responses, and JSON documents that stay in the gateway.

import { encode, encodeName, hasDotSegment } from "./encoding.js";
import { Fault } from "./fault.js";
import { host, payload } from "./host.js";
import { multipartBody } from "./multipart.js";

export const DOT_SEGMENT =
  "Give a value that does not contain `.` or `..` as a segment, in any encoding: it is a part of a path.";
export const EMPTY_SEGMENT = "Give a value that is not empty: it is a part of a path.";

/**
 * A request has no response. `tag` is a case of the contract's `http.error`, for example `denied`.
 */
export class HttpError extends Error {
  name = "HttpError";

  constructor(error) {
    super(error.val === undefined ? error.tag : `${error.tag}: ${error.val}`);
    Object.assign(this, { error, tag: error.tag });
  }

  /** Throws the error: a result of `sendAll` has this method as a response has. */
  successful() {
    throw this;
  }
}

function calling(call) {
  try {
    return call();
  } catch (error) {
    throw new HttpError(payload(error));
  }
}

/**
 * A request to an upstream. The gateway adds the user's credential, and the headers of the
 * connection.
 */
export class Request {
  headers = [];
  body = undefined;
  omitCredential = false;
  link = undefined;

  /** `path` is percent-encoded, and empty or begins with `/`. */
  constructor(method, upstream, path) {
    Object.assign(this, { method, upstream, path });
  }

  /** A request in the form of the contract. */
  static ofContract({ method, upstream, target, headers, body }) {
    return Object.assign(new Request(method, upstream, target.val), { headers, body });
  }

  static get(upstream, path) {
    return new Request("get", upstream, path);
  }

  static post(upstream, path) {
    return new Request("post", upstream, path);
  }

  /**
   * A request to an address that a response of this upstream contained. It has no path and no
   * query.
   */
  static follow(upstream, link) {
    return Object.assign(Request.get(upstream, ""), { link });
  }

  /**
   * Appends `/` and a segment, percent-encoded. A list is joined with commas. Refuses the caller's
   * `field` if it is empty, `.` or `..`.
   */
  segment(field, value) {
    const segment = [value].flat().map((part) => encode(String(part))).join(",");
    if (segment === "") throw Fault.invalidInput(`/${field}`, EMPTY_SEGMENT);
    if (hasDotSegment(segment)) throw Fault.invalidInput(`/${field}`, DOT_SEGMENT);
    this.path += `/${segment}`;
    return this;
  }

  /** Appends a query parameter. An undefined or null value is left out. */
  query(name, value) {
    if (value === undefined || value === null) return this;
    this.path += `${this.path.includes("?") ? "&" : "?"}${encodeName(name)}=${encode(String(value))}`;
    return this;
  }

  header(name, value) {
    this.headers.push([name, String(value)]);
    return this;
  }

  /** Sets the body to a value as JSON. */
  json(value) {
    this.body = { tag: "json", val: JSON.stringify(value) };
    return this;
  }

  /** Sets the body to a form: an object, or pairs. The gateway encodes it. */
  form(fields) {
    const pairs = Array.isArray(fields) ? fields : Object.entries(fields);
    this.body = { tag: "form", val: pairs.map(([name, value]) => [name, String(value)]) };
    return this;
  }

  /**
   * Sets the body to a form with files (`multipart/form-data`). A part is `{ name, text }` or
   * `{ name, file_name, bytes }`, with `content_type` if need be. The file of a caller is a part
   * once it has a name: `{ name: "photo", ...photo }`.
   */
  multipart(parts) {
    this.body = multipartBody(parts);
    return this;
  }

  bytes(contentType, bytes) {
    this.body = { tag: "bytes", val: { contentType, bytes } };
    return this;
  }

  /**
   * A link to the path of this request, with a signature of the user in its query. Someone without an
   * account can follow it with the request's method for this number of seconds, at most seven days.
   */
  signedLink(seconds) {
    const { method, upstream, path } = this;
    return calling(() => host().signedLinks.make({ method, upstream, path, seconds }));
  }

  /** Leaves out the user's credential. */
  withoutCredential() {
    this.omitCredential = true;
    return this;
  }

  toContract() {
    const { method, upstream, path, link, headers, body, omitCredential } = this;
    if (link && path !== "") {
      throw new HttpError({ tag: "invalid-request", val: `a request that follows a link has no path and no query: \`${path}\`` });
    }
    const target = link ? { tag: "link", val: link } : { tag: "path", val: path };
    return { method, upstream, target, headers, body, omitCredential };
  }
}

/** Sends one request. Any status is a response. Throws an `HttpError` if there is no response. */
export function send(request) {
  return new Response(calling(() => host().http.send(request.toContract())));
}

/**
 * Sends at most 32 requests in parallel. Each result is a `Response` or an `HttpError`, in the
 * order of the requests.
 */
export function sendAll(requests) {
  const results = host().http.sendAll(requests.map((request) => request.toContract()));
  return results.map(({ tag, val }) => (tag === "ok" ? new Response(val) : new HttpError(val)));
}

/**
 * A response. Its body stays in the gateway until the connector reads it, and can be read several
 * times.
 */
export class Response {
  constructor(handle) {
    this.handle = handle;
  }

  get status() {
    return this.handle.status();
  }

  /**
   * The value of a header; `undefined` if it is absent. Several lines of one name are one value, with
   * a comma between them (RFC 9110, section 5.3).
   */
  header(name) {
    const lines = this.handle.header(name);
    return lines.length > 0 ? lines.join(", ") : undefined;
  }

  /**
   * The address in a header, for `Request.follow`; `undefined` if it is absent. For `link`, the
   * address of the link with the relation `next`.
   */
  headerLink(name) {
    return calling(() => this.handle.headerLink(name)) ?? undefined;
  }

  /**
   * The address at a JSON Pointer of the body, for `Request.follow`; `undefined` if there is
   * nothing, or null.
   */
  bodyLink(pointer) {
    return calling(() => this.handle.bodyLink(pointer)) ?? undefined;
  }

  /** The first bytes of the body, at most 4096, without consuming it. */
  peek(length) {
    return calling(() => this.handle.peek(length));
  }

  bytes() {
    return calling(() => this.handle.bytes());
  }

  text() {
    return calling(() => this.handle.text());
  }

  /** The body as a JavaScript value. Large numbers lose digits; `document` keeps them. */
  json() {
    return this.document().value();
  }

  /** The body as a JSON document that stays in the gateway. An empty body is `{}`. */
  document() {
    return new Document(calling(() => this.handle.document()));
  }

  /**
   * The response itself if its status is below 400. Otherwise throws a fault with the status, the
   * body and `Retry-After`.
   */
  successful() {
    const { status } = this;
    if (status < 400) return this;
    const wait = this.header("retry-after")?.trim() ?? "";
    throw Fault.upstream(status, `The service answered with status ${status}.`, {
      body: this.#explanation(),
      retryAfterSeconds: /^\d{1,9}$/.test(wait) ? Number(wait) : undefined,
    });
  }

  #explanation() {
    try {
      return this.document().text();
    } catch (error) {
      if (error instanceof HttpError) return undefined;
      throw error;
    }
  }
}

/** A JSON value that the gateway holds. A function can return it, or a part of it. */
export class Document {
  constructor(handle) {
    this.handle = handle;
  }

  static parse(text) {
    try {
      return new Document(host().Document.parse(text));
    } catch (error) {
      throw new SyntaxError(payload(error));
    }
  }

  /** The value at a JSON Pointer; `undefined` if there is nothing. */
  pointer(pointer) {
    const found = this.handle.pointer(pointer);
    return found ? new Document(found) : undefined;
  }

  /** The string at a JSON Pointer; `undefined` if there is nothing, or another value. */
  string(pointer) {
    return this.pointer(pointer)?.handle.asString() ?? undefined;
  }

  /** `null`, `boolean`, `number`, `string`, `array` or `object`. */
  get kind() {
    return this.handle.kind();
  }

  get length() {
    return this.handle.length();
  }

  keys() {
    return this.handle.keys();
  }

  item(index) {
    const found = this.handle.item(index);
    return found ? new Document(found) : undefined;
  }

  *items() {
    for (let index = 0; index < this.length; index += 1) yield this.item(index);
  }

  /** The JSON text. Numbers keep their original text. */
  text() {
    return this.handle.text();
  }

  /** The value as a JavaScript value. */
  value() {
    return JSON.parse(this.text());
  }
}
