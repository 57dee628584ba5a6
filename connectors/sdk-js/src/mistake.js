// A mistake in a table. It stops the build, so its message says what to write.

export class Mistake extends Error {
  name = "Mistake";
}

/** Refuses words that are not known here, because a misspelt one would have no effect. */
export function only(given, known, where) {
  if (given === null || typeof given !== "object") throw new Mistake(`${where} takes an object such as \`{ ${known[0]}: … }\``);
  for (const word of Object.keys(given)) {
    if (!known.includes(word)) throw new Mistake(`${where} has no \`${word}\`; it has ${known.map((word) => `\`${word}\``).join(", ")}`);
  }
}

/**
 * Runs `make`, and names the place in the message of its mistake. `declared` is an error that was
 * made where the author wrote it, so that the build finds file and line in its stack.
 */
export function within(place, make, declared) {
  try {
    return make();
  } catch (error) {
    if (error instanceof Mistake) {
      error.message = `${place}: ${error.message}`;
      error.declared ??= declared?.stack;
    }
    throw error;
  }
}

/** Refuses a function whose result the gateway would not get: it has to be there when it returns. */
export function checkFunction(word, run) {
  if (typeof run !== "function") return;
  const kind = Object.prototype.toString.call(run);
  if (kind === "[object AsyncFunction]" || kind === "[object AsyncGeneratorFunction]") {
    throw new Mistake(`${word} is an \`async\` function, and nothing runs after it has returned; leave out \`async\` and \`await\`: \`send\` returns the response itself`);
  }
  if (kind === "[object GeneratorFunction]") throw new Mistake(`${word} is a generator function, which returns no value; leave out the \`*\``);
}
