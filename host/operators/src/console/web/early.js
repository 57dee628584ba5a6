// Asks for the list of the first screen. It is in the page itself, so that the request is on its way while the browser still loads the
// modules. `api.js` takes the answer.

{
  /** The screens that begin with the list of this name. */
  const LISTS = [
    "audit", "calls", "connectors", "gateways", "hook-requests", "inboxes", "integrations", "jobs", "keys", "tenants", "triggers", "webhooks",
  ];
  const name = location.hash.replace(/^#\/?/, "").replace(/\/$/, "") || "calls";
  if (LISTS.includes(name)) {
    const address = new URL(`admin/${name}`, document.baseURI);
    globalThis.askedEarly = { path: `/admin/${name}`, answer: fetch(address, { credentials: "same-origin" }).catch(() => null) };
  }
}
