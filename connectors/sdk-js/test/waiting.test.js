// Functions and timers that would never end, as the build finds them in a file.

import assert from "node:assert/strict";
import { test } from "node:test";

import { refuseWaiting } from "../src/build/waiting.js";

/** A node of a syntax tree, at the start of a line of `TEXT`. */
const node = (type, members = {}, line = 1) => ({ type, start: TEXT.split("\n").slice(0, line - 1).join("\n").length + (line > 1), ...members });
const TEXT = "one\ntwo\nthree\n";
const name = (name) => ({ type: "Identifier", start: 0, name });
const call = (callee, line) => node("ExpressionStatement", { expression: node("CallExpression", { callee, arguments: [] }, line) }, line);
const program = (...body) => ({ type: "Program", start: 0, body });
const check = (...body) => refuseWaiting(program(...body), TEXT, "connector.js");

test("an async function and a timer are named with their line", () => {
  const helper = node("FunctionDeclaration", { async: true, id: name("helper"), params: [], body: null }, 3);
  assert.throws(() => check(helper), /^Mistake: connector\.js:3: this is an `async` function/);
  const arrow = node("VariableDeclaration", { declarations: [node("VariableDeclarator", { id: name("f"), init: node("ArrowFunctionExpression", { async: true, params: [] }, 2) })] });
  assert.throws(() => check(arrow), /connector\.js:2: this is an `async` function/);
  assert.throws(() => check(call(name("setTimeout"), 2)), /connector\.js:2: `setTimeout` never fires.*clock\.sleep/);
  const member = { type: "MemberExpression", start: 0, computed: false, object: name("globalThis"), property: name("setInterval") };
  assert.throws(() => check(call(member, 1)), /connector\.js:1: `setInterval` never fires/);
});

test("other functions, own functions of the name and files that wait while they are loaded are left alone", () => {
  check(node("FunctionDeclaration", { async: false, id: name("helper"), params: [], body: null }));
  check(node("FunctionDeclaration", { id: name("setTimeout"), params: [], body: null }), call(name("setTimeout"), 2));
  check(node("ImportDeclaration", { specifiers: [node("ImportSpecifier", { local: name("setTimeout") })] }), call(name("setTimeout"), 2));
  const load = node("FunctionDeclaration", { async: true, id: name("load"), params: [], body: null });
  check(load, node("ExpressionStatement", { expression: node("AwaitExpression", { argument: call(name("load"), 1).expression }) }));
});
