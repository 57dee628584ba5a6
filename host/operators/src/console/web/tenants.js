// Tenants and their OAuth clients.

import { useState } from "preact/hooks";
import { all, call, useLoad } from "./api.js";
import { ChangeButton, ReasonField } from "./dialog.js";
import { List } from "./list.js";
import { Awaited, BusyButton, ExactTime, html, IdLink, Problem, Refresh, Section, Table, tell, Text, text, Title } from "./parts.js";
import { to } from "./route.js";
import { words } from "./words.js";

const say = words.tenants;

/** A number of things, of which lists count no more than this. */
const count = (number) => (number >= 1000 ? say.many : String(number));

const columns = [
  [words.tenant, (one) => html`<${IdLink} kind="tenants" id=${one.tenant} />`, (one) => one.tenant],
  [words.keys.title, (one) => html`<a href=${to(["keys"], { tenant: one.tenant, status: "valid" })}>${count(one.keys)}</a>`, (one) => one.keys],
  [words.integrations.title, (one) => html`<a href=${to(["integrations"], { tenant: one.tenant })}>${count(one.integrations)}</a>`, (one) => one.integrations],
  [say.pending, (one) => html`<a href=${to(["jobs"], { tenant: one.tenant, status: "pending" })}>${count(one.jobs_pending)}</a>`, (one) => one.jobs_pending],
  [say.clients, (one) => count(one.oauth_clients), (one) => one.oauth_clients],
];

/** The list. */
export const Tenants = ({ query }) => html`
  <${Title}>${say.title}<//>
  <p>${say.lead}</p>
  <${List} place=${["tenants"]} query=${query} path="/admin/tenants" name="tenants" caption=${say.title} columns=${columns} />
`;

/** One tenant. */
export function Tenant({ id }) {
  const path = `/admin/tenants/${encodeURIComponent(id)}/oauth_clients`;
  const loaded = useLoad(() => all(path, "oauth_clients"), [path]);
  const { data, problem, reload } = loaded;
  const remove = (client) => async (options) => {
    await call("DELETE", `${path}/${encodeURIComponent(client.name)}`, options);
    return say.deleted;
  };
  return html`
    <${Title}>${say.one(id)}<//>
    <p class="buttons"><a href=${to(["tenants"])}>${say.title}</a> <${Refresh} of=${loaded} /></p>
    <ul>
      <li><a href=${to(["calls"], { tenant: id })}>${words.calls.title}</a></li>
      <li><a href=${to(["integrations"], { tenant: id })}>${words.integrations.title}</a></li>
      <li><a href=${to(["jobs"], { tenant: id })}>${words.jobs.title}</a></li>
      <li><a href=${to(["triggers"], { tenant: id })}>${words.triggers.title}</a></li>
      <li><a href=${to(["keys"], { tenant: id })}>${words.keys.title}</a></li>
      <li><a href=${to(["webhooks"], { tenant: id })}>${words.webhooks.title}</a></li>
      <li><a href=${to(["audit"], { tenant: id })}>${words.audit.title}</a></li>
    </ul>
    <${Section} title=${say.clients}>
      <${Awaited} data=${data} problem=${problem} />
      ${data && (data.length === 0 ? html`<p>${say.noClients}</p>` : html`<${Table} caption=${say.clientsCaption} rows=${data} keyOf=${(one) => one.name} columns=${[
        [say.name, (one) => html`<${Text} of=${one.name} />`],
        [say.clientId, (one) => html`<${Text} of=${one.client_id} />`],
        [say.secret, (one) => (one.has_secret ? words.yes : words.no)],
        [words.integrations.scopes, (one) => html`<${Text} of=${one.scopes?.join(" ")} />`],
        [words.integrations.title, (one) => one.integrations],
        [say.updated, (one) => html`<${ExactTime} at=${one.updated_at} />`],
        [words.change, (one) => html`<${ChangeButton} label=${say.remove} danger=${true} title=${say.removeTitle(text(one.name))}
          what=${html`<p>${say.removeWhat(one.integrations)}</p>`} change=${remove(one)} onDone=${reload} />`],
      ]} />`)}
      <${NewClient} path=${path} onDone=${reload} />
    <//>
  `;
}

function NewClient({ path, onDone }) {
  const [state, setState] = useState({});
  const save = async (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    const given = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim() || undefined]));
    setState({ isBusy: true });
    try {
      const { name, scopes, reason, ...rest } = given;
      const body = { ...rest, scopes: scopes?.split(/\s+/) };
      await call("PUT", `${path}/${encodeURIComponent(name)}`, { body, reason });
      setState({});
      tell(say.saved);
      form.reset();
      onDone();
    } catch (error) {
      setState({ problem: error.problem ?? { title: words.failed, detail: String(error) } });
    }
  };
  return html`<details><summary>${say.set}</summary><form class="stacked" onSubmit=${save}>
    <label>${say.nameHint} <input name="name" required autocomplete="off" spellcheck=${false} /></label>
    <label>${say.clientId} <input name="client_id" required autocomplete="off" spellcheck=${false} /></label>
    <label>${say.clientSecret} <input name="client_secret" type="password" autocomplete="off" /></label>
    <label>${say.scopesHint} <input name="scopes" autocomplete="off" spellcheck=${false} /></label>
    <label>${say.redirect} <input name="redirect_url" type="url" autocomplete="off" /></label>
    <${ReasonField} />
    <${Problem} of=${state.problem} />
    <p class="buttons"><${BusyButton} type="submit" class="first" isBusy=${state.isBusy}>${words.save}<//></p>
  </form></details>`;
}
