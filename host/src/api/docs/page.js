// Calls go to the gateway that served this page, whatever `public_url` says. The key stays in memory until the page is closed.
const [, root, connector] = location.pathname.match(/^(.*)\/docs(?:\/([a-z0-9_]+))?$/);
const gateway = location.origin + root;
const part = connector ? `?connector=${connector}` : "";

Scalar.createApiReference("#page", {
  url: `${gateway}/openapi.json${part}`,
  servers: [{ url: gateway }],
  persistAuth: false,
  // Nothing leaves the gateway: no fonts, no telemetry, no services of the library's makers.
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: "never",
  // The schemas are shown where they are used.
  hideModels: true,
});
