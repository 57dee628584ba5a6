// Accounts of all tenants: the list, and one account with what an operator can do.

import { call, useDocument } from "./api.js";
import { ChangeButton } from "./dialog.js";
import { List } from "./list.js";
import { Awaited, ExactTime, Facts, html, IdLink, Refresh, State, Text, text, Time, Title } from "./parts.js";
import { go, to } from "./route.js";
import { Touches } from "./touches.js";
import { words } from "./words.js";

const say = words.integrations;

/** The columns of a table of accounts. */
export const columns = [
  [say.account, (one) => html`<a href=${to(["integrations", one.id])}><${Text} of=${one.user_identifier} /></a>`, (one) => one.user_identifier],
  [words.connector, (one) => html`<${IdLink} kind="connectors" id=${one.connector} />`, (one) => one.connector],
  [words.tenant, (one) => html`<${IdLink} kind="tenants" id=${one.tenant} />`, (one) => one.tenant],
  [words.subject, (one) => html`<${IdLink} kind="people" id=${one.subject} />`, (one) => one.subject],
  [words.status, (one) => html`<${State} of=${one.status} /> ${one.overdue && html`<${State} of=${say.overdue} tone="bad" />`}`, (one) => one.status],
  [say.nextRefresh, (one) => html`<${Time} at=${one.next_refresh_at} />`, (one) => one.next_refresh_at],
  [say.lastError, (one) => html`<${Text} of=${one.last_error} />`, (one) => one.last_error],
];

/** The list. */
export const Integrations = ({ query }) => html`
  <${Title}>${say.title}<//>
  <p>${say.lead}</p>
  <${List} place=${["integrations"]} query=${query} path="/admin/integrations" name="integrations" caption=${say.title}
    columns=${columns} />
`;

/** One account. */
export function Integration({ id }) {
  const path = `/admin/integrations/${encodeURIComponent(id)}`;
  const loaded = useDocument(path);
  const { data: one, problem, reload } = loaded;
  return html`
    <${Title}>${say.one(one ? text(one.user_identifier) : id)}<//>
    <p class="buttons">
      <a href=${to(["integrations"])}>${say.title}</a>
      <${Refresh} of=${loaded} />
      ${one && html`<${Changes} one=${one} path=${path} reload=${reload} />`}
    </p>
    <${Awaited} data=${one} problem=${problem} />
    ${one && html`<${Details} one=${one} />`}
  `;
}

function Changes({ one, path, reload }) {
  const renew = async (options) => {
    await call("POST", `${path}/renew`, options);
    return say.renewed;
  };
  const remove = async (options) => {
    const { revoked } = await call("DELETE", path, options);
    return revoked ? say.removedAndRevoked : say.removed;
  };
  return html`
    <${ChangeButton} label=${say.renew} what=${html`<p>${say.renewWhat}</p>`} change=${renew} onDone=${reload} />
    <${ChangeButton} label=${say.remove} title=${say.removeTitle(text(one.user_identifier))} danger=${true} what=${html`<${Removed} of=${one} />`} change=${remove} onDone=${() => go(["integrations"])} />
  `;
}

/** What an account takes with it. */
function Removed({ of: { tenant, subject, connector, user_identifier } }) {
  // The accounts of a tenant itself have no user, as an empty filter says.
  const triggers = { path: "/admin/triggers", member: "triggers", filters: { tenant, connector, subject: subject ?? "", user_identifier }, say: say.triggersToo };
  return html`<p>${say.removeWhat(text(user_identifier), text(connector), text(subject ?? tenant))}</p><${Touches} of=${[triggers]} />`;
}

function Details({ one }) {
  const { id, tenant, subject, connector, account, address, labels } = one;
  const pairs = (members) => Object.entries(members).map(([name, value]) => `${name}: ${value}`).join(", ");
  return html`
    ${one.status !== "active" && html`<div class="reason"><p>${say.mustConnect} <${Text} of=${one.last_error ?? one.reason?.detail} /></p></div>`}
    ${one.overdue && html`<div class="reason"><p>${say.overdueWhy} <${Text} of=${one.last_error} /></p></div>`}
    <${Facts} of=${[
      [words.id, html`<${Text} of=${id} />`],
      [words.status, html`<${State} of=${one.status} />`],
      [words.connector, html`<${IdLink} kind="connectors" id=${connector} />`],
      [words.tenant, html`<${IdLink} kind="tenants" id=${tenant} />`],
      [words.subject, html`<${IdLink} kind="people" id=${subject} />`],
      [say.account, html`<${Text} of=${one.user_identifier} />`],
      [say.atService, html`<${Text} of=${[account.name, account.email, account.id].filter(Boolean).join(" · ")} />`],
      [say.address, html`<${Text} of=${pairs(address ?? {})} />`],
      [say.authType, text(one.auth_type)],
      [say.reason, html`<${Text} of=${one.reason?.detail} />`],
      [words.calls.owner, text(one.reason?.owner)],
      [say.lastError, html`<${Text} of=${one.last_error} />`],
      [say.lastRefresh, html`<${ExactTime} at=${one.last_refreshed_at} />`],
      [say.nextRefresh, html`<${ExactTime} at=${one.next_refresh_at} />`],
      [say.failingSince, html`<${ExactTime} at=${one.refresh_failing_since} />`],
      [say.tokenEnd, html`<${ExactTime} at=${one.expires_at} />`],
      [words.created, html`<${ExactTime} at=${one.created_at} />`],
      [say.scopes, html`<${Text} of=${one.scopes.join(" ")} />`],
      [say.labels, html`<${Text} of=${pairs(labels)} />`],
    ]} />
    <ul>
      <li><a href=${to(["calls"], { account: id })}>${say.itsCalls}</a></li>
      <li><a href=${to(["people", subject ?? one.user_identifier])}>${words.calls.toPerson}</a></li>
      <li><a href=${to(["triggers"], { tenant, connector, subject: subject ?? "", user_identifier: one.user_identifier })}>${say.itsTriggers}</a></li>
      <li><a href=${to(["audit"], { target: id })}>${say.itsAudit}</a></li>
    </ul>
  `;
}
