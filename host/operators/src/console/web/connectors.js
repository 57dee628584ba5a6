// The connectors of the service, the files that were refused, and the form that installs a module.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { call, useDocument, withQuery } from "./api.js";
import { ReasonField } from "./dialog.js";
import { List } from "./list.js";
import { Actor, announce, Awaited, BusyButton, ExactTime, html, IdLink, Problem, Section, State, Table, Text, text, Time, Title } from "./parts.js";
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
 * more, the gateway changes nothing and names them, and the operator can accept them. This sends the files and hosts that the gateway was
 * asked about again, also if someone has chosen others before the answer came.
 */
export function Install({ generation, onDone }) {
  const [state, setState] = useState({});
  const send = async (form, accepted) => {
    const entered = new FormData(form);
    const given = accepted ?? entered;
    const hosts = given.get("hosts").split(/[\s,]+/).filter(Boolean);
    setState((now) => (accepted ? { ...now, isBusy: true } : { isBusy: true }));
    try {
      const signature = given.get("signature");
      const headers = {
        "content-type": "application/wasm",
        ...(generation !== undefined && { "if-match": `"${generation}"` }),
        ...(signature.size > 0 && { "x-module-signature": btoa(await signature.text()) }),
      };
      const path = withQuery("/admin/connectors", { wait: 10, ...(accepted && { accept: "true" }) });
      const query = hosts.map((host) => `&grant=${encodeURIComponent(host)}`).join("");
      const installed = await call("POST", path + query, { body: given.get("module"), headers, reason: entered.get("reason") });
      setState({ installed });
      announce(say.installed(text(installed.connector), text(installed.version)));
      onDone?.();
    } catch (error) {
      setState({ given, problem: error.problem ?? { title: words.failed, detail: String(error) } });
    }
  };
  const submit = (event) => {
    event.preventDefault();
    send(event.currentTarget);
  };
  // An answer to what the form had before says nothing about what it has now. One that is still to come is shown.
  const forget = (event) => event.target.name !== "reason" && setState((now) => (now.isBusy ? now : {}));
  const asks = state.problem?.asks_for;
  const said = useRef(null);
  // A button that was pressed is gone, and the focus with it. It is not on the one that accepts: a key that was pressed twice must not do that.
  useLayoutEffect(() => {
    if (document.activeElement === document.body) said.current?.focus();
  }, [state.problem, state.installed]);
  return html`<form class="stacked" onSubmit=${submit} onChange=${forget}>
    <p>${say.installLead}</p>
    <label>${say.module} <input type="file" name="module" accept=".wasm" required /></label>
    <label>${say.signature} <input type="file" name="signature" accept=".minisig" /></label>
    <label>${say.hosts} <input name="hosts" autocomplete="off" spellcheck=${false} /></label>
    <${ReasonField} />
    ${!asks && state.problem && html`<div tabIndex="-1" ref=${said}><${Problem} of=${state.problem} /></div>`}
    ${asks && html`<div class="problem" role="alert">
      <p tabIndex="-1" ref=${said}><strong>${say.asksForMore}</strong></p>
      <ul>${[...asks].map((one) => html`<li><${Text} of=${one} /></li>`)}</ul>
      <p>${say.nothingChanged}</p>
    </div>`}
    ${state.installed && html`<${Installed} of=${state.installed} said=${said} />`}
    <p class="buttons">
      ${asks
        ? html`<${BusyButton} key="accept" type="button" class="danger" isBusy=${state.isBusy} onClick=${(event) => send(event.currentTarget.form, state.given)}>${state.isBusy ? say.installing : say.accept}<//>`
        : html`<${BusyButton} key="install" type="submit" class="first" isBusy=${state.isBusy}>${state.isBusy ? say.installing : say.install}<//>`}
    </p>
  </form>`;
}

function Installed({ of, said }) {
  return html`<div class="success">
    <p tabIndex="-1" ref=${said}>${say.installed(text(of.connector), text(of.version))} <${IdLink} kind="connectors" id=${of.connector} /></p>
    ${of.hosts.missing.length > 0 && html`<p>${say.missing} <${Text} of=${of.hosts.missing.join(", ")} /></p>`}
    ${(of.gateways ?? []).filter((one) => one.state !== "live").map((one) => html`<p>
      <${Text} of=${one.gateway} />: <${State} of=${one.state} /> <${Text} of=${one.reason} />
    </p>`)}
  </div>`;
}
