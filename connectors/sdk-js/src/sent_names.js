// Two fields of a row must not have the same place in its request, nor one inside of the other.

import { Mistake } from "./mistake.js";

/** Refuses fields whose names collide in the request. `wire` has the part of each field in it. */
export function checkSentNames(wire) {
  wire.forEach((field, index) => {
    if (field.location === "path" || field.location.endsWith("-entries") || field.isWhole) return;
    const others = wire.slice(0, index).filter((known) => known.location === field.location && !known.isWhole);
    const same = others.find((known) => isSame(known, field));
    if (same) {
      throw new Mistake(`the field \`${same.name}\` is sent as \`${field.upstreamName}\` too; give it or \`${field.name}\` another name with \`as\``);
    }
    const around = others.find((known) => field.location === "body" && (leads(known, field) || leads(field, known)));
    if (around) {
      throw new Mistake(`\`${around.name}\` is sent as \`${around.upstreamName}\` and \`${field.name}\` as \`${field.upstreamName}\`: one of the two would be inside of the other`);
    }
  });
}

function isSame(one, other) {
  const [name, known] = [one.upstreamName, other.upstreamName];
  return one.location === "header" ? name.toLowerCase() === known.toLowerCase() : name === known;
}

/** Returns `true` if one field is a member of another one in the body. */
function leads(outer, inner) {
  return outer.bodyPath.every((step, index) => inner.bodyPath[index] === step);
}
