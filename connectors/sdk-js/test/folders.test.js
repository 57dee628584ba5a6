// The README's connector, and the template of a new connector, in a folder that has the package as
// an author's folder has it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TEMPLATE = join(ROOT, "../../host/authoring/src/new/templates/javascript");

/** Runs the tests that are among these files, and expects this number of tests to pass. */
function passes(files, count) {
  const folder = mkdtempSync(join(tmpdir(), "connector-"));
  try {
    mkdirSync(join(folder, "node_modules/@connector-gateway"), { recursive: true });
    symlinkSync(ROOT, join(folder, "node_modules/@connector-gateway/sdk"));
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), content);
    }
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const output = execFileSync(process.execPath, ["--test", "--test-reporter=tap"], { cwd: folder, env, encoding: "utf8" });
    assert.match(output, new RegExp(`# pass ${count}\n`));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("the test of the readme passes", () => {
  const text = readFileSync(join(ROOT, "README.md"), "utf8");
  const [connector, itsTest] = [...text.matchAll(/```js\n(.*?)```/gs)].map((found) => found[1]);
  passes({ "package.json": '{"type": "module"}', "dictionary.js": connector, "dictionary.test.js": itsTest }, 1);
});

for (const auth of ["none", "api-key", "oauth2"]) {
  test(`the test of a new connector with ${auth} passes`, () => {
    const values = { auth: readFileSync(join(TEMPLATE, "auth", `${auth}.js`), "utf8"), identifier: "words", title: "Words", version: "0.1.0" };
    const fill = (text) => Object.entries(values).reduce((filled, [name, value]) => filled.replaceAll(`{{${name}}}`, value), text);
    const names = ["package.json", "connector.js", "connector.test.js"];
    const files = Object.fromEntries(names.map((name) => [name, fill(readFileSync(join(TEMPLATE, name), "utf8"))]));
    passes({ ...files, "recordings/define.json": readFileSync(join(TEMPLATE, "../recording.json"), "utf8") }, 2);
  });
}
