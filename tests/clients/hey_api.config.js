// The settings of the generator Hey API. Node.js imports files by their whole names.
export default {
  input: "openapi.json",
  output: { path: "hey_api", importFileExtension: ".js" },
  plugins: ["@hey-api/client-fetch", "@hey-api/sdk", "@hey-api/typescript"],
};
