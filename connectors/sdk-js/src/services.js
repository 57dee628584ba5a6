// Services of the gateway: the store, the log, the clock, the progress of a job.

import { host, payload } from "./host.js";
import { Fault } from "./fault.js";
import { bytesOf, textOf } from "./utf8.js";

function storing(call) {
  try {
    return call();
  } catch (error) {
    const { tag, val } = payload(error);
    throw Fault.failed(`storage: ${tag}${val === undefined ? "" : `: ${val}`}`);
  }
}

/**
 * A small key-value store: at most 1,024 keys of 1 to 256 bytes, and values of at most 64 KiB. Each
 * connector has its own store in each tenant. If users connect accounts, each integration has its
 * own store. A failure is a fault.
 */
export const storage = {
  /** The text of a key; `undefined` if it is unknown. */
  get(key) {
    const bytes = storage.getBytes(key);
    return bytes && textOf(bytes);
  },

  getBytes(key) {
    return storing(() => host().storage.get(key)) ?? undefined;
  },

  /** Stores text or bytes. With `seconds`, the gateway deletes the value after that time. */
  set(key, value, seconds) {
    const bytes = typeof value === "string" ? bytesOf(value) : value;
    storing(() => host().storage.set(key, bytes, seconds));
  },

  /** Deletes a value. An unknown key is not an error. */
  delete(key) {
    storing(() => host().storage.delete(key));
  },
};

const line = (level) => (message) => host().log.write(level, String(message));

/** Lines for the operator's log, at most 4 KiB each, and at most 256 in an invocation. */
export const log = { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };

export const clock = {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now: () => Number(host().clock.now()),

  /**
   * Waits. The time counts to the deadline of the call, and not to the connector's CPU time. A
   * connector that still waits at the deadline is ended. In a test, `Gateway` does not wait: its
   * clock advances.
   */
  sleep(milliseconds) {
    if (!(milliseconds >= 0)) throw new RangeError(`clock.sleep() takes a number of milliseconds that is not negative; this is ${milliseconds}`);
    // A number that both engines take. It is longer than any deadline.
    host().clock.sleep(Math.min(Math.ceil(milliseconds), 2 ** 31 - 1));
  },
};

export const progress = {
  /** The part of a background operation that is done, 0 to 1, and a few words. */
  report: (fraction, message) => host().progress.report(fraction, message),
};
