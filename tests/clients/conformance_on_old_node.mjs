// Lets the conformance suite of the Model Context Protocol run on Node.js 20, which lacks `globSync` in the module `fs`. The suite
// imports the function for commands that the tests do not use.
import { register } from "node:module";

const module = `
  export * from "node:fs";
  export { default } from "node:fs";
  export const globSync = () => { throw new Error("there is no globSync"); };
`;
const hooks = `
  export const resolve = (specifier, context, next) =>
    specifier === "fs" && context.parentURL?.includes("/conformance/dist/")
      ? { url: ${JSON.stringify(`data:text/javascript,${encodeURIComponent(module)}`)}, shortCircuit: true }
      : next(specifier, context);
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
