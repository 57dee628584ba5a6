// Is it well? Each answer leads to its list.

import { useState } from "preact/hooks";
import { all, call, Refusal, send, useLoad, withQuery } from "./api.js";
import { LastHour } from "./charts.js";
import { quantile, series, sum } from "./metrics.js";
import { html, Problem, Section, State, Table, Text, text, Time, Title } from "./parts.js";
import { to } from "./route.js";
import { words } from "./words.js";

const say = words.overview;

/** The most entries that a number counts. More are shown as that many or more. */
const MOST = 200;
const HOUR = 3_600_000;

/** Time before its end from which a key is shown. */
const SOON = 14 * 24 * HOUR;

async function metrics() {
  const answer = await send("GET", "/metrics");
  if (!answer.ok) throw new Refusal(await answer.json());
  return series(await answer.text());
}

/** Everything that the screen shows. Each part is its own request, so that one that fails leaves the others. */
async function load() {
  const since = new Date(Date.now() - HOUR).toISOString();
  const list = (path, query) => call("GET", withQuery(path, { limit: MOST, ...query }));
  const parts = {
    measured: metrics(),
    calls: list("/admin/calls", { since }),
    gateways: list("/admin/gateways"),
    overdue: list("/admin/integrations", { overdue: "true" }),
    expired: list("/admin/integrations", { status: "expired" }),
    waiting: all("/admin/jobs?status=pending", "jobs"),
    webhooks: list("/admin/webhooks", { status: "failed" }),
    here: call("GET", "/connectors"),
    service: list("/admin/connectors"),
    keys: all("/admin/keys", "keys"),
  };
  const settled = await Promise.allSettled(Object.values(parts));
  const refused = settled.find((one) => one.status === "rejected");
  const values = settled.map((one) => one.value);
  return { since, problem: refused?.reason.problem, ...Object.fromEntries(Object.keys(parts).map((name, at) => [name, values[at]])) };
}

/** A number with its name, which leads to its list. */
const Card = ({ name, value, tone, href, children }) => html`<li class="card ${tone}">
  <a href=${href}>${name}</a>
  <p class="number">${value}</p>
  <p class="small">${children}</p>
</li>`;

const many = (list) => (list.length >= MOST ? say.orMore(MOST) : String(list.length));
const toneOf = (list) => (list.length ? "bad" : "good");

/** The screen. */
export function Overview() {
  const [turn, setTurn] = useState(0);
  const { data, loading, problem } = useLoad(load, [turn]);
  return html`
    <${Title}>${say.title}<//>
    <p>${say.lead}</p>
    <p class="buttons"><button type="button" onClick=${() => setTurn(turn + 1)} aria-disabled=${loading ? "true" : "false"}>${words.refresh}</button></p>
    <${Problem} of=${problem ?? data?.problem} />
    ${!data && loading && html`<p>${words.loading}</p>`}
    ${data && html`<ul class="cards"><${Cards} data=${data} /></ul>`}
    <${LastHour} turn=${turn} />
    ${data && html`<${Reasons} data=${data} />`}
  `;
}

function Cards({ data }) {
  const { calls, gateways, overdue, expired, waiting, webhooks, here, service, keys, since } = data;
  const failed = calls?.calls.filter((one) => one.problem) ?? [];
  const lagging = service?.connectors.filter((one) => one.gateways.some((at) => at.state !== "live")) ?? [];
  const away = gateways?.gateways.filter((one) => one.state !== "ready") ?? [];
  const soon = keys?.filter((key) => !key.revoked_at && key.expires_at && new Date(key.expires_at) - Date.now() < SOON) ?? [];
  const oldest = waiting?.at(-1);
  return [
    calls && html`<${Card} name=${say.failed} value=${many(failed)} tone=${toneOf(failed)} href=${to(["calls"], { since })}>${say.lastHour}<//>`,
    html`<${Measured} all=${data.measured} />`,
    gateways && html`<${Card} name=${say.gateways} value=${gateways.gateways.length} tone=${toneOf(away)} href=${to(["gateways"])}>
      ${away.length ? say.notReady(away.length) : say.allReady}<//>`,
    service && html`<${Card} name=${say.connectors} value=${many(lagging)} tone=${toneOf(lagging)} href=${to(["connectors"])}>
      ${lagging.length ? html`<${Text} of=${lagging.map((one) => one.connector).join(", ")} />` : say.allLive}<//>`,
    here && html`<${Card} name=${say.refused} value=${here.refused.length} tone=${toneOf(here.refused)} href=${to(["connectors"])}>${say.refusedHint}<//>`,
    overdue && html`<${Card} name=${say.overdue} value=${many(overdue.integrations)} tone=${toneOf(overdue.integrations)}
      href=${to(["integrations"], { overdue: "true" })}>${say.overdueHint}<//>`,
    expired && html`<${Card} name=${say.expired} value=${many(expired.integrations)} tone=${toneOf(expired.integrations)}
      href=${to(["integrations"], { status: "expired" })}>${say.expiredHint}<//>`,
    waiting && html`<${Card} name=${say.jobs} value=${waiting.length} tone="plain" href=${to(["jobs"], { status: "pending" })}>
      ${oldest ? html`${say.oldest} <${Time} at=${oldest.created_at} />` : say.noJobs}<//>`,
    webhooks && html`<${Card} name=${say.webhooks} value=${many(webhooks.webhooks)} tone=${toneOf(webhooks.webhooks)}
      href=${to(["webhooks"], { status: "failed" })}>${say.webhooksHint}<//>`,
    keys && html`<${Card} name=${say.keys} value=${soon.length} tone=${toneOf(soon)} href=${to(["keys"])}>
      ${soon.length ? html`<${Text} of=${soon.map((key) => key.name).join(", ")} />` : say.noKeys}<//>`,
  ];
}

/** The numbers of the gateway that answers, since its start. */
function Measured({ all: measured }) {
  if (!measured) return null;
  const answers = sum(measured, "gateway_requests_total");
  const faults = sum(measured, "gateway_requests_total", (labels) => labels.status.startsWith("5"));
  const [half, most] = [0.5, 0.95].map((part) => quantile(measured, "gateway_request_seconds", part));
  const held = sum(measured, "gateway_memory_held_bytes");
  const limit = sum(measured, "gateway_memory_limit_bytes");
  return [
    html`<${Card} name=${say.answers} value=${answers} tone="plain" href=${to(["calls"])}>${say.faults(faults)}<//>`,
    html`<${Card} name=${say.latency} value=${words.seconds(half)} tone="plain" href=${to(["calls"])}>
      ${most === null ? say.noLatency : say.most(words.seconds(most))}<//>`,
    html`<${Card} name=${say.saturation} value=${words.gateways.share(held, limit)} tone=${held > limit * 0.8 ? "bad" : "good"} href=${to(["gateways"])}>
      ${say.inFlight(sum(measured, "gateway_in_flight"))}<//>`,
  ];
}

/** The most frequent reasons of the last hour. */
function Reasons({ data }) {
  const counts = new Map();
  for (const one of data.calls?.calls ?? []) {
    if (!one.problem) continue;
    const key = JSON.stringify([one.problem, one.owner, one.connector]);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const rows = [...counts].sort(([, one], [, other]) => other - one).slice(0, 10).map(([key, count]) => [...JSON.parse(key), count]);
  if (!rows.length) return null;
  return html`<${Section} title=${say.reasons}>
    <${Table} caption=${say.reasonsCaption} rows=${rows} columns=${[
      [words.calls.problem, ([problem, owner, connector]) => html`<a href=${to(["calls"], { problem, owner, connector, since: data.since })}><${Text} of=${problem} /></a>`],
      [words.calls.owner, ([, owner]) => html`<${State} of=${text(owner)} />`],
      [words.connector, ([, , connector]) => html`<${Text} of=${connector} />`],
      [say.count, ([, , , count]) => count],
    ]} />
  <//>`;
}
