// The audit: every change by a person, a key or a file.

import { List } from "./list.js";
import { Actor, html, IdLink, Text, text, Time, Title } from "./parts.js";
import { words } from "./words.js";

const say = words.audit;

/** The screens of the things that a change has as its target, by the beginning of its action. */
const SCREENS = { key: "keys", integration: "integrations", job: "jobs", connector: "connectors", console: "keys" };

function Target({ entry }) {
  const kind = SCREENS[entry.action.split(".")[0]];
  // A person who signed in at an OpenID provider is no key.
  const isKey = kind !== "keys" || entry.target.startsWith("key_");
  return kind && isKey ? html`<${IdLink} kind=${kind} id=${entry.target} />` : html`<${Text} of=${entry.target} />`;
}

const columns = [
  [words.time, (entry) => html`<${Time} at=${entry.at} />`, (entry) => entry.at],
  [say.action, (entry) => text(entry.action), (entry) => entry.action],
  [say.actor, (entry) => html`<${Actor} of=${entry.actor} />`, (entry) => entry.actor],
  [say.target, (entry) => html`<${Target} entry=${entry} />`, (entry) => entry.target],
  [words.tenant, (entry) => html`<${IdLink} kind="tenants" id=${entry.tenant} />`, (entry) => entry.tenant],
  [say.detail, (entry) => html`<${Text} of=${entry.detail} />`],
  [words.requestId, (entry) => html`<${Text} of=${entry.request_id} />`],
];

/** The list. */
export const Audit = ({ query }) => html`
  <${Title}>${say.title}<//>
  <p>${say.lead}</p>
  <${List} place=${["audit"]} query=${query} path="/admin/audit" name="entries" caption=${say.title} columns=${columns} />
`;
