// The results of an operation: what a function returns, in the form of the contract.

import { Fault } from "./fault.js";
import { Document, HttpError, Request, Response } from "./http.js";
import { bytesOf } from "./utf8.js";

/** A file as an answer. `content` is a response whose body is the file, bytes, or text. */
export class File {
  constructor(content, { file_name, content_type, members, digest = false, max_bytes = 0 }) {
    Object.assign(this, { content, file_name, content_type, members, digest, max_bytes });
  }
}

/** The answer of an operation `userinfo`. Values that the service does not give are null. */
export function userinfo({ id, email, username, name, picture, organization }) {
  const orNull = (values) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? null]));
  const company = organization ? orNull({ id: organization.id, name: organization.name }) : undefined;
  return { data: orNull({ id, email, username, name, picture, organization: company }), meta: null };
}

/**
 * The value that a function returned, in the form of the contract. A value that is not a type of
 * the SDK becomes JSON.
 */
export function outcome(value) {
  if (value instanceof Request) return { tag: "forward", val: value.toContract() };
  if (value instanceof Document) return { tag: "reply-document", val: value.handle };
  if (value instanceof File) return { tag: "reply-file", val: fileOf(value) };
  if (value instanceof Promise) throw new TypeError("a function of the table is not `async`: the functions of the SDK return their results directly");
  if (value instanceof Response) throw new TypeError("a function of the table returned a response; return its `document()`, or a `File` of it");
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError("a function of the table returned nothing; return a JSON value");
  return { tag: "reply", val: text };
}

function fileOf({ content, file_name, content_type, members, digest, max_bytes }) {
  const bytes = typeof content === "string" ? bytesOf(content) : content;
  return {
    content: content instanceof Response ? { tag: "response", val: content.handle } : { tag: "bytes", val: bytes },
    fileName: file_name,
    contentType: content_type,
    members: members ? JSON.stringify(members) : "",
    digest,
    maxBytes: max_bytes,
  };
}

/**
 * The fault of anything that was thrown. For a JavaScript exception, `report` gets its text with
 * file and line. Callers get the first line of a defect. The others are for admins.
 */
export function faultOf(error, report) {
  if (error instanceof Fault) return { tag: error.tag, val: error.val };
  if (error instanceof HttpError) return { tag: "http", val: error.error };
  const { text, place } = report(error);
  return { tag: "failed", val: `The connector has a defect. Its author finds the cause in the gateway's log.\n${text}${place ? `, at ${place}` : ""}` };
}
