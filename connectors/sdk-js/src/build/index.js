// From the module of a connector to a component: one bundle of all files, with a JavaScript engine.

import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { bundle } from "./bundle.js";
import { check } from "./check.js";

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));

/** The contract: a copy of `wit/connector.wit`, which `make sdks` makes, because npm packs no file from above the package. */
const CONTRACT = join(PACKAGE, "connector.wit");

/**
 * The engines. Both evaluate the module once, during the build, and store the memory of that
 * moment.
 */
const ENGINES = {
  /**
   * Firefox's engine, with the web APIs (`URL`, `TextEncoder`, …). Without its features it imports
   * no WASI.
   */
  async spidermonkey(sourcePath) {
    const { componentize } = await import("@bytecodealliance/componentize-js");
    const disableFeatures = ["stdio", "random", "clocks", "http", "fetch-event"];
    const { component } = await componentize({ sourcePath, witPath: CONTRACT, worldName: "connector", disableFeatures });
    return component;
  },

  /**
   * A small engine: the module is a seventh of the size, and a call takes half of the time. It has
   * no web APIs.
   */
  async quickjs(jsPath, jsSource) {
    const { componentize } = await import("componentize-qjs");
    const found = await componentize({ witPath: CONTRACT, jsSource, jsPath, world: "connector", stubWasi: true, sync: true });
    return found.component;
  },
};

/** The component of the connector whose module is this file. */
export async function build(source, engine = "spidermonkey") {
  if (!existsSync(source)) throw new Error(`there is no file \`${source}\``);
  if (!Object.hasOwn(ENGINES, engine)) throw new Error(`there is no engine \`${engine}\`; the engines are ${Object.keys(ENGINES).join(" and ")}`);
  const folder = await mkdtemp(join(tmpdir(), "connector-"));
  try {
    await check(source, PACKAGE, folder);
    const code = await bundle(source, PACKAGE);
    const path = join(folder, "connector.js");
    await writeFile(path, code);
    return await ENGINES[engine](path, code);
  } finally {
    await rm(folder, { recursive: true });
  }
}
