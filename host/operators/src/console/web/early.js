// Asks for the list of the first screen. It is no module and imports nothing, so that the request is on its way while the browser still
// loads and evaluates the modules. `api.js` takes the answer.

{
  /** The screens that begin with the list of this name. */
  const LISTS = [
    "audit", "calls", "connectors", "gateways", "hook-requests", "inboxes", "integrations", "jobs", "keys", "tenants", "triggers", "webhooks",
  ];
  const name = location.hash.replace(/^#\/?/, "").replace(/\/$/, "") || "calls";
  if (LISTS.includes(name)) {
    const address = new URL(`../admin/${name}`, document.currentScript.src);
    globalThis.askedEarly = { path: `/admin/${name}`, answer: fetch(address, { credentials: "same-origin" }).catch(() => null) };
  }
}
