// The connector and the test of the README, in a folder that has the package as an author's folder has it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

test("the test of the readme passes", () => {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const blocks = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/```js\n(.*?)```/gs)].map((found) => found[1]);
  const folder = mkdtempSync(join(tmpdir(), "readme-"));
  try {
    mkdirSync(join(folder, "node_modules/@connector-gateway"), { recursive: true });
    symlinkSync(root, join(folder, "node_modules/@connector-gateway/sdk"));
    writeFileSync(join(folder, "package.json"), '{"type": "module"}');
    for (const [index, name] of ["dictionary.js", "dictionary.test.js"].entries()) writeFileSync(join(folder, name), blocks[index]);
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const said = execFileSync(process.execPath, ["--test", "--test-reporter=tap", "dictionary.test.js"], { cwd: folder, env, encoding: "utf8" });
    assert.match(said, /# pass 1\n/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
