// What the search field takes: the id of anything, what a person goes by, or the beginning of a key. One thing is opened, of several the
// operator chooses.

import { useLayoutEffect } from "preact/hooks";
import { call, ifUnknown, useLoad, withQuery } from "./api.js";
import { Awaited, html, Title } from "./parts.js";
import { SECRET, to } from "./route.js";
import { words } from "./words.js";

const say = words.find;

/** Returns `true` if there is an entry of the name. `lookups` are the lists in which one could be, with their filters. */
async function isIn(lookups, signal) {
  const has = async ([path, list, query]) => (await call("GET", withQuery(path, { limit: 1, ...query }), { signal }))[list].length > 0;
  return (await Promise.all(lookups.map(has))).some(Boolean);
}

/** Returns `true` if something that is kept has this tenant. */
export async function isTenant(name, signal) {
  const lists = [["/admin/keys", "keys", { tenant: name }], ["/admin/integrations", "integrations", { tenant: name }], ["/admin/jobs", "jobs", { tenant: name }]];
  const clients = [[`/admin/tenants/${encodeURIComponent(name)}/oauth_clients`, "oauth_clients"]];
  // Not every text can be in the path of the last one. No tenant has such a name.
  return (await Promise.all([isIn(lists, signal), isIn(clients, signal).catch(() => false)])).some(Boolean);
}

/** The places of everything that has the name. Each has the text of its link. */
async function places(name, signal) {
  const found = (place, label) => ({ href: to(place), label });
  const keysOf = async (query) => {
    const { keys } = await call("GET", withQuery("/admin/keys", query), { signal });
    return keys.map((one) => found(["keys", one.id], say.key(one.name, one.prefix)));
  };
  const lookups = [
    call("GET", `/admin/calls/${encodeURIComponent(name)}`, { signal }).then(() => found(["calls", name], words.calls.one(name)), ifUnknown(null)),
    isIn([
      ["/admin/integrations", "integrations", { account: name }],
      ["/admin/integrations", "integrations", { subject: name }],
      ["/admin/connect-links", "connect_links", { subject: name }],
      ["/admin/calls", "calls", { account: name }],
      ["/admin/calls", "calls", { subject: name }],
      ["/admin/jobs", "jobs", { subject: name }],
      ["/admin/triggers", "triggers", { subject: name }],
      ["/admin/keys", "keys", { subject: name }],
    ], signal).then((is) => is && found(["people", name], words.people.one(name))),
    isTenant(name, signal).then((is) => is && found(["tenants", name], words.tenants.one(name))),
    isIn([["/admin/connectors", "connectors", { connector: name }]], signal).then((is) => is && found(["connectors", name], words.connectors.one(name))),
    keysOf({ name }),
    SECRET.test(name) && keysOf({ prefix: name }),
  ];
  return (await Promise.all(lookups)).flat().filter(Boolean);
}

/** The screen. */
export function Find({ id: name }) {
  const { data, problem } = useLoad((signal) => places(name, signal), [name]);
  const only = data?.length === 1 ? data[0].href : null;
  useLayoutEffect(() => {
    // The way back leads to where the operator has searched, and not to here.
    if (only) location.replace(only);
  }, [only]);
  return html`
    <${Title}>${say.title(name)}<//>
    <${Awaited} data=${!only && data} problem=${problem} />
    <p role="status">${data?.length === 0 && say.nothing}${data?.length > 1 && say.several}</p>
    ${data?.length === 0 && html`<p>${say.hint}</p>`}
    ${data?.length > 1 && html`<ul>${data.map((one) => html`<li><a href=${one.href}>${one.label}</a></li>`)}</ul>`}
  `;
}
