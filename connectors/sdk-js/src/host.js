// The functions of the contract that the SDK calls. In a component the gateway provides them, in a
// test `testing` does.

let functions;

/**
 * Sets the functions: `{ http, Document, storage, config, log, clock, multipart, progress, signedLinks,
 * makeRequest }`. Returns those that were set before.
 */
export function setHost(given) {
  const before = functions;
  functions = given;
  return before;
}

export function host() {
  if (functions === undefined) throw new Error("There is no gateway here. In a test, make one: `new Gateway()` of `testing`.");
  return functions;
}

/**
 * The error that a function of the contract answered with. The engines of JavaScript wrap it in
 * different ways.
 */
export function payload(error) {
  if (error instanceof Error && error.payload === undefined) throw error;
  return error?.payload ?? error;
}

/** An object with the names that its members have in the contract. */
export function camelCase(object) {
  const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [camel(name), value]));
}
