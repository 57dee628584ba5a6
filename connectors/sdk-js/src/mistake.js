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

/** Runs `make`, and names the place in the message of its mistake. */
export function within(place, make) {
  try {
    return make();
  } catch (error) {
    if (error instanceof Mistake) error.message = `${place}: ${error.message}`;
    throw error;
  }
}
