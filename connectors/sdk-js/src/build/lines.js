// Reads a source map (ECMA-426) as far as the lines of the bundle need it.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/**
 * The origin of each line: `[line of the bundle, file, line of the file]` where the origin does not
 * follow from the previous line. `name` gives the name of a file, or `undefined` for a file whose
 * positions are not needed.
 */
export function linesOf(map, name) {
  const names = map.sources.map(name);
  const found = [];
  let [source, line] = [0, 0];
  map.mappings.split(";").forEach((segments, index) => {
    let first;
    for (const segment of segments.split(",").filter(Boolean)) {
      const [, sources = 0, lines = 0] = numbers(segment);
      [source, line] = [source + sources, line + lines];
      first ??= [index + 1, names[source], line + 1];
    }
    const last = found.at(-1);
    const follows = first && last && last[1] === first[1] && last[2] - last[0] === first[2] - first[0];
    if (first && !follows) found.push(first);
  });
  return found.map(([at, file, original]) => (file === undefined ? [at] : [at, file, original]));
}

/**
 * The numbers of a segment: each in digits of base 64 with a bit for "continues" and, in the first,
 * one for the sign.
 */
function numbers(segment) {
  const found = [];
  let [value, shift] = [0, 0];
  for (const character of segment) {
    const digit = DIGITS.indexOf(character);
    value += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    found.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return found;
}
