// What programs in JavaScript expect and the sandbox does not have: a console, and `fetch`.

/** The methods of `console` that write a line, and the level of each in the operator's log. */
const LEVELS = { log: "info", info: "info", debug: "debug", trace: "debug", dir: "info", warn: "warn", error: "error" };

/**
 * Makes `console` write to the operator's log with `write`. Until `start` is called, while the
 * module of the connector is loaded, there is no log, and lines are dropped.
 */
export function replaceConsole(write) {
  let isCall = false;
  const methods = Object.entries(LEVELS).map(([method, level]) => [method, (...values) => {
    if (isCall) write(level, values.map(shown).join(" "));
  }]);
  const assert = (condition, ...values) => {
    if (!condition && isCall) write("error", ["Assertion failed", ...values.map(shown)].join(" "));
  };
  globalThis.console = { ...Object.fromEntries(methods), assert };
  return { start: () => { isCall = true; } };
}

/** Makes `fetch` throw, because it would never return a response. */
export function refuseFetch() {
  globalThis.fetch = () => {
    throw new Error("a connector has no fetch(): it sends requests to its upstreams with `send(Request.get(…))`");
  };
}

/** A value as text. Exceptions and values without a JSON text are shown as their own text. */
function shown(value) {
  if (typeof value === "string" || value instanceof Error) return String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
