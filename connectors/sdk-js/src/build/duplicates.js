// Names that an object literal has twice. JavaScript keeps the last one and says nothing, so one of
// two operations with the same name would be missing from the connector.

import { Mistake } from "../mistake.js";

/** Refuses a file with such a name. `program` is its syntax tree in the form of ESTree. */
export function refuseDuplicates(program, text, file) {
  for (const object of objects(program)) {
    const seen = new Map();
    for (const property of object.properties) {
      const name = nameOf(property);
      // A getter and a setter share their name.
      const former = seen.get(name);
      if (name !== undefined && former !== undefined && former + property.kind !== "getset" && former + property.kind !== "setget") {
        const line = text.slice(0, property.start).split("\n").length;
        throw new Mistake(`${file}:${line}: \`${name}\` is declared twice; give one of the two another name`);
      }
      seen.set(name, property.kind);
    }
  }
}

/** The object literals below a node, in their order. */
function* objects(node) {
  if (node === null || typeof node !== "object") return;
  if (node.type === "ObjectExpression") yield node;
  for (const child of Object.values(node)) yield* objects(child);
}

/** The name of a property. None if it is computed, or a spread. */
function nameOf({ type, computed, key }) {
  if (type !== "Property" || computed) return undefined;
  return String(key.type === "Identifier" ? key.name : key.value);
}
