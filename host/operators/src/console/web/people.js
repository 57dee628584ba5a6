// A person who complains: what is wrong with their accounts, calls, jobs, triggers and keys, all of them, and the
// links with which they connect accounts.

import { call, useLoad, withQuery } from "./api.js";
import { columns as callColumns, tellWho } from "./calls.js";
import { columns as accountColumns } from "./integrations.js";
import { columns as jobColumns } from "./jobs.js";
import { columns as keyColumns, stateOf as stateOfKey } from "./keys.js";
import { Actor, Awaited, html, IdLink, Refresh, Section, State, Table, Text, text, Time, Title } from "./parts.js";
import { to } from "./route.js";
import { columns as triggerColumns } from "./triggers.js";
import { words } from "./words.js";

const say = words.people;

/** The entries of each list that the page shows. */
const SHOWN = 50;

/** The colors of the states of links. A link that has expired is no failure. */
const TONES = { open: "wait", done: "good", expired: "plain" };

/** The columns of a table of links. */
const linkColumns = [
  [words.id, (one) => html`<a href=${to(["audit"], { target: one.id })}><${Text} of=${one.id} /></a>`],
  [words.status, (one) => html`<${State} of=${one.state} tone=${TONES[one.state]} />`],
  [say.expires, (one) => html`<${Time} at=${one.expires_at} />`],
  [say.toConnect, (one) => html`<${Text} of=${one.connectors.map(({ connector, user_identifier: account }) => (account ? `${connector}: ${account}` : connector)).join(", ")} />`],
  [words.tenant, (one) => html`<${IdLink} kind="tenants" id=${one.tenant} />`],
  [say.madeBy, (one) => html`<${Actor} of=${one.key_id} />`],
];

/** The most users whose calls, jobs and triggers the page shows. An account may have the name of many others. */
const MOST_USERS = 5;

/** The entries of several lists without repetitions, the newest first. */
function merged(lists, idOf, timeOf) {
  const byId = new Map(lists.flat().map((one) => [idOf(one), one]));
  return [...byId.values()].sort((one, other) => timeOf(other).localeCompare(timeOf(one))).slice(0, SHOWN);
}

/** Callers choose the ids of requests, so that several calls may have the same one. */
const idOfCall = (one) => `${one.at} ${one.request_id}`;

/** Everything about the people who go by a name: the name of a user, of an account, or what the service knows the account by. */
async function load(name, signal) {
  const list = (path, member) => async (query) => (await call("GET", withQuery(path, { limit: SHOWN, ...query }), { signal }))[member];
  const [accountsOf, linksOf, callsOf, jobsOf, triggersOf, keysOf] = [
    list("/admin/integrations", "integrations"), list("/admin/connect-links", "connect_links"), list("/admin/calls", "calls"),
    list("/admin/jobs", "jobs"), list("/admin/triggers", "triggers"), list("/admin/keys", "keys"),
  ];
  const accounts = merged(await Promise.all([accountsOf({ account: name }), accountsOf({ subject: name })]), (one) => one.id, (one) => one.created_at);
  // Accounts of tenants themselves have no user.
  const users = [...new Map(accounts.filter((one) => one.subject).map(({ tenant, subject }) => [JSON.stringify([tenant, subject]), { tenant, subject }])).values()];
  const shown = users.length > MOST_USERS ? [] : users;
  const asked = [{ subject: name }, ...shown];
  const callers = [{ account: name }, ...asked];
  const [links, failures, calls, jobs, triggers, keys] = await Promise.all([
    Promise.all(asked.map(linksOf)),
    Promise.all(callers.map((one) => callsOf({ ...one, failed: "true" }))),
    Promise.all(callers.map(callsOf)),
    Promise.all(asked.map(jobsOf)),
    Promise.all([triggersOf({ user_identifier: name }), ...asked.map(triggersOf)]),
    Promise.all(asked.map(keysOf)),
  ]);
  return {
    accounts, users,
    links: merged(links, (one) => one.id, (one) => one.expires_at),
    failures: merged(failures, idOfCall, (one) => one.at),
    calls: merged(calls, idOfCall, (one) => one.at).filter((one) => !one.problem),
    jobs: merged(jobs, (one) => one.job_id, (one) => one.created_at),
    triggers: merged(triggers, (one) => one.id, (one) => one.created_at),
    keys: merged(keys, (one) => one.id, (one) => one.created_at),
  };
}

/** The screen. */
export function Person({ id: name }) {
  const loaded = useLoad((signal) => load(name, signal), [name]);
  const { data, problem } = loaded;
  return html`
    <${Title}>${say.one(name)}<//>
    <p class="buttons"><${Refresh} of=${loaded} /></p>
    <${Awaited} data=${data} problem=${problem} />
    ${data && html`
      <${Wrong} data=${data} />
      <${Users} users=${data.users} name=${name} />
      <${Entries} title=${words.integrations.title} caption=${say.accounts} rows=${data.accounts} columns=${accountColumns} none=${say.noAccounts} />
      <${Entries} title=${say.links} caption=${say.linksCaption} rows=${data.links} columns=${linkColumns} none=${say.noLinks} />
      <${Entries} title=${say.failed} caption=${say.failedCaption} rows=${data.failures} columns=${callColumns} none=${say.noFailures} />
      <${Entries} title=${say.others} caption=${say.othersCaption} rows=${data.calls} columns=${callColumns} none=${say.noOthers} />
      <${Entries} title=${words.jobs.title} caption=${say.jobs} rows=${data.jobs} columns=${jobColumns} none=${say.noJobs} />
      <${Entries} title=${words.triggers.title} caption=${say.triggers} rows=${data.triggers} columns=${triggerColumns} none=${say.noTriggers} />
      <${Entries} title=${words.keys.title} caption=${say.keys} rows=${data.keys} columns=${keyColumns} none=${say.noKeys} />
    `}
  `;
}

const Entries = ({ title, caption, rows, columns, none }) => html`<${Section} title=${title}>
  ${rows.length ? html`<${Table} caption=${caption} rows=${rows} columns=${columns} />` : html`<p>${none}</p>`}
<//>`;

/** The users with links to their lists. Many users mean that the name is no person's. */
function Users({ users, name }) {
  if (!users.some((one) => one.subject !== name)) return null;
  return html`<${Section} title=${say.users}>
    ${users.length > MOST_USERS && html`<p>${say.many}</p>`}
    <ul>${users.map(({ tenant, subject }) => html`<li>
      <a href=${to(["people", subject])}><${Text} of=${subject} /></a> (${words.tenant} <a href=${to(["tenants", tenant])}><${Text} of=${tenant} /></a>)
    </li>`)}</ul>
  <//>`;
}

/** What is wrong, each with its reason, who can act, and a link to where one does. */
function findings({ accounts, failures, jobs, triggers, keys }) {
  const found = accounts.filter((one) => one.status !== "active" || one.overdue).map((one) => ({
    state: one.status === "active" ? words.integrations.overdue : one.status,
    what: one.status === "active" ? say.renewalFails(text(one.user_identifier), text(one.connector)) : say.mustConnect(text(one.user_identifier), text(one.connector)),
    why: one.last_error ?? one.reason?.detail, href: to(["integrations", one.id]), label: say.toAccount,
  }));
  // There may be more calls than were read, of each reason.
  const reasons = new Map();
  for (const one of failures) {
    const key = JSON.stringify([one.problem, one.owner, one.connector, one.operation]);
    const known = reasons.get(key);
    reasons.set(key, { last: known?.last ?? one, count: (known?.count ?? 0) + 1 });
  }
  for (const { last, count } of reasons.values()) {
    found.push({
      state: last.problem, what: say.callsFailed(count, failures.length >= SHOWN, `${text(last.connector)}/${text(last.operation)}`), at: last.at,
      why: last.detail, pointers: last.pointers, who: tellWho(last), href: to(["calls", last.request_id]), label: say.toCall,
    });
  }
  for (const one of jobs.filter((one) => one.status === "failed")) {
    found.push({
      state: one.status, what: say.jobFailed(`${text(one.connector)}/${text(one.operation)}`), at: one.created_at,
      why: [one.error?.title, one.error?.detail].filter(Boolean).join(". "), href: to(["jobs", one.job_id]), label: say.toJob,
    });
  }
  for (const one of triggers.filter((one) => ["needs-user", "degraded", "failed", "paused"].includes(one.status))) {
    found.push({
      state: one.status, what: say.triggerFails(`${text(one.connector)}.${text(one.type)}`), why: one.reason, who: words.triggers.who[one.status],
      href: to(["triggers", one.id]), label: say.toTrigger,
    });
  }
  for (const one of keys.filter((one) => stateOfKey(one) === "expired")) {
    found.push({ state: "expired", what: say.keyExpired(text(one.name)), at: one.expires_at, who: say.newKey, href: to(["keys", one.id]), label: say.toKey });
  }
  return found;
}

function Wrong({ data }) {
  const found = findings(data);
  return html`<${Section} title=${say.wrong}>
    ${found.length === 0 && html`<p class="success">${say.nothingWrong}</p>`}
    ${found.map((one) => html`<div class="problem">
      <p><${State} of=${one.state} tone="bad" /> ${one.what} ${one.at && html`<${Time} at=${one.at} />`}</p>
      ${one.why && html`<p><${Text} of=${one.why} /></p>`}
      ${one.pointers?.length > 0 && html`<p>${words.calls.notValid} <${Text} of=${one.pointers.map((pointer) => pointer || "/").join(", ")} /></p>`}
      ${one.who && html`<p>${one.who}</p>`}
      <p><a href=${one.href}>${one.label}</a></p>
    </div>`)}
  <//>`;
}
