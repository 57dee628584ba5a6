// Calls go to the gateway that served this page, whatever `public_url` says. The key stays in memory until the page is closed.
const gateway = new URL(".", location.href).href.replace(/\/$/, "");

Scalar.createApiReference("#page", {
  url: `${gateway}/openapi.json`,
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
