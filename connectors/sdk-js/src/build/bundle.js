// One file of the connector's module, the SDK and the packages that they import, with the origin of
// each line.

import { join, relative, resolve } from "node:path";

import { rolldown } from "rolldown";

import { linesOf } from "./lines.js";

const ENTRY = "connector:entry";

/** The bundle as text. The engine evaluates it once. */
export async function bundle(source, sdk) {
  const entry = `
    import { component } from ${JSON.stringify(join(sdk, "src/component.js"))};
    import table from ${JSON.stringify(resolve(source))};
    export const { describe, invoke } = component(table, () => CONNECTOR_LINES);
  `;
  const found = await rolldown({
    input: ENTRY,
    external: /^gateway:connector\//,
    platform: "neutral",
    resolve: { alias: { "@connector-gateway/sdk": join(sdk, "src/index.js") } },
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === ENTRY ? id : null),
        load: (id) => (id === ENTRY ? entry : null),
      },
    ],
  });
  const { output } = await found.generate({ format: "esm", sourcemap: true, file: "connector.js" });
  await found.close();
  const [{ code, map }] = output;
  const lines = linesOf(map, (file) => {
    const path = resolve(file);
    return path.startsWith(sdk) || file.includes(ENTRY) ? undefined : relative(process.cwd(), path);
  });
  return `${code.replace(/\/\/# sourceMappingURL=.*\s*$/, "")}\nconst CONNECTOR_LINES = ${JSON.stringify(lines)};\n`;
}
