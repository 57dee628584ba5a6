// A form made from a JSON schema. What it cannot show as fields is a text with JSON.

import { createContext } from "preact";
import { useContext, useRef, useState } from "preact/hooks";
import { Entry, html, Text, text } from "./parts.js";
import { words } from "./words.js";

const say = words.form;

/** The function that a field calls when it begins (1) and ends (-1) to read a file. */
export const Reading = createContext(() => {});

/** The schema that a schema stands for: its reference is followed, and an alternative `null` is left out. */
export function resolved(schema, root) {
  let found = schema;
  for (let steps = 0; found?.$ref && steps < 20; steps += 1) {
    const { $ref, ...rest } = found;
    const target = $ref.replace(/^#\//, "").split("/").reduce((part, name) => part?.[name.replaceAll("~1", "/").replaceAll("~0", "~")], root);
    found = { ...target, ...rest };
  }
  const alternatives = (found?.anyOf ?? found?.oneOf)?.filter((one) => one.type !== "null");
  if (alternatives?.length === 1) {
    const { anyOf, oneOf, ...rest } = found;
    return resolved({ ...rest, ...alternatives[0] }, root);
  }
  return found ?? {};
}

/** The type that a schema asks for, apart from null. */
const typeOf = (schema) => [schema.type].flat().find((type) => type && type !== "null");

/** The kind of field that a schema needs. */
function kindOf(schema) {
  if (Array.isArray(schema.enum)) return "choice";
  const type = typeOf(schema);
  if (schema.anyOf || schema.oneOf || schema.allOf) return "json";
  if (type === "string") return schema.contentEncoding === "base64" || schema.format === "binary" ? "file" : "text";
  if (type === "integer" || type === "number") return "number";
  if (type === "boolean") return "boolean";
  if (type === "object" && schema.properties) return "object";
  if (type === "array" && schema.items) return "list";
  return "json";
}

/**
 * The fields of a schema. `change` gets the value, which is `undefined` for what is left out, or a function that makes it of the value
 * before.
 */
export function Fields({ schema, root, value, change, path = "", label, isRequired }) {
  const found = resolved(schema, root);
  const kind = path.split("/").length > 7 ? "json" : kindOf(found);
  if (kind === "object") return html`<${ObjectFields} ...${{ found, root, value, change, path, label }} />`;
  if (kind === "list") return html`<${ListFields} ...${{ found, root, value, change, path, label }} />`;
  const id = `field${path.replaceAll("/", "-")}`;
  const hint = found.description && `${id}-hint`;
  return html`<div class="field">
    <label for=${id}><${Text} of=${label ?? say.body} /> ${isRequired && html`<span class="small">${say.required}</span>`}</label>
    <${Input} ...${{ kind, found, value, change, id, hint, isRequired }} />
    ${hint && html`<p class="small" id=${hint}><${Text} of=${found.description} /></p>`}
  </div>`;
}

function Input({ kind, found, value, change, id, hint, isRequired }) {
  const common = { id, "aria-describedby": hint, required: isRequired };
  if (kind === "choice" || kind === "boolean") {
    const choices = kind === "boolean" ? [true, false] : found.enum;
    const chosen = choices.findIndex((choice) => choice === value);
    const select = (event) => change(event.currentTarget.value === "" ? undefined : choices[event.currentTarget.value]);
    return html`<select ...${common} onChange=${select}>
      <option value="" selected=${chosen < 0}>${words.nothing}</option>
      ${choices.map((choice, number) => html`<option value=${number} selected=${chosen === number}>${text(choice)}</option>`)}
    </select>`;
  }
  if (kind === "number") {
    const enter = (event) => enterNumber(event.currentTarget, change);
    return html`<${Entry} ...${common} type="number" step="any" min=${found.minimum} max=${found.maximum} value=${value ?? ""} onChange=${enter} />`;
  }
  if (kind === "file") return html`<${FileInput} ...${common} change=${change} />`;
  if (kind === "json") {
    return html`<${Entry} kind="textarea" ...${common} rows="4" spellcheck=${false} value=${typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value)}
      onChange=${(event) => enterJson(event.currentTarget, found, change)} />`;
  }
  const enter = (event) => change(event.currentTarget.value === "" ? undefined : event.currentTarget.value);
  const isLong = found.maxLength === undefined || found.maxLength > 300;
  return isLong && !found.format
    ? html`<${Entry} kind="textarea" ...${common} rows="1" spellcheck=${false} value=${value ?? ""} onChange=${enter} />`
    : html`<${Entry} ...${common} spellcheck=${false} autocomplete="off" value=${value ?? ""} onChange=${enter} />`;
}

/** A field for a file, whose content is the value. Reading it takes some time. The file that was chosen last counts, also if it is read first. */
function FileInput({ change, ...rest }) {
  const tell = useContext(Reading);
  const count = useRef(0);
  const read = async (event) => {
    const turn = (count.current += 1);
    tell(1);
    try {
      const content = await base64Of(event.currentTarget.files[0]);
      if (turn === count.current) change(content);
    } finally {
      tell(-1);
    }
  };
  return html`<input ...${rest} type="file" onChange=${read} />`;
}

/** The digits of a number that JavaScript keeps in any case. */
const SAFE_DIGITS = 15;

/** Takes a number. One that would lose digits is not taken: a body as JSON is sent as it is. */
function enterNumber(field, change) {
  const { value } = field;
  const digits = value.replace(/e.*$/i, "").replace(/\D/g, "").replace(/^0+/, "");
  const isKept = digits.length <= SAFE_DIGITS || String(Number(value)) === value;
  field.setCustomValidity(isKept ? "" : say.tooManyDigits);
  if (isKept) change(value === "" ? undefined : Number(value));
  else field.reportValidity();
}

/** Takes JSON. Where the schema admits any type, another text is a string. */
function enterJson(field, schema, change) {
  field.setCustomValidity("");
  try {
    change(field.value.trim() === "" ? undefined : JSON.parse(field.value));
  } catch {
    if (!typeOf(schema) && !schema.anyOf && !schema.oneOf && !schema.allOf) return change(field.value);
    field.setCustomValidity(say.notJson);
    field.reportValidity();
  }
}

async function base64Of(file) {
  if (!file) return undefined;
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = "";
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary);
}

/** The value after a change, which is a value or a function of the value before. A file is read for some time, in which others change. */
const changed = (change, before) => (typeof change === "function" ? change(before) : change);

/**
 * The members of an object: those that are required or set at first, and the others in a part to
 * open. A field stays in its part while one types.
 */
function ObjectFields({ found, root, value, change, path, label }) {
  const required = new Set(found.required ?? []);
  const isFirst = (name) => required.has(name) || value?.[name] !== undefined;
  const [first] = useState(() => new Set(Object.keys(found.properties).filter(isFirst)));
  const set = (name) => (member) => change((before) => {
    const next = { ...before, [name]: changed(member, before?.[name]) };
    if (next[name] === undefined) delete next[name];
    return path === "" || Object.keys(next).length ? next : undefined;
  });
  const field = ([name, schema]) => html`<${Fields} key=${name} schema=${schema} root=${root} value=${value?.[name]} change=${set(name)}
    path=${`${path}/${name}`} label=${name} isRequired=${path === "" && required.has(name)} />`;
  const members = Object.entries(found.properties);
  const others = members.filter(([name]) => !first.has(name));
  return html`<fieldset>
    <legend><${Text} of=${label ?? say.body} /></legend>
    ${members.length === 0 && html`<p>${say.noMembers}</p>`}
    ${members.filter(([name]) => first.has(name)).map(field)}
    ${others.length > 0 && html`<details><summary>${say.others(others.length)}</summary>${others.map(field)}</details>`}
  </fieldset>`;
}

function ListFields({ found, root, value, change, path, label }) {
  const items = value ?? [];
  const set = (number) => (item) => change((before) => (before ?? []).map((one, at) => (at === number ? changed(item, one ?? undefined) : one)));
  const remove = (number) => change((before) => {
    const left = (before ?? []).filter((_, at) => at !== number);
    return left.length ? left : undefined;
  });
  return html`<fieldset>
    <legend><${Text} of=${label} /></legend>
    ${items.map((item, number) => html`<div class="item">
      <${Fields} schema=${found.items} root=${root} value=${item ?? undefined} change=${set(number)} path=${`${path}/${number}`}
        label=${say.item(number + 1)} />
      <button type="button" class="small" onClick=${() => remove(number)}>${say.removeItem(number + 1)}</button>
    </div>`)}
    <button type="button" class="small" onClick=${() => change((before) => [...(before ?? []), null])}>${say.addItem(text(label))}</button>
  </fieldset>`;
}
