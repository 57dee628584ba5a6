// The places of an exception in the author's files. The component has one bundle of all files;
// `lines` says which line of the bundle came from which file:
// `[first line of the bundle, file, line of the file]`, sorted.

/** The places in a stack, innermost first, as `file:line`. Places in the SDK are left out. */
export function placesIn(stack, lines) {
  const found = [...stack.matchAll(/:(\d+):\d+\)?$/gm)].map(([, line]) => placeOf(Number(line), lines));
  return found.filter((place) => place !== undefined && !place.includes("sdk-js/src/"));
}

function placeOf(line, lines) {
  const [at, file, original] = lines.findLast(([first]) => first <= line) ?? [];
  return file === undefined ? undefined : `${file}:${original + line - at}`;
}
