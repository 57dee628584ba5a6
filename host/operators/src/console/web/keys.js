// API keys: the list, one key, and the dialog that makes one.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { call, useDocument } from "./api.js";
import { ChangeButton, closeDialog, DialogButton, ReasonField } from "./dialog.js";
import { isTenant } from "./find.js";
import { List } from "./list.js";
import { Actor, Awaited, BusyButton, Code, ExactTime, Facts, html, IdLink, Problem, Refresh, State, Text, text, Time, Title } from "./parts.js";
import { to } from "./route.js";
import { words } from "./words.js";

const say = words.keys;
const SCOPES = ["operate", "integrate", "proxy", "admin"];
const EFFECTS = ["read", "write", "destructive"];

/** The state of a key, as the filter of the list names it. */
export const stateOf = (key) => (key.revoked_at ? "revoked" : new Date(key.expires_at ?? 8.64e15) < new Date() ? "expired" : "valid");

/** The columns of a table of keys. */
export const columns = [
  [say.name, (key) => html`<a href=${to(["keys", key.id])}><${Text} of=${key.name} /></a>`, (key) => key.name],
  [words.status, (key) => html`<${State} of=${stateOf(key)} />`, stateOf],
  [words.tenant, (key) => html`<${IdLink} kind="tenants" id=${key.tenant} />`, (key) => key.tenant],
  [words.subject, (key) => html`<${IdLink} kind="people" id=${key.subject} />`, (key) => key.subject],
  [say.scopes, (key) => key.scopes.join(" "), (key) => key.scopes.join(" ")],
  [say.allow, (key) => html`<${Text} of=${key.allow?.join(", ") ?? say.all} />`],
  [words.created, (key) => html`<${Time} at=${key.created_at} />`, (key) => key.created_at],
  [say.expires, (key) => html`<${Time} at=${key.expires_at} />`, (key) => key.expires_at],
  [say.lastUsed, (key) => html`<${Time} at=${key.last_used_at} />`, (key) => key.last_used_at],
];

/** The list. */
export function Keys({ query }) {
  const [turn, setTurn] = useState(0);
  return html`
    <${Title}>${say.title}<//>
    <p>${say.lead}</p>
    <p class="buttons">
      <${DialogButton} label=${say.make}><${NewKey} onDone=${() => setTurn((turn) => turn + 1)} /><//>
      <a href=${to(["tenants"])}>${words.tenants.title}</a> <a href=${to(["tool-sets"])}>${words.toolSets.title}</a>
    </p>
    <${List} place=${["keys"]} query=${query} path="/admin/keys" name="keys" caption=${say.title} columns=${columns} turn=${turn} />
  `;
}

/** One key. */
export function Key({ id }) {
  const path = `/admin/keys/${encodeURIComponent(id)}`;
  const loaded = useDocument(path);
  const { data: key, problem, reload } = loaded;
  const revoke = async (options) => {
    await call("DELETE", path, options);
    return say.revoked;
  };
  return html`
    <${Title}>${say.one(id)}<//>
    <p class="buttons">
      <a href=${to(["keys"])}>${say.title}</a>
      <${Refresh} of=${loaded} />
      ${key && !key.revoked_at && html`<${ChangeButton} label=${say.revoke} title=${say.revokeTitle(text(key.name))} danger=${true} what=${html`<${Revoked} of=${key} />`}
        change=${revoke} onDone=${reload} />`}
    </p>
    <${Awaited} data=${key} problem=${problem} />
    ${key && html`
      <${Facts} of=${[
        [say.name, html`<${Text} of=${key.name} />`],
        [words.status, html`<${State} of=${stateOf(key)} />`],
        [say.prefix, html`<code>${text(key.prefix)}</code>`],
        [words.tenant, html`<${IdLink} kind="tenants" id=${key.tenant} />`],
        [words.subject, html`<${IdLink} kind="people" id=${key.subject} />`],
        [say.scopes, key.scopes.join(" ")],
        [say.allow, html`<${Text} of=${key.allow?.join(", ") ?? say.all} />`],
        [say.effects, text(key.effects?.join(", ") ?? say.all)],
        [say.confirm, key.confirm ? words.yes : words.no],
        [words.created, html`<${ExactTime} at=${key.created_at} />`],
        [say.createdBy, html`<${Actor} of=${key.created_by} />`],
        [say.expires, html`<${ExactTime} at=${key.expires_at} />`],
        [say.lastUsed, html`<${ExactTime} at=${key.last_used_at} />`],
        [say.revokedAt, html`<${ExactTime} at=${key.revoked_at} />`],
      ]} />
      <p><a href=${to(["audit"], { actor: id })}>${say.itsChanges}</a></p>
    `}
  `;
}

/** What stops when a key is revoked. */
const Revoked = ({ of: key }) => html`
  <p>${say.revokeWhat(text(key.name), text(key.tenant))} ${key.last_used_at ? html`${say.wasUsed} <${Time} at=${key.last_used_at} />.` : say.notUsed}</p>
  <p>${say.revokeMore}</p>
`;

/** The form that makes a key, and then the key. A tenant that nothing has yet may be a mistake in writing, so it is asked about first. */
function NewKey({ onDone }) {
  const [state, setState] = useState({});
  const shown = useRef(null);
  // The button that made the key is gone, and the focus with it.
  useLayoutEffect(() => shown.current?.focus(), [state.made]);
  const make = async (event) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const one = (name) => given.get(name).trim() || undefined;
    const names = one("allow")?.split(/[\s,]+/).filter(Boolean);
    const effects = given.getAll("effects");
    const days = one("days");
    const tenant = one("tenant");
    const { unknown } = state;
    setState({ isBusy: true, unknown });
    try {
      if (tenant && tenant !== unknown && !(await isTenant(tenant))) return setState({ unknown: tenant });
      const body = {
        name: one("name"), tenant, subject: one("subject"), scopes: given.getAll("scopes"), allow: names,
        effects: effects.length ? effects : undefined, confirm: given.has("confirm"),
        expires_at: days && new Date(Date.now() + Number(days) * 86_400_000).toISOString(),
      };
      setState({ made: await call("POST", "/admin/keys", { body, reason: given.get("reason") }) });
      onDone();
    } catch (error) {
      setState({ problem: error.problem ?? { title: words.failed, detail: String(error) }, unknown });
    }
    return undefined;
  };
  if (state.made) {
    return html`
      <div class="success"><p tabIndex="-1" ref=${shown}>${say.made}</p><${Code} label=${say.key}>${state.made.key}<//></div>
      <p class="buttons"><button type="button" class="first" onClick=${closeDialog}>${words.close}</button></p>
    `;
  }
  const boxes = (name, values) => values.map((value) => html`<label class="box"><input type="checkbox" name=${name} value=${value} /> ${value}</label>`);
  return html`<form class="stacked" onSubmit=${make}>
    <label>${say.name} <input name="name" required maxlength="256" autocomplete="off" /></label>
    <label>${words.tenant} <input name="tenant" autocomplete="off" /></label>
    <label>${words.subject} <input name="subject" autocomplete="off" /></label>
    <fieldset><legend>${say.scopes}</legend>${boxes("scopes", SCOPES)}</fieldset>
    <label>${say.allowHint} <input name="allow" autocomplete="off" spellcheck=${false} /></label>
    <fieldset><legend>${say.effectsHint}</legend>${boxes("effects", EFFECTS)}</fieldset>
    <label class="box"><input type="checkbox" name="confirm" /> ${say.confirm}</label>
    <label>${say.days} <input name="days" type="number" min="1" max="3650" /></label>
    <${ReasonField} />
    ${state.unknown && html`<div class="reason" role="alert"><p>${say.newTenant(state.unknown)}</p></div>`}
    <${Problem} of=${state.problem} />
    <p class="buttons">
      <button type="button" onClick=${closeDialog}>${words.cancel}</button>
      <${BusyButton} type="submit" class="first" isBusy=${state.isBusy}>${say.make}<//>
    </p>
  </form>`;
}
