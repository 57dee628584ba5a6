// A body as a form: the members of a JSON object become pairs of names and values. A form has no
// types and no levels, so that services agree on names such as `card[number]`.

import { items, members, scalar } from "./reader.js";

/** The pairs of an object, from its JSON text. */
export function pairs(object) {
  return members(object).flatMap(({ name, value }) => pairsOf(name, value, false));
}

/** `isInner` is true inside of an object or a list, where the name of a list needs brackets. */
function pairsOf(name, value, isInner) {
  const inner = members(value);
  if (inner !== undefined) return inner.flatMap((member) => pairsOf(`${name}[${member.name}]`, member.value, true));
  const list = items(value);
  // Null is empty: a form has no other value that means "none".
  if (list === undefined) return [[name, scalar(value) ?? ""]];
  return list.flatMap((item, index) => {
    if (/^[[{]/.test(item)) return pairsOf(`${name}[${index}]`, item, true);
    return pairsOf(isInner ? `${name}[]` : name, item, true);
  });
}
