// Names that are not there stop the build, with file and line and what to write.

import assert from "node:assert/strict";
import { test } from "node:test";

import { undefinedName, wrongImport } from "../src/build/names.js";

test("a name that is not defined is named with the nearest one, or with its import", () => {
  assert.equal(undefinedName("strng is not defined"), "`strng` is not defined; the nearest name of the SDK is `string`");
  assert.equal(undefinedName("integer is not defined"), '`integer` is not defined; import it: `import { integer } from "@connector-gateway/sdk"`');
  assert.equal(undefinedName("zzzzzz is not defined"), "`zzzzzz` is not defined; correct the name, or import it");
  const early = "Cannot access 'a' before initialization";
  assert.equal(undefinedName(early), early);
});

test("a wrong import is named with its place", () => {
  const log = (code, more) => ({ code, id: `${process.cwd()}/words.js`, loc: { line: 3 }, message: "", ...more });
  const of = (code, more) => wrongImport(log(code, more), "/sdk")?.message;
  assert.equal(of("UNRESOLVED_IMPORT", { exporter: "csv" }), "words.js:3: there is no module `csv`; install its package, or correct its name");
  const missing = '[MISSING_EXPORT] "strin" is not exported by "x".';
  assert.equal(
    of("MISSING_EXPORT", { exporter: "/sdk/src/index.js", message: missing }),
    "words.js:3: `@connector-gateway/sdk` has no `strin`; the nearest name of the SDK is `string`",
  );
  assert.equal(
    of("MISSING_EXPORT", { exporter: `${process.cwd()}/other.js`, message: missing }),
    "words.js:3: `other.js` has no `strin`; correct the name, or export it there",
  );
  assert.equal(of("UNRESOLVED_IMPORT", { id: "/a/node_modules/b/c.js", exporter: "fs" }), undefined);
  assert.equal(of("EVAL", {}), undefined);
});
