// One connector: where each gateway stands, its versions, the hosts that it may reach, its operations and its history.

import { all, call, ifUnknown, useLoad, withQuery } from "./api.js";
import { Install } from "./connectors.js";
import { ChangeButton } from "./dialog.js";
import { Awaited, ExactTime, Facts, html, Refresh, Section, State, Table, Text, text, Title } from "./parts.js";
import { go, to } from "./route.js";
import { Touches } from "./touches.js";
import { words } from "./words.js";

export { Connectors } from "./connectors.js";

const say = words.connectors;

/** What the service and this gateway know of a connector. */
async function load(id) {
  const path = `/admin/connectors/${encodeURIComponent(id)}`;
  const [service, here, versions, grants, history, gateways] = await Promise.all([
    call("GET", withQuery("/admin/connectors", { connector: id })),
    call("GET", "/connectors"),
    call("GET", `${path}/versions`).catch(ifUnknown({ versions: [] })),
    call("GET", `${path}/grants`).catch(ifUnknown({ grants: [] })),
    call("GET", `${path}/history`).catch(ifUnknown({ changes: [] })),
    all("/admin/gateways", "gateways"),
  ]);
  return {
    service: service.connectors[0],
    here: here.connectors.find((one) => one.connector === id),
    versions: versions.versions,
    grants: grants.grants,
    changes: history.changes,
    names: Object.fromEntries(gateways.map((one) => [one.id, one.name])),
  };
}

/** The screen. */
export function Connector({ id }) {
  const loaded = useLoad(() => load(id), [id]);
  const { data, problem, reload } = loaded;
  return html`
    <${Title}>${say.one(id)}<//>
    <p class="buttons">
      <a href=${to(["connectors"])}>${say.title}</a>
      <${Refresh} of=${loaded} />
      ${data?.service && !data.service.shipped && html`<${Remove} id=${id} />`}
    </p>
    <${Awaited} data=${data} problem=${problem} />
    ${data && !data.service && !data.here && html`<p>${say.notLive}</p>`}
    ${data && html`<${Details} id=${id} data=${data} reload=${reload} />`}
  `;
}

function Remove({ id }) {
  const remove = async (options) => {
    await call("DELETE", `/admin/connectors/${encodeURIComponent(id)}`, options);
    return say.removed(id);
  };
  const touched = [
    { path: "/admin/integrations", member: "integrations", filters: { connector: id }, say: say.accounts },
    { path: "/admin/triggers", member: "triggers", filters: { connector: id }, say: words.integrations.triggers },
  ];
  return html`<${ChangeButton} label=${say.remove} title=${say.removeTitle(id)} danger=${true} what=${html`<p>${say.removeWhat(id)}</p><${Touches} of=${touched} />`}
    change=${remove} onDone=${() => go(["connectors"])} />`;
}

function Details({ id, data, reload }) {
  const { service, here, versions, grants, changes, names } = data;
  return html`
    ${service && html`<${Facts} of=${[
      [say.name, html`<${Text} of=${service.title} />`],
      [say.version, html`<${Text} of=${service.version} />`],
      [say.digest, html`<code><${Text} of=${service.digest} /></code>`],
      [say.generation, service.generation],
      [say.origin, service.shipped ? say.shipped : say.foreign],
      [say.authType, text(here?.auth_type)],
      [say.license, html`<${Text} of=${here?.imprint.license} />`],
      [say.author, html`<${Text} of=${here?.imprint.author} />`],
    ]} />`}
    <p class="buttons">
      <a href=${to(["calls"], { connector: id })}>${words.calls.title}</a>
      <a href=${to(["integrations"], { connector: id })}>${words.integrations.title}</a>
      <a href=${to(["jobs"], { connector: id })}>${words.jobs.title}</a>
      <a href=${to(["triggers"], { connector: id })}>${words.triggers.title}</a>
    </p>
    ${service && html`<${Standing} gateways=${service.gateways} names=${names} live=${service} />`}
    <${Versions} id=${id} versions=${versions} service=${service} reload=${reload} />
    <${Hosts} id=${id} grants=${grants} upstreams=${here?.upstreams ?? []} reload=${reload} />
    ${here && html`<${Reach} here=${here} />`}
    <${Section} title=${say.update}><${Install} generation=${service?.generation} onDone=${reload} /><//>
    ${here && html`<${Operations} id=${id} operations=${here.operations} />`}
    <${History} changes=${changes} />
  `;
}

/** What each gateway serves. A gateway that lags or refuses says why. */
function Standing({ gateways, names, live }) {
  return html`<${Section} title=${say.standing}>
    <${Table} caption=${say.standingCaption} rows=${gateways} columns=${[
      [words.gateway, (one) => html`<a href=${to(["gateways"])}><${Text} of=${names[one.gateway] ?? one.gateway} /></a>`],
      [words.status, (one) => html`<${State} of=${one.state} />`],
      [say.version, (one) => html`<${Text} of=${one.version} /> ${one.digest && one.digest !== live.digest && html`<${State} of=${say.older} tone="wait" />`}`],
      [say.generation, (one) => text(one.generation)],
      [say.reason, (one) => html`<${Text} of=${one.reason} />`],
      [say.since, (one) => html`<${ExactTime} at=${one.since} />`],
    ]} />
  <//>`;
}

function Versions({ id, versions, service, reload }) {
  const name = (version) => version.version ?? version.sha256.slice(0, 12);
  const what = (version) => (service ? say.rollBackWhat(id, name(version), text(service.version), service.gateways.length) : say.becomesLive(id, name(version)));
  const back = (version) => async (options) => {
    const headers = service === undefined ? {} : { "if-match": `"${service.generation}"` };
    const path = `/admin/connectors/${encodeURIComponent(id)}/rollback?to=${encodeURIComponent(version.sha256)}&wait=10`;
    const live = await call("POST", path, { headers, ...options });
    return say.rolledBack(text(live.version));
  };
  const button = (version) => version.live
    ? html`<${State} of="live" />`
    : html`<${ChangeButton} label=${say.rollBack} title=${say.rollBackTo(id, name(version))}
        what=${html`<p>${what(version)} ${say.rollBackMore}</p>`} change=${back(version)} onDone=${reload} />`;
  return html`<${Section} title=${say.versions}>
    ${versions.length === 0 ? html`<p>${say.noVersions}</p>` : html`<${Table} caption=${say.versionsCaption} rows=${versions} keyOf=${(one) => `${one.shipped} ${one.sha256}`} columns=${[
      [say.version, (one) => html`<${Text} of=${one.version ?? say.refusedNow} />`],
      [say.digest, (one) => html`<code><${Text} of=${one.sha256.slice(0, 12)} /></code>`],
      [say.lastLive, (one) => html`<${ExactTime} at=${one.live_at} />`],
      [say.changedBy, (one) => html`<${Text} of=${one.by} />`],
      [say.origin, (one) => (one.shipped ? say.shipped : say.foreign)],
      [words.change, button],
    ]} />`}
  <//>`;
}

function Hosts({ id, grants, upstreams, reload }) {
  const path = (host) => `/admin/connectors/${encodeURIComponent(id)}/grants?host=${encodeURIComponent(host)}`;
  const change = (method, host, message) => async (options) => {
    await call(method, path(host), options);
    return message(text(host));
  };
  const button = ({ host, state }) => {
    if (state === "missing") {
      return html`<${ChangeButton} label=${say.grant} title=${say.grantTitle(text(host))} what=${html`<p>${say.grantWhat(id, text(host))}</p>`}
        change=${change("POST", host, say.granted)} onDone=${reload} />`;
    }
    if (state === "configured") return say.byConfiguration;
    return html`<${ChangeButton} label=${say.revoke} danger=${true} title=${say.revokeTitle(text(host))}
      what=${html`<p>${say.revokeWhat(id, text(host), upstreams.filter((one) => one.host === host).map((one) => one.name))}</p>`}
      change=${change("DELETE", host, say.revoked)} onDone=${reload} />`;
  };
  return html`<${Section} title=${say.grants}>
    ${grants.length === 0 ? html`<p>${say.noGrants}</p>` : html`<${Table} caption=${say.grantsCaption} rows=${grants} keyOf=${(one) => one.host} columns=${[
      [say.host, (one) => html`<${Text} of=${one.host} />`],
      [words.status, (one) => html`<${State} of=${one.state} />`],
      [words.change, button],
    ]} />`}
  <//>`;
}

/** The services that the connector calls, and the place of the credential. */
const Reach = ({ here }) => html`<${Section} title=${say.upstreams}>
  ${here.upstreams.length === 0 ? html`<p>${say.noUpstreams}</p>` : html`<${Table} caption=${say.upstreamsCaption} rows=${here.upstreams} columns=${[
    [say.upstream, (one) => html`<${Text} of=${one.name} />`],
    [say.host, (one) => html`<${Text} of=${one.host} />`],
    [say.credential, (one) => html`<${Text} of=${one.credential && `${one.credential.in} ${one.credential.name}`} />`],
    [say.linkHosts, (one) => html`<${Text} of=${one.link_hosts.join(", ")} />`],
  ]} />`}
<//>`;

const Operations = ({ id, operations }) => html`<${Section} title=${say.operations}>
  <${Table} caption=${say.operationsCaption} rows=${operations} columns=${[
    [words.operation, (one) => html`<a href=${to(["try", id, one.path])}><${Text} of=${one.path} /></a>`],
    [say.summary, (one) => html`<${Text} of=${one.summary} />`],
    [say.effect, (one) => html`<${State} of=${one.effect} />`],
    [say.sends, (one) => html`<code><${Text} of=${one.sends} /></code>`],
    [words.calls.title, (one) => html`<a href=${to(["calls"], { connector: id, operation: one.path })}>${say.callsOf(text(one.path))}</a>`],
  ]} />
<//>`;

const History = ({ changes }) => html`<${Section} title=${say.history}>
  ${changes.length === 0 ? html`<p>${say.noHistory}</p>` : html`<${Table} caption=${say.historyCaption} rows=${changes} columns=${[
    [words.time, (one) => html`<${ExactTime} at=${one.at} />`],
    [words.audit.action, (one) => text(one.action)],
    [say.version, (one) => html`<${Text} of=${one.version} />`],
    [say.changedBy, (one) => html`<${Text} of=${one.by.name} />`],
    [words.audit.detail, (one) => html`<${Text} of=${one.detail} />`],
  ]} />`}
<//>`;
