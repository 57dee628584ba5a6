// Jobs of all tenants: the list, and one job with its result or problem.

import { call, ifUnknown, useDocument, useLoad } from "./api.js";
import { ChangeButton } from "./dialog.js";
import { List } from "./list.js";
import { Awaited, Code, ExactTime, Facts, html, IdLink, Problem, Refresh, Section, State, Table, Text, text, Time, Title } from "./parts.js";
import { to } from "./route.js";
import { words } from "./words.js";

const say = words.jobs;

const progress = (job) => (job.progress ? `${Math.round(job.progress.fraction * 100)} % ${job.progress.message}` : null);

/** The columns of a table of jobs. */
export const columns = [
  [words.job, (job) => html`<${IdLink} kind="jobs" id=${job.job_id} />`, (job) => job.job_id],
  [words.status, (job) => html`<${State} of=${job.status} />`, (job) => job.status],
  [words.operation, (job) => html`<${IdLink} kind="connectors" id=${job.connector} /> / <${Text} of=${job.operation} />`, (job) => `${job.connector}/${job.operation}`],
  [words.tenant, (job) => html`<${IdLink} kind="tenants" id=${job.tenant} />`, (job) => job.tenant],
  [words.calls.person, (job) => html`<${IdLink} kind="people" id=${job.subject ?? job.user_identifier} />`, (job) => job.subject ?? job.user_identifier],
  [words.created, (job) => html`<${Time} at=${job.created_at} />`, (job) => job.created_at],
  [say.progress, (job) => html`<${Text} of=${progress(job)} />`, (job) => job.progress?.fraction],
  [words.calls.problem, (job) => html`<${Text} of=${job.error?.title} />`, (job) => job.error?.title],
  [words.gateway, (job) => html`<${Text} of=${job.gateway} />`, (job) => job.gateway],
];

/** The list. */
export const Jobs = ({ query }) => html`
  <${Title}>${say.title}<//>
  <p>${say.lead}</p>
  <${List} place=${["jobs"]} query=${query} path="/admin/jobs" name="jobs" caption=${say.title} columns=${columns} />
`;

/** One job. */
export function Job({ id }) {
  const path = `/admin/jobs/${encodeURIComponent(id)}`;
  const loaded = useDocument(path);
  const { data: job, problem, reload } = loaded;
  const cancel = async (options) => {
    const { cancelled } = await call("DELETE", path, options);
    return cancelled ? say.cancelled : say.hadEnded;
  };
  const canCancel = job && ["pending", "running"].includes(job.status);
  return html`
    <${Title}>${say.one(id)}<//>
    <p class="buttons">
      <a href=${to(["jobs"])}>${say.title}</a>
      <${Refresh} of=${loaded} />
      ${canCancel && html`<${ChangeButton} label=${say.cancel} danger=${true} what=${html`<p>${say.cancelWhat(`${text(job.connector)}/${text(job.operation)}`, text(job.tenant))}</p>`} change=${cancel} onDone=${reload} />`}
    </p>
    <${Awaited} data=${job} problem=${problem} />
    ${job && html`<${Details} job=${job} />`}
  `;
}

/** The record of the run of a job. Most jobs that succeed have none. */
function Run({ job: { job_id: id, status } }) {
  const path = `/admin/calls/${encodeURIComponent(id)}`;
  const { data, problem } = useLoad((signal) => call("GET", path, { signal }).then(() => ({ isKept: true }), ifUnknown({ isKept: false })), [path, status]);
  if (!data) return html`<${Awaited} data=${data} problem=${problem} />`;
  return html`<p>${data.isKept ? html`<a href=${to(["calls", id])}>${say.itsCall}</a>` : say.noCall}</p>`;
}

function Details({ job }) {
  const { connector, tenant, subject, user_identifier: account } = job;
  return html`
    <${Problem} of=${job.error} />
    <${Facts} of=${[
      [words.status, html`<${State} of=${job.status} />`],
      [say.progress, html`<${Text} of=${progress(job)} />`],
      [words.operation, html`<${IdLink} kind="connectors" id=${connector} /> / <${Text} of=${job.operation} />`],
      [words.tenant, html`<${IdLink} kind="tenants" id=${tenant} />`],
      [words.subject, html`<${IdLink} kind="people" id=${subject} />`],
      [words.integrations.account, account && html`<a href=${to(["integrations"], { tenant, connector, subject: subject ?? "", user_identifier: account })}><${Text} of=${account} /></a>`],
      [words.gateway, html`<${Text} of=${job.gateway} />`],
      [words.created, html`<${ExactTime} at=${job.created_at} />`],
      [say.started, html`<${ExactTime} at=${job.started_at} />`],
      [say.finished, html`<${ExactTime} at=${job.finished_at} />`],
      [say.removed, html`<${ExactTime} at=${job.expires_at} />`],
    ]} />
    <${Run} job=${job} />
    ${job.callbacks?.length > 0 && html`<${Section} title=${words.webhooks.title}>
      <${Table} caption=${say.callbacksCaption} rows=${job.callbacks} columns=${[
        [words.webhooks.url, (one) => html`<${Text} of=${one.url} />`],
        [words.status, (one) => html`<${State} of=${one.status} />`],
        [words.webhooks.attempts, (one) => one.attempts.length],
      ]} />
    <//>`}
    ${job.result !== null && job.result !== undefined && html`<${Section} title=${say.result}>
      <${Code} label=${say.result}>${JSON.stringify(job.result, null, 2)}<//>
    <//>`}
  `;
}
