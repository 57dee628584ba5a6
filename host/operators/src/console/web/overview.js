// Is it well? Each answer leads to its list. The screen refreshes itself while it is seen.

import { all, call, MOST_ENTRIES, Refusal, send, useLoad, useRefresh, withQuery } from "./api.js";
import { LastHour } from "./charts.js";
import { series, sum } from "./metrics.js";
import { Awaited, html, Refresh, Section, State, Table, Text, text, Time, Title } from "./parts.js";
import { to } from "./route.js";
import { words } from "./words.js";

const say = words.overview;

/** The most entries that a number counts. More are shown as that many or more. */
const MOST = 200;
const HOUR = 3_600_000;

/** Time before its end from which a key is shown. */
const SOON = 14 * 24 * HOUR;

/** Time between two refreshes, which is the time between two samples. */
const PAUSE = 15_000;

/** The states of triggers that are not well, the worst first. */
const UNWELL = ["failed", "needs-user", "degraded"];

async function metrics() {
  const answer = await send("GET", "/metrics");
  if (!answer.ok) throw new Refusal(await answer.json());
  return series(await answer.text());
}

/** Everything that the screen shows. Each part is its own request, so that one that fails leaves the others. */
async function load() {
  const since = new Date(Date.now() - HOUR).toISOString();
  const soon = new Date(Date.now() + SOON).toISOString();
  const list = (path, query) => call("GET", withQuery(path, { limit: MOST, ...query }));
  const parts = {
    measured: metrics(),
    samples: call("GET", "/admin/samples"),
    calls: list("/admin/calls", { since, failed: "true" }),
    gateways: list("/admin/gateways"),
    overdue: list("/admin/integrations", { overdue: "true" }),
    expired: list("/admin/integrations", { status: "expired" }),
    waiting: all("/admin/jobs?status=pending", "jobs"),
    unsent: list("/admin/webhooks", { failing: "true" }),
    failed: list("/admin/webhooks", { status: "failed" }),
    triggers: Promise.all(UNWELL.map((status) => list("/admin/triggers", { status }))),
    here: call("GET", "/connectors"),
    service: all("/admin/connectors", "connectors"),
    keys: list("/admin/keys", { status: "valid", expires_before: soon }),
  };
  const settled = await Promise.allSettled(Object.values(parts));
  const refused = settled.find((one) => one.status === "rejected");
  const values = settled.map((one) => one.value);
  return { since, soon, at: new Date(), problem: refused?.reason.problem, ...Object.fromEntries(Object.keys(parts).map((name, at) => [name, values[at]])) };
}

const many = (list, most = MOST) => (list.length >= most ? words.orMore(most) : String(list.length));
const toneOf = (list) => (list.length ? "bad" : "good");

/** The screen. */
export function Overview() {
  const loaded = useLoad(load, []);
  const { data, problem } = loaded;
  useRefresh(PAUSE, loaded);
  const cards = data ? cardsOf(data) : [];
  return html`
    <${Title}>${say.title}<//>
    <p class="buttons">
      <${Refresh} of=${loaded} />
      <span class="small">${data && say.refreshed(words.clock(data.at), PAUSE / 1000)}</span>
    </p>
    <${Awaited} data=${data} problem=${problem ?? data?.problem} />
    ${data && html`<${Verdict} cards=${cards} isPart=${Boolean(data.problem)} />
      <ul class="cards">${cards.map((card) => html`<${Card} key=${card.name} ...${card} />`)}</ul>`}
    ${data?.samples && html`<${LastHour} of=${data.samples} />`}
    ${data && html`<${Reasons} data=${data} />`}
  `;
}

/** What is wrong, in a sentence. `isPart` is `true` if a part was refused: a part that was not read is not well. */
function Verdict({ cards, isPart }) {
  const wrong = cards.filter((card) => card.tone === "bad");
  if (!wrong.length) return html`<p class=${isPart ? "problem" : "success"}>${isPart ? say.unknown(cards.length) : say.well}</p>`;
  return html`<p class="problem">${say.wrong(wrong.length)} ${wrong.map((card, number) => html`${number > 0 && ", "}<a href=${card.href}>${card.name}</a>`)}. ${isPart && say.others}</p>`;
}

/** A number with its name, which leads to its list. */
const Card = ({ name, value, tone, href, note }) => html`<li class="card ${tone}">
  <a href=${href}>${name}</a>
  <p class="number"><a href=${href} tabindex="-1" aria-hidden="true">${value}</a></p>
  <p class="small">${note}</p>
</li>`;

/** The numbers. Those whose part was refused are left out. */
function cardsOf({ measured, samples, calls, gateways, overdue, expired, waiting, unsent, failed, triggers, here, service, keys, since, soon }) {
  const cards = [];
  const add = (name, list, href, value, note, tone = toneOf(list)) => cards.push({ name, value, href, note, tone });
  if (calls) {
    // A program that sends what is not valid, and a user who has to connect an account, are no fault of the service.
    const ours = calls.calls.filter((one) => !["caller", "user"].includes(one.owner));
    add(say.failed, calls.calls, to(["calls"], { since, failed: "true" }), many(calls.calls), say.failedOf(many(ours)), toneOf(ours));
  }
  if (samples) cards.push(answersOf(samples.samples, since));
  if (measured) {
    const [held, limit] = [sum(measured, "gateway_memory_held_bytes"), sum(measured, "gateway_memory_limit_bytes")];
    add(say.saturation, [], to(["gateways"]), words.gateways.share(held, limit), say.inFlight(sum(measured, "gateway_in_flight")), held > limit * 0.8 ? "bad" : "good");
  }
  if (gateways) {
    const away = gateways.gateways.filter((one) => one.state !== "ready");
    add(words.gateways.title, away, to(["gateways"]), gateways.gateways.length, away.length ? say.notReady(away.length) : say.allReady);
  }
  if (service) {
    const lagging = service.filter((one) => one.gateways.some((at) => at.state !== "live"));
    add(say.connectors, lagging, to(["connectors"]), many(lagging), lagging.length ? html`<${Text} of=${lagging.map((one) => one.connector).join(", ")} />` : say.allLive);
  }
  if (here) add(say.refused, here.refused, to(["connectors"]), here.refused.length, say.refusedHint);
  if (overdue) {
    const renewed = measured && say.renewals(countOf(measured, "gateway_refreshes_total", "refreshed"), countOf(measured, "gateway_refreshes_total"));
    add(say.overdue, overdue.integrations, to(["integrations"], { overdue: "true" }), many(overdue.integrations), html`${say.overdueHint} ${renewed}`);
  }
  if (expired) add(say.expired, expired.integrations, to(["integrations"], { status: "expired" }), many(expired.integrations), say.expiredHint);
  if (triggers) cards.push(triggersOf(triggers, measured));
  if (waiting) {
    // The newest are read first, so that of more than are read the oldest is not known.
    const oldest = waiting.length < MOST_ENTRIES ? waiting.at(-1) : null;
    const note = oldest ? html`${say.oldest} <${Time} at=${oldest.created_at} />` : waiting.length ? say.manyJobs : say.noJobs;
    add(say.jobs, [], to(["jobs"], { status: "pending" }), many(waiting, MOST_ENTRIES), note, "plain");
  }
  if (unsent) {
    const next = unsent.webhooks.map((one) => one.next_attempt_at).filter(Boolean).sort()[0];
    add(say.failing, unsent.webhooks, to(["webhooks"], { failing: "true" }), many(unsent.webhooks), next ? html`${say.failingNext} <${Time} at=${next} />` : say.failingHint);
  }
  if (failed) add(say.webhooks, failed.webhooks, to(["webhooks"], { status: "failed" }), many(failed.webhooks), say.webhooksHint);
  if (keys) {
    const names = keys.keys.map((key) => key.name).join(", ");
    add(say.keys, keys.keys, to(["keys"], { status: "valid", expires_before: soon }), many(keys.keys), names ? html`<${Text} of=${names} />` : say.noKeys);
  }
  return cards;
}

/** The sum of a metric with this outcome, or of all others. */
const countOf = (measured, name, outcome) =>
  sum(measured, name, (labels) => (outcome ? labels.outcome === outcome : !["refreshed", "superseded"].includes(labels.outcome)));

/** Answers to callers in the last hour. Health checks and the console's own requests are not among them. */
function answersOf(samples, since) {
  const total = (name) => samples.reduce((sum, one) => sum + one[name], 0);
  const [answers, faults] = [total("answers"), total("faults")];
  const share = answers ? (faults / answers) * 100 : 0;
  const note = say.faults(faults, words.number(share));
  return { name: say.answers, value: words.number(answers), tone: share >= 1 ? "bad" : "plain", href: to(["calls"], { since, failed: "true" }), note };
}

/** Triggers that are not well, and the renewals of their subscriptions. */
function triggersOf(lists, measured) {
  const counts = lists.map((list) => list.triggers.length);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const worst = UNWELL.find((_, number) => counts[number]);
  const renewals = measured && say.subscriptions(sum(measured, "gateway_subscription_renewals_total"), sum(measured, "gateway_subscription_renewals_total", ({ outcome }) => outcome === "failed"));
  const states = UNWELL.filter((_, number) => counts[number]);
  const link = (status) => html`<a href=${to(["triggers"], { status })}>${counts[UNWELL.indexOf(status)]} ${status}</a> `;
  return {
    name: say.triggers, value: counts.some((count) => count >= MOST) ? words.orMore(total) : String(total), tone: total ? "bad" : "good",
    href: to(["triggers"], { status: worst }), note: html`${states.length ? states.map(link) : say.allTriggers} ${renewals}`,
  };
}

/** The most frequent reasons of the last hour. If there are more calls than were read, they are those of the last ones. */
function Reasons({ data }) {
  const counts = new Map();
  const calls = data.calls?.calls ?? [];
  for (const one of calls) {
    const key = JSON.stringify([one.problem, one.owner, one.connector]);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const rows = [...counts].sort(([, one], [, other]) => other - one).slice(0, 10).map(([key, count]) => [...JSON.parse(key), count]);
  if (!rows.length) return null;
  return html`<${Section} title=${say.reasons}>
    <${Table} caption=${calls.length < MOST ? say.reasonsCaption : say.reasonsOfLast(MOST)} rows=${rows} columns=${[
      [words.calls.problem, ([problem, owner, connector]) => html`<a href=${to(["calls"], { problem, owner, connector, since: data.since })}><${Text} of=${problem} /></a>`],
      [words.calls.owner, ([, owner]) => html`<${State} of=${text(owner)} />`],
      [words.connector, ([, , connector]) => html`<${Text} of=${connector} />`],
      [say.count, ([problem, owner, connector, count]) => html`<a href=${to(["calls"], { problem, owner, connector, since: data.since })}>${count}</a>`],
    ]} />
  <//>`;
}
