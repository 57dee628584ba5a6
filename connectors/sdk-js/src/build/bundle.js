// One file of the connector's module, the SDK and the packages that they import, with the origin of
// each line.

import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { rolldown } from "rolldown";
import { parseAst } from "rolldown/parseAst";

import { refuseDuplicates } from "./duplicates.js";
import { linesOf } from "./lines.js";
import { wrongImport } from "./names.js";
import { refuseWaiting } from "./waiting.js";

const ENTRY = "connector:entry";

/** Names of files with JavaScript or TypeScript. */
const SCRIPT = /\.[cm]?[jt]s$/;

/** The component: one bundle as text. The engine evaluates it once. */
export async function bundle(source, sdk) {
  // The check of the table comes before this, and its messages name the operation.
  const refuse = [refuseDuplicates, refuseWaiting];
  const { code, lines } = await bundled(sdk, refuse, `
    import { component } from ${JSON.stringify(join(sdk, "src/component.js"))};
    import table from ${JSON.stringify(resolve(source))};
    export const { describe, invoke } = component(table, () => CONNECTOR_LINES);
  `);
  return `${code}\nconst CONNECTOR_LINES = ${JSON.stringify(lines)};\n`;
}

/** The module of a connector without the component, which Node.js can load, with its source map. */
export async function tableOf(source, sdk) {
  const { code, map } = await bundled(sdk, [refuseDuplicates], `export { default } from ${JSON.stringify(resolve(source))};`);
  const sources = map.sources.map((file) => pathToFileURL(resolve(file)).href);
  const text = JSON.stringify({ version: 3, names: [], sources, mappings: map.mappings });
  return `${code}\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(text).toString("base64")}\n`;
}

/** `refuse` has functions that throw at a mistake in a file of the author. */
async function bundled(sdk, refuse, entry) {
  // The bundler would add its stack to the message.
  let mistake;
  const found = await rolldown({
    input: ENTRY,
    external: /^gateway:connector\//,
    platform: "neutral",
    onLog(level, log, handle) {
      mistake ??= wrongImport(log, sdk);
      if (mistake === undefined) handle(level, log);
    },
    // Many packages name their module in `main` alone.
    resolve: { alias: { "@connector-gateway/sdk": join(sdk, "src/index.js") }, mainFields: ["module", "main"] },
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === ENTRY ? id : null),
        load: (id) => (id === ENTRY ? entry : null),
      },
      {
        name: "mistakes",
        // Only the author's files: packages have been published, and may do as they like.
        transform(text, id) {
          if (id === ENTRY || id.startsWith(sdk) || id.includes("/node_modules/") || !SCRIPT.test(id)) return;
          let program;
          try {
            program = parseAst(text, { lang: "tsx" }, id);
          } catch {
            // The bundler reports a syntax error better.
            return;
          }
          try {
            for (const check of refuse) check(program, text, relative(process.cwd(), id));
          } catch (error) {
            mistake = error;
            throw error;
          }
        },
      },
    ],
  });
  const generated = found.generate({ format: "esm", sourcemap: true, file: "connector.js" });
  const { output } = await generated.catch((error) => {
    throw mistake ?? error.errors?.map((log) => wrongImport(log, sdk)).find(Boolean) ?? error;
  });
  await found.close();
  if (mistake !== undefined) throw mistake;
  const [{ code, map }] = output;
  const lines = linesOf(map, (file) => {
    const path = resolve(file);
    return path.startsWith(sdk) || file.includes(ENTRY) ? undefined : relative(process.cwd(), path);
  });
  return { code: code.replace(/\/\/# sourceMappingURL=.*\s*$/, ""), map, lines };
}
