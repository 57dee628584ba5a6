// Calls go to the gateway that served this page, whatever `public_url` says. The key stays in memory until the page is closed.
const [, root, connector] = location.pathname.match(/^(.*)\/docs(?:\/([a-z0-9_]+))?$/);
const gateway = location.origin + root;
const part = connector ? `?connector=${connector}&answers=typed` : "";

// The library's greys have too little contrast (WCAG 2.1, 1.4.3).
const colors = `
  .light-mode { --scalar-color-2: #525252; --scalar-color-3: #616161; --scalar-color-accent: #0058b8;
    --scalar-color-blue: #0066ad; --scalar-color-green: #0a6b2d; --scalar-color-orange: #9a4a00; --scalar-color-red: #b3261e; }
  .dark-mode { --scalar-color-2: #bdbdbd; --scalar-color-3: #ababab; --scalar-color-accent: #6cb6ff; }
`;

// The title of an operation is its name in the path, which callers look for. Its summary begins the description.
function named(description) {
  for (const [path, item] of Object.entries(description.paths)) {
    const name = path.match(/^\/connectors\/[^/{}]+\/([^/{}]+)$/)?.[1];
    if (!name) continue;
    item.post.description = `${item.post.summary}\n\n${item.post.description}`;
    item.post.summary = name;
  }
  return description;
}

// Enter in the search opens the first hit, unless another one is selected.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing || event.target.getAttribute("role") !== "combobox") return;
  const list = document.getElementById(event.target.getAttribute("aria-controls")) ?? event.target.closest("[role=dialog]");
  if (!list || list.querySelector("[role=option][aria-selected=true]")) return;
  list.querySelector("a[role=option]")?.click();
}, true);

async function show() {
  const answer = await fetch(`${gateway}/openapi.json${part}`);
  if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`);
  Scalar.createApiReference("#page", {
    content: named(await answer.json()),
    servers: [{ url: gateway }],
    customCss: colors,
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
}

show().catch((error) => {
  document.getElementById("page").textContent = `The description cannot be read: ${error.message}`;
});
