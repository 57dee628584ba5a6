// Inboxes of applications: the list, and one inbox with its address, its secrets and what came.

import { useState } from "preact/hooks";
import { call, useDocument, withQuery } from "./api.js";
import { ChangeButton, ReasonField } from "./dialog.js";
import { columns as requestColumns } from "./hook_requests.js";
import { List } from "./list.js";
import { Awaited, BusyButton, Code, ExactTime, Facts, html, IdLink, Problem, Refresh, Section, State, Table, tell, Text, text, Time, Title } from "./parts.js";
import { go, to } from "./route.js";
import { Touches } from "./touches.js";
import { words } from "./words.js";

const say = words.inboxes;

const name = (inbox) => `${inbox.connector} ${inbox.inbox}`;

const tenant = (inbox) => (inbox.tenant ? html`<${IdLink} kind="tenants" id=${inbox.tenant} />` : say.allTenants);

const columns = [
  [say.inbox, (inbox) => html`<a href=${to(["inboxes", inbox.id])}><${Text} of=${name(inbox)} /></a>`, name],
  [words.tenant, tenant, (inbox) => inbox.tenant],
  [words.status, (inbox) => html`<${State} of=${inbox.state} />`, (inbox) => inbox.state],
  [say.address, (inbox) => html`<${Text} of=${inbox.url} />`],
  [say.secrets, (inbox) => inbox.secrets.length, (inbox) => inbox.secrets.length],
  [say.accepted, (inbox) => html`<${Time} at=${inbox.last_accepted_at} />`, (inbox) => inbox.last_accepted_at],
  [say.rejected, (inbox) => inbox.rejected_24h, (inbox) => inbox.rejected_24h],
  [say.lastRejection, (inbox) => html`<${Text} of=${inbox.last_rejection?.reason} />`],
];

/** The list. */
export function Inboxes({ query }) {
  const [turn, setTurn] = useState(0);
  return html`
    <${Title}>${say.title}<//>
    <p>${say.lead}</p>
    <p><a href=${to(["hook-requests"])}>${say.allRequests}</a></p>
    <${List} place=${["inboxes"]} query=${query} path="/admin/inboxes" name="inboxes" caption=${say.title} columns=${columns} turn=${turn} />
    <${Section} title=${say.make}><${NewInbox} onDone=${() => setTurn((turn) => turn + 1)} /><//>
  `;
}

/** A form whose fields are sent to a path. `body` makes the body of the fields. */
function Sent({ path, body, done, label, onDone, children }) {
  const [state, setState] = useState({});
  const send = async (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    const given = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim() || undefined]));
    setState({ isBusy: true });
    try {
      await call("POST", path, { body: body(given), reason: given.reason });
      setState({});
      tell(done);
      form.reset();
      onDone();
    } catch (error) {
      setState({ problem: error.problem ?? { title: words.failed, detail: String(error) } });
    }
  };
  return html`<form class="stacked" onSubmit=${send}>
    ${children}
    <${ReasonField} />
    <${Problem} of=${state.problem} />
    <p class="buttons"><${BusyButton} type="submit" class="first" isBusy=${state.isBusy}>${label}<//></p>
  </form>`;
}

const NewInbox = ({ onDone }) => html`
  <${Sent} path="/admin/inboxes" body=${({ connector, inbox, tenant }) => ({ connector, inbox, tenant })} done=${say.made} label=${say.make} onDone=${onDone}>
    <label>${words.connector} <input name="connector" required autocomplete="off" spellcheck=${false} /></label>
    <label>${say.inbox} <input name="inbox" required autocomplete="off" spellcheck=${false} /></label>
    <label>${say.tenantHint} <input name="tenant" autocomplete="off" spellcheck=${false} /></label>
  <//>
`;

/** One inbox. */
export function Inbox({ id }) {
  const path = `/admin/inboxes/${encodeURIComponent(id)}`;
  const loaded = useDocument(path);
  const { data: inbox, problem, reload } = loaded;
  const remove = async (options) => {
    await call("DELETE", path, options);
    return say.removed;
  };
  return html`
    <${Title}>${say.one(inbox ? name(inbox) : id)}<//>
    <p class="buttons">
      <a href=${to(["inboxes"])}>${say.title}</a>
      <${Refresh} of=${loaded} />
      ${inbox && html`<${ChangeButton} label=${say.remove} title=${say.removeTitle(name(inbox))} danger=${true} what=${html`<${Removed} of=${inbox} />`} change=${remove}
        onDone=${() => go(["inboxes"])} />`}
    </p>
    <${Awaited} data=${inbox} problem=${problem} />
    ${inbox && html`<${Details} inbox=${inbox} path=${path} reload=${reload} />`}
  `;
}

/** What an inbox takes with it: the pushes of the triggers whose types name it. */
function Removed({ of: inbox }) {
  const { data, problem } = useDocument("/connectors");
  const declared = data?.connectors.find((one) => one.connector === inbox.connector)?.triggers ?? [];
  const types = declared.filter((one) => one.inboxes.includes(inbox.inbox)).map((one) => one.type);
  const triggers = {
    path: "/admin/triggers", member: "triggers", filters: { connector: inbox.connector, tenant: inbox.tenant }, say: words.integrations.triggers,
    isTouched: (one) => types.includes(one.type),
  };
  return html`
    <p>${say.removeWhat(name(inbox), inbox.tenant)}</p>
    <${Awaited} data=${data} problem=${problem} />
    ${data && html`<${Touches} of=${[triggers]} />`}
  `;
}

function Details({ inbox, path, reload }) {
  const rejection = inbox.last_rejection;
  return html`
    <div class="reason"><p><${State} of=${inbox.state} /> ${say.what[inbox.state] ?? ""}</p></div>
    ${inbox.url ? html`<${Code} label=${say.address}>${inbox.url}<//>` : html`<p>${say.address}: ${say.noAddress}</p>`}
    <${Facts} of=${[
      [words.id, html`<${Text} of=${inbox.id} />`],
      [words.connector, html`<${IdLink} kind="connectors" id=${inbox.connector} />`],
      [say.inbox, html`<${Text} of=${inbox.inbox} />`],
      [words.tenant, tenant(inbox)],
      [say.accepted, html`<${ExactTime} at=${inbox.last_accepted_at} />`],
      [say.rejected, inbox.rejected_24h],
      [say.lastRejection, rejection && html`<${Text} of=${rejection.reason} />, <${ExactTime} at=${rejection.at} />`],
    ]} />
    <${Secrets} inbox=${inbox} path=${path} reload=${reload} />
    <${Requests} id=${inbox.id} />
    <p><a href=${to(["audit"], { target: inbox.id })}>${words.audit.title}</a></p>
  `;
}

function Secrets({ inbox, path, reload }) {
  const remove = (secret) => async (options) => {
    await call("DELETE", `${path}/secrets/${encodeURIComponent(secret.id)}`, options);
    return say.secretRemoved;
  };
  return html`<${Section} title=${say.secrets}>
    ${inbox.secrets.length === 0 ? html`<p>${say.noSecrets}</p>` : html`<${Table} caption=${say.secretsCaption} rows=${inbox.secrets} keyOf=${(secret) => secret.id} columns=${[
      [words.id, (secret) => html`<${Text} of=${secret.id} />`],
      [words.created, (secret) => html`<${ExactTime} at=${secret.created_at} />`],
      [words.change, (secret) => html`<${ChangeButton} label=${say.removeSecret} danger=${true} title=${say.removeSecretTitle(text(secret.id))}
        what=${html`<p>${say.removeSecretWhat} ${inbox.secrets.length === 1 && say.onlySecret}</p>`} change=${remove(secret)} onDone=${reload} />`],
    ]} />`}
    <${Sent} path=${`${path}/secrets`} body=${({ secret }) => ({ secret })} done=${say.secretAdded} label=${say.addSecret} onDone=${reload}>
      <label>${say.secret} <input name="secret" type="password" required autocomplete="off" /></label>
    <//>
  <//>`;
}

function Requests({ id }) {
  const { data, problem } = useDocument(withQuery("/admin/hook-requests", { inbox: id }));
  const rows = data?.hook_requests;
  return html`<${Section} title=${say.requests}>
    <${Awaited} data=${data} problem=${problem} />
    ${rows?.length > 0 && html`<${Table} caption=${words.hookRequests.caption} columns=${requestColumns} rows=${rows} />`}
    ${rows?.length === 0 && html`<p>${words.none["/admin/hook-requests"]}</p>`}
    <p><a href=${to(["hook-requests"], { inbox: id })}>${say.allRequests}</a></p>
  <//>`;
}
