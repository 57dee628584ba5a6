// Names that a function takes and that are no fields of its row. Their values would be `undefined`
// in every call.

import { Mistake, within } from "../mistake.js";

/**
 * Refuses a function that takes a name which is no field of its row. `parse` turns text into the
 * syntax tree of a program in the form of ESTree.
 */
export function checkArguments(table, parse) {
  for (const { name, what, run, fields, declared } of table.functions()) {
    const wrong = taken(run, parse).find((argument) => !fields.includes(argument));
    if (wrong === undefined) continue;
    const known = fields.length > 0 ? `its fields are ${fields.map((field) => `\`${field}\``).join(", ")}` : "it has no fields";
    within(`operation \`${name}\``, () => {
      throw new Mistake(`${what} takes \`${wrong}\`, which is no field of its row; ${known}`);
    }, declared);
  }
}

/** The names that the first parameter of a function takes out of its object. */
function taken(run, parse) {
  const source = run.toString();
  // A method is no expression.
  for (const text of [`(${source})`, `({${source}})`]) {
    let expression;
    try {
      [{ expression }] = parse(text).body;
    } catch {
      continue;
    }
    while (expression.type === "ParenthesizedExpression") expression = expression.expression;
    const { params } = expression.properties?.[0]?.value ?? expression;
    const pattern = params?.[0]?.type === "AssignmentPattern" ? params[0].left : params?.[0];
    const properties = pattern?.type === "ObjectPattern" ? pattern.properties : [];
    return properties.filter(({ type, computed }) => type === "Property" && !computed).map(({ key }) => key.name ?? key.value);
  }
  return [];
}
