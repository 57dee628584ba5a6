// The gateways of the service.

import { List } from "./list.js";
import { html, State, Text, Time, Title } from "./parts.js";
import { words } from "./words.js";

const say = words.gateways;

const columns = [
  [say.name, (one) => html`<${Text} of=${one.name} />`, (one) => one.name],
  [words.status, (one) => html`<${State} of=${one.state} />`, (one) => one.state],
  [say.address, (one) => html`<${Text} of=${one.address} />`],
  [say.version, (one) => html`<${Text} of=${one.version} />`, (one) => one.version],
  [say.started, (one) => html`<${Time} at=${one.started_at} />`, (one) => one.started_at],
  [say.seen, (one) => html`<${Time} at=${one.seen_at} />`, (one) => one.seen_at],
  [words.connectors.title, ({ connectors }) => say.counts(connectors)],
  [say.calls, (one) => one.calls, (one) => one.calls],
  [say.jobs, (one) => one.jobs, (one) => one.jobs],
  [say.memory, ({ memory }) => say.share(memory.held_bytes, memory.limit_bytes), ({ memory }) => (memory.limit_bytes ? memory.held_bytes / memory.limit_bytes : null)],
];

/** The list. */
export const Gateways = ({ query }) => html`
  <${Title}>${say.title}<//>
  <p>${say.lead}</p>
  <${List} place=${["gateways"]} query=${query} path="/admin/gateways" name="gateways" caption=${say.title} columns=${columns} />
`;
