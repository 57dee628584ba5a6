// Webhooks of all tenants with their attempts.

import { call } from "./api.js";
import { ChangeButton } from "./dialog.js";
import { List } from "./list.js";
import { html, IdLink, State, Text, text, Time, Title } from "./parts.js";
import { useState } from "preact/hooks";
import { words } from "./words.js";

const say = words.webhooks;

/** The attempts of a webhook, the last one first. */
export function Attempts({ of }) {
  if (!of.length) return words.nothing;
  const line = (one) => html`<li><${Time} at=${one.at} />: <${Text} of=${one.error ?? one.status} /></li>`;
  return html`<details><summary>${say.attemptsCount(of.length)}</summary><ul>${[...of].reverse().map(line)}</ul></details>`;
}

/** The job or the trigger that a webhook is about. */
function about(one) {
  if (one.job_id) return html`<${IdLink} kind="jobs" id=${one.job_id} />`;
  return one.trigger_id ? html`<${IdLink} kind="triggers" id=${one.trigger_id} />` : say.event;
}

/** The list. */
export function Webhooks({ query }) {
  const [turn, setTurn] = useState(0);
  const resend = (one) => async (options) => {
    await call("POST", `/admin/webhooks/${encodeURIComponent(one.id)}/resend`, options);
    return say.resent;
  };
  const columns = [
    [words.id, (one) => html`<${Text} of=${one.id} />`, (one) => one.id],
    [words.status, (one) => html`<${State} of=${one.status} />`, (one) => one.status],
    [say.receiver, (one) => html`<${Text} of=${one.url ?? one.receiver} />`, (one) => one.url ?? one.receiver],
    [words.tenant, (one) => html`<${IdLink} kind="tenants" id=${one.tenant} />`, (one) => one.tenant],
    [say.about, about],
    [say.attempts, (one) => html`<${Attempts} of=${one.attempts} />`, (one) => one.attempts.length],
    [say.next, (one) => html`<${Time} at=${one.next_attempt_at} />`, (one) => one.next_attempt_at],
    [words.change, (one) => html`<${ChangeButton} label=${say.resend} title=${say.resendTitle}
      what=${html`<p>${say.resendWhat(text(one.url ?? one.receiver))}</p>`} change=${resend(one)} onDone=${() => setTurn((turn) => turn + 1)} />`],
  ];
  return html`
    <${Title}>${say.title}<//>
    <p>${say.lead}</p>
    <${List} place=${["webhooks"]} query=${query} path="/admin/webhooks" name="webhooks" caption=${say.title} columns=${columns} keyOf=${(one) => one.id} turn=${turn} />
  `;
}
