// Names that are not there: what is wrong, and what the author writes.

import { relative } from "node:path";

import * as exported from "../index.js";
import { Mistake } from "../mistake.js";

const PACKAGE = "@connector-gateway/sdk";

/** A name that no file declares. `message` is the one of a `ReferenceError`. */
export function undefinedName(message) {
  const [name] = message.match(/^\S+(?= is not defined$)/) ?? [];
  if (name === undefined) return message;
  return `\`${name}\` is not defined${name in exported ? `; import it: \`import { ${name} } from "${PACKAGE}"\`` : instead(name)}`;
}

/**
 * The mistake that a log of the bundler tells of: a module that is not found, or a name that a
 * module does not export. `sdk` is the folder of the SDK. `undefined` for other logs, and for
 * packages: what they import may be needed elsewhere alone.
 */
export function wrongImport({ code, exporter = "", id = "", loc, message }, sdk) {
  if (id.includes("/node_modules/") || !["UNRESOLVED_IMPORT", "MISSING_EXPORT"].includes(code)) return undefined;
  const place = `${relative(process.cwd(), id)}:${loc?.line ?? 1}`;
  if (code === "UNRESOLVED_IMPORT") return new Mistake(`${place}: there is no module \`${exporter}\`; install its package, or correct its name`);
  const [, name] = message.match(/"([^"]+)" is not exported/) ?? [];
  const isOfSdk = exporter.startsWith(sdk);
  const origin = isOfSdk ? PACKAGE : relative(process.cwd(), exporter);
  return new Mistake(`${place}: \`${origin}\` has no \`${name}\`${isOfSdk ? instead(name) : "; correct the name, or export it there"}`);
}

function instead(name) {
  const near = nearest(name, Object.keys(exported));
  return near ? `; the nearest name of the SDK is \`${near}\`` : "; correct the name, or import it";
}

/** The known name with the fewest changes, if these are few. */
function nearest(name, known) {
  const ranked = known.map((one) => [distance(name.toLowerCase(), one.toLowerCase()), one]).sort(([a], [b]) => a - b);
  const [[changes, near] = []] = ranked;
  return changes <= Math.max(1, Math.floor(name.length / 3)) ? near : undefined;
}

/** The letters that are added, left out or replaced between two words. */
function distance(from, to) {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (from[i - 1] === to[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[to.length];
}
