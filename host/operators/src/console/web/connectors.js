// The connectors of the service, the files that were refused, and the form that installs a module.

import { useState } from "preact/hooks";
import { call, useDocument, withQuery } from "./api.js";
import { ReasonField } from "./dialog.js";
import { List } from "./list.js";
import { Actor, announce, Awaited, ExactTime, html, IdLink, Problem, Section, State, Table, Text, text, Time, Title } from "./parts.js";
import { words } from "./words.js";

const say = words.connectors;

/** How many gateways serve the live version, and how many do not. */
function Standings({ gateways }) {
  const count = (state) => gateways.filter((one) => one.state === state).length;
  return ["live", "compiling", "refused"]
    .map((state) => [state, count(state)])
    .filter(([, number]) => number > 0)
    .map(([state, number]) => html`<${State} of=${`${number} ${state}`} tone=${{ live: "good", compiling: "wait", refused: "bad" }[state]} /> `);
}

const columns = [
  [words.connector, (one) => html`<${IdLink} kind="connectors" id=${one.connector} />`, (one) => one.connector],
  [say.name, (one) => html`<${Text} of=${one.title} />`, (one) => one.title],
  [say.version, (one) => html`<${Text} of=${one.version} />`, (one) => one.version],
  [say.origin, (one) => (one.shipped ? say.shipped : say.foreign), (one) => (one.shipped ? say.shipped : say.foreign)],
  [say.changed, (one) => html`<${Time} at=${one.changed_at} />`, (one) => one.changed_at],
  [say.changedBy, (one) => html`<${Actor} of=${one.changed_by} />`, (one) => one.changed_by],
  [words.gateways.title, (one) => html`<${Standings} gateways=${one.gateways} />`],
];

/** The list. */
export function Connectors({ query }) {
  return html`
    <${Title}>${say.title}<//>
    <p>${say.lead}</p>
    <${List} place=${["connectors"]} query=${query} path="/admin/connectors" name="connectors" caption=${say.title} columns=${columns} />
    <${Refused} />
    <${Section} title=${say.install}><${Install} /><//>
  `;
}

/** The files that this gateway refused, each with its reason. */
function Refused() {
  const { data, problem } = useDocument("/connectors");
  if (!data?.refused.length) return html`<${Awaited} data=${data} problem=${problem} />`;
  return html`<${Section} title=${say.refused}>
    <${Table} caption=${say.refusedCaption} rows=${data.refused} columns=${[
      [say.file, (one) => html`<${Text} of=${one.file} />`],
      [say.reason, (one) => html`<${Text} of=${one.reason} />`],
      [say.since, (one) => html`<${ExactTime} at=${one.refused_at} />`],
      [say.serving, (one) => html`<code>${text(one.serving?.slice(0, 12))}</code>`],
    ]} />
  <//>`;
}

/**
 * The form that installs a module. The first attempt accepts no more permissions than the previous version has. If the module asks for
 * more, the gateway changes nothing and names them, and the operator can accept them.
 */
export function Install({ generation, onDone }) {
  const [state, setState] = useState({});
  const send = async (form, accept) => {
    const given = new FormData(form);
    const hosts = given.get("hosts").split(/[\s,]+/).filter(Boolean);
    setState({ isBusy: true });
    try {
      const signature = given.get("signature");
      const headers = {
        "content-type": "application/wasm",
        ...(generation !== undefined && { "if-match": `"${generation}"` }),
        ...(signature.size > 0 && { "x-module-signature": btoa(await signature.text()) }),
      };
      const path = withQuery("/admin/connectors", { wait: 10, ...(accept && { accept: "true" }) });
      const query = hosts.map((host) => `&grant=${encodeURIComponent(host)}`).join("");
      const installed = await call("POST", path + query, { body: given.get("module"), headers, reason: given.get("reason") });
      setState({ installed });
      announce(say.installed(text(installed.connector), text(installed.version)));
      onDone?.();
    } catch (error) {
      setState({ problem: error.problem ?? { title: words.failed, detail: String(error) } });
    }
  };
  const submit = (event) => {
    event.preventDefault();
    send(event.currentTarget, false);
  };
  const asks = state.problem?.asks_for;
  return html`<form class="stacked" onSubmit=${submit} onChange=${(event) => event.target.name !== "reason" && setState({})}>
    <p>${say.installLead}</p>
    <label>${say.module} <input type="file" name="module" accept=".wasm" required /></label>
    <label>${say.signature} <input type="file" name="signature" accept=".minisig" /></label>
    <label>${say.hosts} <input name="hosts" autocomplete="off" spellcheck=${false} /></label>
    <${ReasonField} />
    <${Problem} of=${asks ? null : state.problem} />
    ${asks && html`<div class="problem" role="alert">
      <p><strong>${say.asksForMore}</strong></p>
      <ul>${[...asks].map((one) => html`<li><${Text} of=${one} /></li>`)}</ul>
      <p>${say.nothingChanged}</p>
    </div>`}
    ${state.installed && html`<${Installed} of=${state.installed} />`}
    <p class="buttons">
      ${asks
        ? html`<button type="button" class="danger" onClick=${(event) => send(event.currentTarget.form, true)}>${say.accept}</button>`
        : html`<button type="submit" class="first" disabled=${state.isBusy}>${state.isBusy ? say.installing : say.install}</button>`}
    </p>
  </form>`;
}

function Installed({ of }) {
  return html`<div class="success">
    <p>${say.installed(text(of.connector), text(of.version))} <${IdLink} kind="connectors" id=${of.connector} /></p>
    ${of.hosts.missing.length > 0 && html`<p>${say.missing} <${Text} of=${of.hosts.missing.join(", ")} /></p>`}
    ${(of.gateways ?? []).filter((one) => one.state !== "live").map((one) => html`<p>
      <${Text} of=${one.gateway} />: <${State} of=${one.state} /> <${Text} of=${one.reason} />
    </p>`)}
  </div>`;
}
