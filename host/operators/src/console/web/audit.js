// The audit: every change by a person, a key or a file.

import { List } from "./list.js";
import { Actor, html, IdLink, Text, Time, Title } from "./parts.js";
import { placeOf, to } from "./route.js";
import { words } from "./words.js";

const say = words.audit;

/** The target of a change, which leads to its screen if it is an id or a connector. */
function Target({ entry: { action, target } }) {
  const place = action.startsWith("connector.") ? [["connectors", target]] : placeOf(target);
  if (place[0][0] === "find") return html`<${Text} of=${target} />`;
  return html`<a href=${to(...place)}><${Text} of=${target} /></a>`;
}

const columns = [
  [words.time, (entry) => html`<${Time} at=${entry.at} />`, (entry) => entry.at],
  [say.action, (entry) => html`<${Text} of=${entry.action} />`, (entry) => entry.action],
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
