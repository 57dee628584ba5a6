// What services have sent to the gateway.

import { List } from "./list.js";
import { html, IdLink, State, Text, text, Time, Title } from "./parts.js";
import { to } from "./route.js";
import { words } from "./words.js";

const say = words.hookRequests;

/** The inbox, or the subscription of triggers, which has no screen. */
const address = (one) => (one.address?.startsWith("inb_") ? html`<${IdLink} kind="inboxes" id=${one.address} />` : html`<${Text} of=${one.address} />`);

/** The columns of a table of requests. */
export const columns = [
  [words.time, (one) => html`<${Time} at=${one.at} />`, (one) => one.at],
  [say.outcome, (one) => html`<${State} of=${one.outcome} />`, (one) => one.outcome],
  [say.reason, (one) => html`<${Text} of=${one.reason} />`, (one) => one.reason],
  [say.kind, (one) => html`<${Text} of=${one.kind} />`, (one) => one.kind],
  [say.events, (one) => one.events, (one) => one.events],
  [say.address, address],
  [words.connector, (one) => html`<${IdLink} kind="connectors" id=${one.connector} />`, (one) => one.connector],
  [say.remote, (one) => html`<${Text} of=${one.remote} />`, (one) => one.remote],
  [say.duration, (one) => words.ms(one.ms), (one) => one.ms],
  [say.size, (one) => words.bytes(one.bytes), (one) => one.bytes],
  [words.gateway, (one) => html`<${Text} of=${text(one.gateway)} />`, (one) => one.gateway],
];

/** The list. */
export const HookRequests = ({ query }) => html`
  <${Title}>${say.title}<//>
  <p>${say.lead}</p>
  <p><a href=${to(["inboxes"])}>${words.inboxes.title}</a></p>
  <${List} place=${["hook-requests"]} query=${query} path="/admin/hook-requests" name="hook_requests" caption=${say.caption}
    columns=${columns} />
`;
