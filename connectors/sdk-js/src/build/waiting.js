// Functions that never end: an operation ends when it returns, so nothing runs after an `await`, and
// no timer fires.

import { Mistake } from "../mistake.js";

const TIMERS = ["setTimeout", "setInterval"];

/** Node types of functions. */
const FUNCTION = /Function/;

/**
 * Refuses a file with an `async` function or a timer. `program` is its syntax tree in the form of
 * ESTree. A file that waits outside of functions may call `async` functions there: it is evaluated
 * during the build.
 */
export function refuseWaiting(program, text, file) {
  if (waitsInModule(program)) return;
  const own = new Set(declared(program));
  for (const node of nodes(program)) {
    const found = waiting(node, own);
    if (found === undefined) continue;
    const line = text.slice(0, node.start).split("\n").length;
    throw new Mistake(`${file}:${line}: ${found}`);
  }
}

/** What is wrong with a node. */
function waiting(node, own) {
  if (FUNCTION.test(node.type) && node.async) {
    return "this is an `async` function, and nothing runs after an operation has returned; leave out `async` and `await`: `send` returns the response itself, and `clock.sleep` waits";
  }
  if (node.type !== "CallExpression") return undefined;
  const { callee } = node;
  const isGlobal = callee.type === "MemberExpression" && !callee.computed && callee.object.name === "globalThis";
  const name = isGlobal ? callee.property.name : callee.type === "Identifier" && !own.has(callee.name) ? callee.name : undefined;
  if (!TIMERS.includes(name)) return undefined;
  return `\`${name}\` never fires, because nothing runs after an operation has returned; \`clock.sleep(milliseconds)\` of the SDK waits`;
}

/** `true` if there is an `await` outside of all functions. */
function waitsInModule(node) {
  if (node === null || typeof node !== "object") return false;
  if (node.type === "AwaitExpression" || (node.type === "ForOfStatement" && node.await)) return true;
  return !FUNCTION.test(node.type ?? "") && Object.values(node).some(waitsInModule);
}

/** The names that a file declares itself, anywhere. */
function* declared(program) {
  for (const { type, id, local, params } of nodes(program)) {
    if (type === "VariableDeclarator" || FUNCTION.test(type)) yield id?.name;
    if (type.startsWith("Import")) yield local?.name;
    for (const parameter of params ?? []) yield parameter.name;
  }
}

/** The nodes below a node, in their order. */
function* nodes(node) {
  if (node === null || typeof node !== "object") return;
  if (typeof node.type === "string") yield node;
  for (const child of Object.values(node)) yield* nodes(child);
}
