// Triggers of all tenants: the list, and one trigger with the evidence of its state. Only keys of its tenant see its events.

import { useState } from "preact/hooks";
import { call, useDocument, withQuery } from "./api.js";
import { ChangeButton } from "./dialog.js";
import { List } from "./list.js";
import { Awaited, Code, ExactTime, Facts, html, IdLink, Refresh, Section, State, Table, Text, text, Time, Title } from "./parts.js";
import { go, to } from "./route.js";
import { Attempts } from "./webhooks.js";
import { words } from "./words.js";

const say = words.triggers;

/** The events that a trigger shows. */
const SHOWN = 50;

/** The columns of a table of triggers. */
export const columns = [
  [say.type, (one) => html`<a href=${to(["triggers", one.id])}><${Text} of=${`${one.connector}.${one.type}`} /></a>`, (one) => `${one.connector}.${one.type}`],
  [words.tenant, (one) => html`<${IdLink} kind="tenants" id=${one.tenant} />`, (one) => one.tenant],
  [say.account, (one) => html`<${Text} of=${one.user_identifier} />`, (one) => one.user_identifier],
  [words.status, (one) => html`<${State} of=${one.status} />`, (one) => one.status],
  [say.reason, (one) => html`<${Text} of=${one.reason} />`, (one) => one.reason],
  [say.mode, (one) => text(one.mode), (one) => one.mode],
  [say.lastPush, (one) => html`<${Time} at=${one.subscription?.last_push_at} />`, (one) => one.subscription?.last_push_at],
  [say.lastRead, (one) => html`<${Time} at=${one.last_read_at} />`, (one) => one.last_read_at],
  [say.lastEvent, (one) => html`<${Time} at=${one.last_event_at} />`, (one) => one.last_event_at],
  [say.ends, (one) => html`<${Time} at=${one.subscription?.expires_at} />`, (one) => one.subscription?.expires_at],
];

/** The list. */
export const Triggers = ({ query }) => html`
  <${Title}>${say.title}<//>
  <p>${say.lead}</p>
  <${List} place=${["triggers"]} query=${query} path="/admin/triggers" name="triggers" caption=${say.title} columns=${columns} />
`;

/** One trigger. */
export function Trigger({ id, session }) {
  const path = `/admin/triggers/${encodeURIComponent(id)}`;
  const loaded = useDocument(path);
  const { data: one, problem, reload, count } = loaded;
  const isOwn = one && one.tenant === session.tenant && !one.subject && session.scopes.includes("integrate");
  return html`
    <${Title}>${say.one(one ? `${text(one.connector)}.${text(one.type)}` : id)}<//>
    <p class="buttons">
      <a href=${to(["triggers"])}>${say.title}</a>
      <${Refresh} of=${loaded} />
      ${one && html`<${Changes} one=${one} path=${path} isOwn=${isOwn} reload=${reload} />`}
    </p>
    <${Awaited} data=${one} problem=${problem} />
    ${one && html`<${Details} one=${one} />`}
    ${one && (isOwn ? html`<${Events} id=${id} turn=${count} />` : html`<${Section} title=${say.events}><p>${say.ofOthers(text(one.tenant))}</p><//>`)}
  `;
}

function Changes({ one, path, isOwn, reload }) {
  const own = `/triggers/${encodeURIComponent(one.id)}`;
  const change = (method, path, message) => async (options) => {
    await call(method, path, options);
    return message;
  };
  const remove = async (options) => {
    const { unsubscribed } = await call("DELETE", path, options);
    return unsubscribed === false ? say.removedNotEnded : say.removed;
  };
  const type = `${text(one.connector)}.${text(one.type)}`;
  return html`
    ${isOwn && html`
      <${ChangeButton} label=${say.test} what=${html`<p>${say.testWhat}</p>`} change=${change("POST", `${own}/test`, say.tested)} onDone=${reload} isAudited=${false} />
      <${ChangeButton} label=${say.read} what=${html`<p>${say.readWhat}</p>`} change=${change("POST", `${own}/read`, say.reading)} onDone=${reload} isAudited=${false} />
    `}
    <${ChangeButton} label=${say.resubscribe} what=${html`<p>${say.resubscribeWhat}</p>`}
      change=${change("POST", `${path}/resubscribe`, say.resubscribed)} onDone=${reload} />
    <${ChangeButton} label=${say.remove} title=${say.removeTitle(type)} danger=${true}
      what=${html`<p>${say.removeWhat(type, one.user_identifier, text(one.tenant), one.urls.length)} ${say.unsent(one.pending_deliveries)}</p>`}
      change=${remove} onDone=${() => go(["triggers"])} />
  `;
}

function Details({ one }) {
  const { connector, tenant, subject, subscription } = one;
  const account = { tenant, connector, subject: subject ?? "", user_identifier: one.user_identifier };
  const pairs = Object.entries(one.labels).map(([name, value]) => `${name}: ${value}`).join(", ");
  return html`
    ${one.status !== "active" && html`<div class="reason"><p><${State} of=${one.status} /> ${say.who[one.status] ?? ""} <${Text} of=${one.reason} /></p></div>`}
    <${Facts} of=${[
      [words.id, html`<${Text} of=${one.id} />`],
      [words.status, html`<${State} of=${one.status} />`],
      [words.connector, html`<${IdLink} kind="connectors" id=${connector} />`],
      [say.type, html`<${Text} of=${one.type} />`],
      [words.tenant, html`<${IdLink} kind="tenants" id=${tenant} />`],
      [words.subject, html`<${IdLink} kind="people" id=${subject} />`],
      [say.account, one.user_identifier && html`<a href=${to(["integrations"], account)}><${Text} of=${one.user_identifier} /></a>`],
      [say.mode, text(one.mode)],
      [say.lastPush, html`<${ExactTime} at=${subscription?.last_push_at} />`],
      [say.lastRead, html`<${ExactTime} at=${one.last_read_at} />`],
      [say.nextRead, html`<${ExactTime} at=${one.next_read_at} />`],
      [say.lastEvent, html`<${ExactTime} at=${one.last_event_at} />`],
      [say.renewed, html`<${ExactTime} at=${subscription?.renewed_at} />`],
      [say.ends, html`<${ExactTime} at=${subscription?.expires_at} />`],
      [say.pending, one.pending_deliveries],
      [say.parameters, html`<${Text} of=${one.parameters} />`],
      [say.urls, one.urls.length ? html`<${Text} of=${one.urls.join(" ")} />` : say.noUrls],
      [say.filters, html`<${Text} of=${one.filters?.length ? one.filters : null} />`],
      [say.fields, html`<${Text} of=${one.response_fields?.join(", ")} />`],
      [words.integrations.labels, html`<${Text} of=${pairs} />`],
      [say.seconds, one.poll_s ?? say.ofType],
      [words.created, html`<${ExactTime} at=${one.created_at} />`],
    ]} />
    <ul>
      <li><a href=${to(["webhooks"], { tenant })}>${say.itsWebhooks}</a></li>
      <li><a href=${to(["hook-requests"], { connector })}>${say.itsPushes}</a></li>
      <li><a href=${to(["audit"], { target: one.id })}>${say.itsAudit}</a></li>
    </ul>
  `;
}

function Events({ id, turn }) {
  const path = `/triggers/${encodeURIComponent(id)}/events`;
  const { data, problem, loading } = useDocument(withQuery(path, { order: "newest", limit: SHOWN }), turn);
  const events = data?.events;
  return html`<${Section} title=${say.events}>
    <${Awaited} data=${events} problem=${problem} />
    ${events?.length === 0 && html`<p aria-busy=${loading ? "true" : "false"}>${loading ? words.loading : say.noEvents}</p>`}
    ${events?.length > 0 && html`<${Table} caption=${say.eventsCaption} rows=${events} keyOf=${(one) => one.event.id} busy=${loading} columns=${[
      [words.time, (one) => html`<${Time} at=${one.timestamp} />`],
      [words.id, (one) => html`<${Text} of=${one.event.id} />`],
      [say.type, (one) => html`<${Text} of=${one.type} />`],
      [say.source, (one) => text(one.event.source)],
      [say.sequence, (one) => one.event.sequence],
      [say.show, (one) => html`<${Whole} path=${`${path}/${encodeURIComponent(one.event.id)}`} event=${one} />`],
    ]} />`}
  <//>`;
}

/** The data of an event and its webhooks, which are read when someone looks. */
function Whole({ path, event: { data, event } }) {
  const [isOpen, setIsOpen] = useState(false);
  return html`<details onToggle=${(toggled) => setIsOpen(toggled.currentTarget.open)}><summary>${say.show}</summary>
    <${Code} label=${say.dataOf(event.sequence)}>${JSON.stringify(data, null, 2)}<//>
    ${isOpen && html`<${Deliveries} path=${path} />`}
  </details>`;
}

function Deliveries({ path }) {
  const { data, problem } = useDocument(path);
  const line = (one) => html`<li><${Text} of=${one.url ?? one.receiver} /> <${State} of=${one.status} /> <${Attempts} of=${one.attempts} /></li>`;
  return html`<${Awaited} data=${data} problem=${problem} />${data && html`<ul>${data.deliveries.map(line)}</ul>`}`;
}
