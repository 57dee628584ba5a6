// The gateway that answers: the results of its checks, and its configuration without secrets.

import { useState } from "preact/hooks";
import { useDocument } from "./api.js";
import { Awaited, html, Problem, Refresh, Section, State, Table, Text, text, Title } from "./parts.js";
import { words } from "./words.js";

const say = words.settings;
const ORDER = ["problem", "note", "ok"];
const TONES = { problem: "bad", note: "wait", ok: "good" };

/** The screen. */
export const Settings = () => html`
  <${Title}>${say.title}<//>
  <p>${say.lead}</p>
  <${Section} title=${say.doctor}><${Checks} /><//>
  <${Section} title=${say.configuration}><${Configuration} /><//>
`;

function Checks() {
  const checked = useDocument("/admin/doctor");
  const { data, problem, loading } = checked;
  const rows = [...(data?.findings ?? [])].sort((one, other) => ORDER.indexOf(one.level) - ORDER.indexOf(other.level));
  return html`
    <p class="buttons"><${Refresh} of=${checked} /></p>
    <${Problem} of=${problem} />
    <p role="status">${loading ? say.checking : data && say.wrong(data.problems)}</p>
    ${rows.length > 0 && html`<div class="wide"><${Table} caption=${say.findings} rows=${rows} busy=${loading} columns=${[
      [say.level, (one) => html`<${State} of=${one.level} tone=${TONES[one.level]} />`],
      [say.check, (one) => html`<${State} of=${one.check} tone="plain" />`],
      [say.finding, (one) => html`<${Text} of=${one.finding} />`],
      [say.action, (one) => html`<${Text} of=${one.action} />`],
    ]} /></div>`}
  `;
}

function Configuration() {
  const { data, problem } = useDocument("/admin/settings");
  const [onlyChanged, setOnlyChanged] = useState(false);
  const [wanted, setWanted] = useState("");
  const wantedWords = wanted.toLowerCase().split(/\s+/);
  const names = (section, one) => `${section}.${one.key} ${one.secret ? "" : text(one.value)}`.toLowerCase();
  const isWanted = (section) => (one) => (one.changed || !onlyChanged) && wantedWords.every((word) => names(section, one).includes(word));
  const shown = (data?.sections ?? [])
    .map(({ section, settings }) => ({ section, settings: settings.filter(isWanted(section)) }))
    .filter(({ settings }) => settings.length > 0);
  return html`
    <p>${say.configurationLead}</p>
    <${Awaited} data=${data} problem=${problem} />
    <form class="filters" role="search" aria-label=${say.search} onSubmit=${(event) => event.preventDefault()}>
      <label>${say.search} <input type="search" value=${wanted} autocomplete="off" spellcheck=${false} onInput=${(event) => setWanted(event.currentTarget.value)} /></label>
    </form>
    <p><label class="box"><input type="checkbox" checked=${onlyChanged} onChange=${(event) => setOnlyChanged(event.currentTarget.checked)} /> ${say.onlyChanged}</label></p>
    ${data && shown.length === 0 && html`<p>${words.noMatch}</p>`}
    <div class="settings">${shown.map(({ section, settings }) => html`<${Table} key=${section} caption=${say.caption(section || say.general)} rows=${settings} columns=${[
      [say.key, (one) => html`<code><${Text} of=${one.key} /></code>`],
      [say.value, value],
      [say.origin, (one) => (one.changed ? html`<${State} of=${say.changed} />` : say.isDefault)],
    ]} />`)}</div>
  `;
}

/** The value as in the file. A value that is not set is shown as nothing. */
function value({ value, secret }) {
  if (secret) return secret === "set" ? say.isSet : say.isNotSet;
  return html`<${Text} of=${Array.isArray(value) ? value.join(", ") : value} />`;
}
