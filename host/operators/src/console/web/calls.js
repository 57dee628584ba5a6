// Records of calls: the list, and everything about one call.

import { call, useDocument, useLoad, withQuery } from "./api.js";
import { curl } from "./commands.js";
import { List } from "./list.js";
import { Actor, Awaited, Code, ExactTime, Facts, html, IdLink, Refresh, Section, State, Status, Table, Text, text, Time, Title } from "./parts.js";
import { to } from "./route.js";
import { words } from "./words.js";

const say = words.calls;

/** The columns of a table of calls. */
export const columns = [
  [say.at, (call) => html`<a href=${to(["calls", call.request_id])}><${Time} at=${call.at} /></a>`, (call) => call.at],
  [say.status, (call) => html`<${Status} of=${call.status} />`, (call) => call.status],
  [say.problem, (call) => html`<${Text} of=${call.problem} />`, (call) => call.problem],
  [say.owner, (call) => text(call.owner), (call) => call.owner],
  [say.operation, (call) => html`<${IdLink} kind="connectors" id=${call.connector} /> / <${Text} of=${call.operation} />`, (call) => `${call.connector}/${call.operation}`],
  [say.tenant, (call) => html`<${IdLink} kind="tenants" id=${call.tenant} />`, (call) => call.tenant],
  [say.person, (call) => html`<${IdLink} kind="people" id=${call.subject ?? call.user_identifier} />`, (call) => call.subject ?? call.user_identifier],
  [say.duration, (call) => words.ms(call.duration_ms), (call) => call.duration_ms],
  [words.requestId, (call) => html`<${IdLink} kind="calls" id=${call.request_id} />`],
];

/** The list. */
export const Calls = ({ query }) => html`
  <${Title}>${say.title}<//>
  <p>${say.lead}</p>
  <${List} place=${["calls"]} query=${query} path="/admin/calls" name="calls" caption=${say.title} columns=${columns} />
`;

/** One call: its reason first, then its stages, its requests, and the command that repeats it. */
export function Call({ id, session }) {
  const loaded = useDocument(`/admin/calls/${encodeURIComponent(id)}`);
  const { data: call, problem } = loaded;
  return html`
    <${Title}>${say.one(id)}<//>
    <p class="buttons"><a href=${to(["calls"])}>${say.title}</a> <${Refresh} of=${loaded} /></p>
    <${Awaited} data=${call} problem=${problem} />
    ${call && html`<${Details} call=${call} session=${session} />`}
  `;
}

function Details({ call, session }) {
  const { connector, operation, tenant, subject, user_identifier: account } = call;
  const accounts = { tenant, connector, subject: subject ?? "", user_identifier: account };
  return html`
    <${Reason} call=${call} />
    <${Facts} of=${[
      [words.operation, html`<${IdLink} kind="connectors" id=${connector} /> / <${Text} of=${operation} />`],
      [say.version, html`<${Text} of=${call.version} />`],
      [say.status, html`<${Status} of=${call.status} />`],
      [say.problem, html`<${Text} of=${call.problem} />`],
      [say.at, html`<${ExactTime} at=${call.at} />`],
      [say.duration, words.ms(call.duration_ms)],
      [words.tenant, html`<${IdLink} kind="tenants" id=${tenant} />`],
      [words.subject, html`<${IdLink} kind="people" id=${subject} />`],
      [words.integrations.account, account && html`<a href=${to(["integrations"], accounts)}><${Text} of=${account} /></a>`],
      [words.key, html`<${Actor} of=${call.key_id} />`],
      [words.gateway, html`<a href=${to(["gateways"])}><${Text} of=${call.gateway} /></a>`],
      [say.idempotency, html`<${Text} of=${call.idempotency} />`],
      [words.job, html`<${IdLink} kind="jobs" id=${call.job_id} />`],
    ]} />
    <${Stages} stages=${call.stages} failed=${Boolean(call.problem)} />
    <${Upstream} upstream=${call.upstream} />
    ${isOperation(operation) && html`<${Section} title=${say.repeat}>
      <p>${say.repeatLead} <a href=${to(["try", connector, operation])}>${say.tryIt}</a></p>
      <${Code} label="curl">${curl(session, connector, operation, null, account && { "X-User-Identifier": account })}<//>
    <//>`}
  `;
}

/** Requests to `/proxy` and connections have these names in place of an operation's. */
const isOperation = (name) => !["proxy", "connect"].includes(name);

/** Who can solve a problem, and how. */
export const tellWho = (call) => [say.who[call.owner], say.todo[call.problem]].filter(Boolean).join(" ");

/** Why the call ended as it did, who can act, and where. */
function Reason({ call }) {
  if (!call.problem) return html`<p class="reason">${call.status ? say.succeeded : say.left}</p>`;
  const stage = Object.keys(call.stages).at(-1);
  const last = call.upstream.at(-1);
  return html`<div class="reason">
    <p><strong><${Text} of=${call.problem} /></strong> ${stage && say.inStage(stage)}</p>
    ${call.detail && html`<p><${Text} of=${call.detail} /></p>`}
    ${call.pointers.length > 0 && html`<p>${say.notValid} <${Text} of=${call.pointers.map((one) => one || "/").join(", ")} /></p>`}
    ${last && html`<p>${say.lastAnswer(text(last.host), last.status ?? words.noStatus, call.upstream.length)}</p>`}
    ${(call.user_identifier || call.owner === "user") && html`<${Account} call=${call} />`}
    <p>${tellWho(call)}</p>
    <p class="buttons">${placesOf(call).map(([place, label]) => html`<a href=${to(...place)}>${label}</a>`)}</p>
  </div>`;
}

/** The places where someone sees what is wrong, or solves it. */
function placesOf({ problem, owner, connector, operation, tenant, subject, user_identifier: account, key_id: key, at }) {
  const hourBefore = new Date(new Date(at) - 3_600_000).toISOString();
  const places = {
    // An agent session has no page.
    key: key?.startsWith("key_") && [["keys", key], say.toKey],
    tries: isOperation(operation) && [["try", connector, operation], say.tryIt],
    connector: [["connectors", connector], say.toConnector],
    client: [["tenants", tenant], say.toClients],
    gateways: [["gateways"], say.toGateways],
    settings: [["settings"], say.toSettings],
    load: [["overview"], say.toOverview],
    others: [["calls"], { connector, problem, since: hourBefore }, say.toOthers],
    person: (subject ?? account) && [["people", subject ?? account], say.toPerson],
  };
  const wanted = PLACES[problem] ?? PLACES_OF_OWNERS[owner] ?? [];
  return [...wanted, "person", "others"].map((name) => places[name]).filter(Boolean).map((place) => [place.slice(0, -1), place.at(-1)]);
}

/** The places of problems that have others than their owner. No name is inherited, as in `todo`. */
const PLACES = {
  __proto__: null,
  "missing-scope": ["key"], "not-allowed": ["key"], "tenant-token-required": ["key"],
  "unknown-connector": [], "unknown-operation": ["connector"],
  "integration-not-configured": ["client", "settings"], not_configured: ["client", "settings"],
  busy: ["load", "gateways"], "rate-limited": ["load"], "store-unavailable": ["gateways", "settings"],
  starting: ["gateways"], draining: ["gateways"], internal: ["gateways"], "cut-off": ["gateways"],
};
const PLACES_OF_OWNERS = { caller: ["tries"], user: [], operator: ["connector", "settings"], connector: ["connector"], provider: [] };

/** The account of the call: its state, and what its provider said last. */
function Account({ call: { tenant, connector, subject, user_identifier: account } }) {
  const wanted = withQuery("/admin/integrations", { tenant, connector, subject: subject ?? "", user_identifier: account, limit: 5 });
  const { data, problem } = useLoad((signal) => call("GET", wanted, { signal }), [wanted]);
  const found = data?.integrations;
  if (!found) return html`<${Awaited} data=${found} problem=${problem} />`;
  if (!found.length) return html`<p>${say.noAccount(text(connector))}</p>`;
  return found.map((one) => html`<p>
    ${say.theAccount} <a href=${to(["integrations", one.id])}><${Text} of=${one.user_identifier} /></a> <${State} of=${one.status} />
    ${one.last_error && html` ${say.providerSaid} <${Text} of=${one.last_error} />`}
  </p>`);
}

/** The stages as bars, one after the other in time. */
function Stages({ stages, failed }) {
  const entries = Object.entries(stages);
  const whole = Math.max(entries.reduce((sum, [, ms]) => sum + ms, 0), 0.001);
  let begin = 0;
  const rows = entries.map(([name, ms], number) => {
    const row = { name, ms, from: begin / whole, part: ms / whole, isLast: number === entries.length - 1 };
    begin += ms;
    return row;
  });
  if (!rows.length) return html`<${Section} title=${say.stages}><p>${say.noStages}</p><//>`;
  const bar = (row) => html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect class="track" width="100" height="8" />
    <rect class=${failed && row.isLast ? "fault" : "done"} x=${row.from * 100} width=${Math.max(row.part * 100, 0.5)} height="8" />
  </svg>`;
  return html`<${Section} title=${say.stages}>
    <div class="wide"><${Table} caption=${say.stagesCaption} rows=${rows} columns=${[
      [say.stage, (row) => html`<span title=${row.name}>${say.stageName(row.name)}</span> ${failed && row.isLast && html`<${State} of=${say.failedHere} tone="bad" />`}`],
      [words.time, (row) => words.ms(row.ms)],
      [say.course, bar],
    ]} /></div>
  <//>`;
}

function Upstream({ upstream }) {
  const columns = [
    [say.request, (one) => html`<${Text} of=${`${one.method} ${one.host}${one.path}`} />`],
    [say.attempt, (one) => one.attempt],
    [say.status, (one) => html`<${Status} of=${one.status} />`],
    [words.time, (one) => words.ms(one.ms)],
    [say.paused, (one) => words.ms(one.paused_ms)],
  ];
  return html`<${Section} title=${say.upstream}>
    ${upstream.length ? html`<div class="wide"><${Table} caption=${say.upstreamCaption} columns=${columns} rows=${upstream} /></div>` : html`<p>${say.noUpstream}</p>`}
  <//>`;
}
