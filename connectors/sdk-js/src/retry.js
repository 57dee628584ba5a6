// Tries again, later each time.

import { Fault } from "./fault.js";
import { clock } from "./services.js";

/** The statuses after which a service may answer otherwise a moment later. */
const PASSING = [429, 502, 503, 504];

/**
 * Runs a function until it succeeds, fails for good, or has had all attempts. Returns its result. It
 * is tried again after a `Fault.upstream` with the status 429, 502, 503 or 504, which `successful()`
 * throws. The delay is at least the one that the service asks for (`Retry-After`). If the service
 * asks for more than `longest`, the function is not tried again. Delays are milliseconds. Up to a
 * half of one is taken off by chance, and each is twice the previous one.
 *
 * The gateway itself repeats requests that may be repeated, if there was no response or a status of
 * 502, 503 or 504.
 */
export function retry(run, { attempts = 4, first = 500, longest = 8000 } = {}) {
  let delay = Math.min(first, longest);
  for (let left = attempts; ; delay = Math.min(2 * delay, longest)) {
    try {
      return run();
    } catch (error) {
      left -= 1;
      const isPassing = error instanceof Fault && error.tag === "upstream" && PASSING.includes(error.val.status);
      const asked = 1000 * (isPassing ? (error.val.retryAfterSeconds ?? 0) : 0);
      if (!isPassing || left <= 0 || asked > longest) throw error;
      clock.sleep(Math.max(delay * (1 - Math.random() / 2), asked));
    }
  }
}
