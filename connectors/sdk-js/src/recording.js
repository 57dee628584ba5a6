// Recorded calls, which `connector-gateway connectors call --record` writes. The crate `rows` answers
// their requests, and compares a call with the recorded one.

import { Fault } from "./fault.js";
import { Document, HttpError, Request } from "./http.js";
import { File } from "./outcome.js";
import { replayed } from "./row_module.js";

export class Recording {
  #text;
  #asked = [];

  constructor(text) {
    this.#text = text;
    const { refused, operation, input, settings } = this.#replayed();
    if (refused !== undefined) throw new Error(refused);
    // Settings are pairs: a name, and the value as JSON text.
    Object.assign(this, { operation, input, settings });
  }

  #replayed(end) {
    return replayed({ recording: this.#text, asked: this.#asked, end });
  }

  /**
   * The answer to a request of the contract, and the end of a call whose last request it is. `parts` are
   * the parts of a form with files.
   */
  take({ method, upstream, target, body }, parts) {
    this.#asked.push({ method, upstream, [target.tag]: target.val, body: parts.length > 0 ? formOf(parts) : plain(body) });
    const { denied, ...taken } = this.#replayed();
    if (denied !== undefined) throw new HttpError({ tag: "denied", val: denied });
    return taken;
  }

  /**
   * Runs the operation. Throws an error if it differs from the recording. `parts` gives the parts of
   * a request.
   */
  compare(run, parts) {
    let end;
    try {
      end = this.#endOf(run(), parts);
    } catch (error) {
      if (!(error instanceof Fault || error instanceof HttpError)) throw error;
      end = { tag: "failed", val: error.message };
    }
    const { differences } = this.#replayed(end);
    if (differences.length > 0) throw new Error(differences.join("\n  "));
  }

  #endOf(outcome, parts) {
    if (outcome instanceof File) return { tag: "file" };
    if (outcome instanceof Request) return this.take(outcome.toContract(), parts(outcome)).end;
    return { tag: "answer", val: outcome instanceof Document ? outcome.text() : JSON.stringify(outcome) };
  }
}

function formOf(parts) {
  const base64 = ({ bytes, content_base64 }) => content_base64 ?? (bytes && Buffer.from(bytes).toString("base64"));
  return { tag: "parts", val: parts.map(({ name, file_name, content_type, text, ...content }) => ({ name, file_name, content_type, text, base64: base64(content) })) };
}

/** A body that is no form with files. */
function plain(body) {
  return body?.tag === "bytes" ? { tag: "bytes", val: [...body.val.bytes] } : body;
}
