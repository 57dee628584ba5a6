// Tries an operation: a form from its schema, a warning by its effect, the answer, and the same call for programs and agents.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, headerText, Refusal, send, useDocument, useLoad, withQuery } from "./api.js";
import { curl, javascript, python, toolCall } from "./commands.js";
import { ChangeButton } from "./dialog.js";
import { Fields, Reading, resolved } from "./form.js";
import { announce, Awaited, BusyButton, Code, Facts, html, IdLink, Problem, Section, State, Status, Table, Text, text, Title } from "./parts.js";
import { goInstead, to } from "./route.js";
import { words } from "./words.js";

const say = words.try;

/** The longest text of an answer that is shown. */
const SHOWN = 200_000;

/** The longest value of a member that is shown. */
const VALUE = 80;

/** The levels of members below the answer that are described. */
const LEVELS = 3;

/** The most members that are shown at once. More of them are in a part to open. */
const MEMBERS = 60;

/**
 * The screen: the choice of an operation, and the operation. A key of an arrow chooses the next one, so a choice loads nothing if another
 * operation of the connector was shown, and the way back leads to the screen before.
 */
export function Try({ connector, operation, session }) {
  const { data, problem } = useDocument("/connectors");
  const live = data?.connectors ?? [];
  const chosen = live.find((one) => one.connector === connector);
  const options = (names, value) => names.map((name) => html`<option value=${name} selected=${name === value}>${text(name)}</option>`);
  return html`
    <${Title}>${say.title}<//>
    <p>${say.lead}</p>
    <${Awaited} data=${data} problem=${problem} />
    <form class="filters" onSubmit=${(event) => event.preventDefault()}>
      <label>${words.connector} <select onChange=${(event) => goInstead(["try", event.currentTarget.value].filter(Boolean))}>
        <option value="">${say.choose}</option>${options(live.map((one) => one.connector), connector)}
      </select></label>
      ${chosen && html`<label>${words.operation} <select onChange=${(event) => goInstead(["try", connector, event.currentTarget.value].filter(Boolean))}>
        <option value="">${say.choose}</option>${options(chosen.operations.map((one) => one.path), operation)}
      </select></label>`}
    </form>
    ${chosen && operation && html`<${Operation} key=${connector} connector=${chosen} operation=${operation} session=${session} />`}
  `;
}

/** The API's description of a connector, and the accounts of the operator's key. */
async function load(connector) {
  const [document, accounts] = await Promise.all([
    call("GET", withQuery("/openapi.json", { connector: connector.connector, answers: "typed" })),
    connector.auth_type === "none"
      ? { integrations: [] }
      : call("GET", withQuery("/integrations", { connector: connector.connector, limit: 200 })).catch(() => ({ integrations: [] })),
  ]);
  return { document, accounts: accounts.integrations };
}

function Operation({ connector, operation, session }) {
  const { data, problem, loading, reload } = useLoad(() => load(connector), [connector.connector]);
  if (!data) return html`<${Awaited} data=${data} problem=${problem} />`;
  const entry = data.document.paths[`/connectors/${connector.connector}/${operation}`]?.post;
  if (!entry) return html`<p>${say.unknown}</p>`;
  return html`<${Call} key=${operation} ...${{ connector, operation, session, loading, reload, entry, ...data }} />`;
}

/** What someone had entered when the session ended, until the same person sees the same operation again. */
let kept = null;

/** Keeps what is entered if the session ends. `of` says whose it is, and of which operation. */
function useKept(of, entered) {
  const now = useRef(entered);
  now.current = entered;
  useEffect(() => {
    const keep = () => {
      kept = { of, entered: now.current };
    };
    addEventListener("console-signed-out", keep);
    return () => removeEventListener("console-signed-out", keep);
  }, [of]);
}

/** What was kept of an operation. It is there once, and lost if another operation is shown before. */
function takeKept(of) {
  const found = kept?.of === of ? kept.entered : {};
  kept = null;
  return found;
}

function Call({ connector, operation, session, loading, reload, document, accounts, entry }) {
  const media = entry.requestBody?.content["application/json"] ?? {};
  const of = JSON.stringify([session.key_id ?? session.person, connector.connector, operation]);
  const [before] = useState(() => takeKept(of));
  const [value, setValue] = useState(before.value ?? media.example ?? {});
  const [raw, setRaw] = useState(before.raw ?? null);
  const [account, setAccount] = useState(before.account ?? "");
  useKept(of, { value, raw, account });
  const form = useRef(null);
  const [answer, setAnswer] = useState(null);
  // The calls without an answer, and the files that are being read.
  const [sent, setSent] = useState(0);
  const [reading, setReading] = useState(0);
  const tellReading = useCallback((by) => setReading((reading) => reading + by), []);
  const count = useRef(0);
  const effect = entry["x-effect"];
  const id = connector.connector;
  const headers = account ? { "X-User-Identifier": account } : {};
  const body = raw ?? JSON.stringify(value);
  const run = async () => {
    // The browser asks no form if the call is sent from a dialog. A field that was not taken still has the value before.
    if (!form.current.checkValidity()) throw new Refusal({ title: words.form.notValid, detail: words.form.notValidTodo });
    const turn = (count.current += 1);
    setSent((sent) => sent + 1);
    try {
      const received = await answerOf(id, operation, body, headers);
      // The dialog of a change can be closed before its answer comes. The answer to a later call stays.
      if (turn === count.current) setAnswer(received);
    } finally {
      setSent((sent) => sent - 1);
    }
    return say.answered;
  };
  const submit = (event) => {
    event.preventDefault();
    // Enter in the only field submits a form without a button for it. A change is asked about first.
    if (effect !== "read") return;
    run().catch((error) => setAnswer({ problem: error.problem ?? { title: words.failed, detail: String(error) } }));
  };
  return html`
    <p><${Text} of=${connector.operations.find((one) => one.path === operation)?.summary} /></p>
    <p><${State} of=${effect} /> ${say.effects[effect]}</p>
    ${connector.auth_type !== "none" && html`<${Accounts} ...${{ id, accounts, account, setAccount, loading, reload }} />`}
    <form class="stacked" ref=${form} onSubmit=${submit}>
      ${raw === null
        ? html`<${Reading.Provider} value=${tellReading}><${Fields} schema=${resolved(media.schema ?? {}, document)} root=${document} value=${value} change=${setValue} /><//>`
        : html`<label>${say.raw} <textarea rows="8" spellcheck=${false} value=${raw} onInput=${(event) => setRaw(event.currentTarget.value)} /></label>`}
      <p class="buttons">
        <button type="button" onClick=${() => toggleRaw(raw, value, setRaw, setValue)}>${raw === null ? say.showRaw : say.showForm}</button>
        ${effect === "read"
          ? html`<${BusyButton} type="submit" class="first" isBusy=${sent > 0 || reading > 0}>${sent > 0 ? say.sending : say.send}<//>`
          : html`<${ChangeButton} label=${say.send} title=${say.sendTitle} danger=${effect === "destructive"}
              what=${html`<p>${say.effects[effect]}</p><p>${say.really(`${id}/${operation}`, account)}</p>`} change=${run} isAudited=${false} isReady=${reading === 0} />`}
      </p>
    </form>
    <${Answer} of=${answer} schema=${entry.responses?.["200"]?.content["application/json"]?.schema} root=${document} />
    <${Same} ...${{ session, id, operation, body, headers, account }} />
  `;
}

/** Shows the body as text, or as fields again. A text that is no JSON stays a text. */
function toggleRaw(raw, value, setRaw, setValue) {
  if (raw === null) return setRaw(JSON.stringify(value, null, 2));
  try {
    setValue(JSON.parse(raw));
    setRaw(null);
  } catch {
    announce(words.form.notJson);
  }
}

/** Headers as browsers take them. */
const asSent = (headers) => Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, headerText(value)]));

/** Sends the call. The text is sent as it is, so that long numbers keep their digits. */
async function answerOf(connector, operation, body, headers) {
  const began = performance.now();
  const path = `/connectors/${encodeURIComponent(connector)}/${encodeURIComponent(operation)}`;
  const sent = new Blob([body], { type: "application/json" });
  const answer = await send("POST", path, { body: sent, headers: { "content-type": "application/json", ...asSent(headers) } });
  const ms = performance.now() - began;
  const blob = await answer.blob();
  const type = answer.headers.get("content-type") ?? "";
  const isText = /json|text|xml/.test(type);
  return { status: answer.status, ms, type, headers: [...answer.headers], blob, ...(isText && readable(await blob.text())) };
}

function Accounts({ id, accounts, account, setAccount, loading, reload }) {
  const [link, setLink] = useState(null);
  const connect = async () => {
    setLink({ isBusy: true });
    try {
      setLink(await call("POST", "/connect-links", { body: { connectors: [id] } }));
    } catch (error) {
      setLink({ problem: error.problem });
    }
  };
  return html`<div class="filters" aria-busy=${loading ? "true" : "false"}>
    <label>${words.integrations.account} <select onChange=${(event) => setAccount(event.currentTarget.value)}>
      <option value="">${say.anyAccount}</option>
      ${accounts.map((one) => html`<option value=${one.user_identifier} selected=${one.user_identifier === account}>
        ${text(one.user_identifier)} (${text(one.status)})
      </option>`)}
    </select></label>
    <${BusyButton} type="button" isBusy=${link?.isBusy} onClick=${connect}>${say.connect}<//>
    <${Problem} of=${link?.problem} />
    ${link?.url && html`<p role="status"><a href=${link.url} target="_blank" rel="noopener">${say.openConnect}</a> <button type="button" onClick=${reload}>${say.reloadAccounts}</button></p>`}
  </div>`;
}

function Answer({ of, schema, root }) {
  if (!of) return null;
  if (of.problem) return html`<${Problem} of=${of.problem} />`;
  const id = of.headers.find(([name]) => name === "x-request-id")?.[1];
  const save = () => {
    const url = URL.createObjectURL(of.blob);
    Object.assign(window.document.createElement("a"), { href: url, download: fileName(of.headers) }).click();
    // Some browsers begin to read it later.
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  };
  return html`<${Section} title=${say.answer}>
    <${Facts} of=${[
      [words.status, html`<${Status} of=${of.status} />`],
      [words.time, words.ms(of.ms)],
      [words.requestId, of.status < 400 ? text(id) : html`<${IdLink} kind="calls" id=${id} />`],
      [say.size, words.bytes(of.blob.size)],
    ]} />
    ${of.shown === undefined
      ? html`<p>${say.file(text(of.type))} <button type="button" onClick=${save}>${say.save}</button></p>`
      : html`<${Code} label=${say.body}>${of.shown}<//>`}
    ${of.status < 300 && html`<${Members} value=${of.value} schema=${schema} root=${root} />`}
    <details><summary>${say.headers}</summary><${Facts} of=${of.headers.map(([name, value]) => [name, html`<${Text} of=${value} />`])} /></details>
  <//>`;
}

/** The name of a file in the header `Content-Disposition` (RFC 6266). The form with a character set wins. */
function fileName(headers) {
  const disposition = headers.find(([name]) => name === "content-disposition")?.[1] ?? "";
  const encoded = /filename\*\s*=\s*UTF-8''([^;\s]+)/i.exec(disposition)?.[1];
  try {
    if (encoded) return decodeURIComponent(encoded);
  } catch {
    // The other form is left.
  }
  return /filename\s*=\s*"?([^";]+)"?/i.exec(disposition)?.[1] ?? "answer";
}

/** The members of an answer that its schema has. The column of descriptions is there if the schema describes one of them. */
function Members({ value, schema, root }) {
  const members = useMemo(() => membersOf(value, schema, root), [value]);
  if (!members.length) return null;
  const isDescribed = members.some((one) => one.description);
  return html`<details open=${members.length <= MEMBERS}>
    <summary>${say.members(members.length)}</summary>
    <div class=${isDescribed ? undefined : "wide"}><${Table} caption=${say.membersCaption} rows=${members} columns=${[
      [say.member, (one) => html`<${Text} of=${one.path} />`],
      [say.type, (one) => text(say.types(one.type))],
      [say.value, (one) => html`<${Text} of=${one.value} />`],
      ...(isDescribed ? [[say.description, (one) => html`<${Text} of=${one.description} />`]] : []),
    ]} /></div>
  </details>`;
}

/**
 * The members of a value that its schema describes, with their paths. The first entry of a list
 * stands for all of them.
 */
function membersOf(value, schema, root, path = []) {
  const found = resolved(schema, root);
  const alternatives = found.anyOf ?? found.oneOf;
  if (alternatives) {
    // The alternative that describes most of the value is the one that it has.
    const described = alternatives.map((one) => membersOf(value, one, root, path));
    return described.reduce((most, one) => (one.length > most.length ? one : most), []);
  }
  if (Array.isArray(value)) return membersOf(value[0], found.items, root, path);
  if (path.length === LEVELS || value === null || typeof value !== "object") return [];
  const there = Object.entries(found.properties ?? {}).filter(([name]) => Object.hasOwn(value, name));
  return there.flatMap(([name, member]) => {
    const { type, description } = resolved(member, root);
    const names = [...path, name];
    const row = { path: names.join("."), type, description, value: shortened(text(value[name])) };
    return [row, ...membersOf(value[name], member, root, names)];
  });
}

const shortened = (value) => (value.length > VALUE ? `${value.slice(0, VALUE)}…` : value);

/** The beginning of an answer as it is shown, and the value of the answer if it is JSON. */
function readable(answer) {
  const beginning = answer.slice(0, SHOWN);
  const end = answer.length > SHOWN ? `\n${say.cut}` : "";
  try {
    return { value: JSON.parse(answer, withDigits), shown: indented(beginning) + end };
  } catch {
    return { shown: beginning + end };
  }
}

/** A number that would lose digits is its text, in browsers that tell it. */
const withDigits = (_, value, { source } = {}) => (typeof value === "number" && source && source !== String(value) ? source : value);

/** The parts of JSON that stay, go or break a line: strings, blanks, what is empty, and signs. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)|\s+|\[\s*\]|\{\s*\}|[[\]{},:]/g;

/**
 * JSON, or its beginning, with line breaks. It is not made from the value, so that long numbers
 * keep their digits.
 */
function indented(json) {
  let depth = 0;
  const line = (by) => {
    depth += by;
    return `\n${"  ".repeat(depth)}`;
  };
  return json.replace(TOKENS, (token) => {
    if (token === "{" || token === "[") return token + line(1);
    if (token === "}" || token === "]") return line(-1) + token;
    if (token === ",") return token + line(0);
    if (token === ":") return ": ";
    return token[0] === '"' ? token : token.replace(/\s+/g, "");
  });
}

function Same({ session, id, operation, body, headers, account }) {
  let parsed = null;
  try {
    parsed = JSON.parse(body);
  } catch {
    return null;
  }
  const tool = toolCall(id, operation, parsed, account);
  return html`<${Section} title=${say.same}>
    <p>${say.sameLead} <a href=${to(["keys"])}>${words.keys.title}</a></p>
    <${Code} label="curl">${curl(session, id, operation, body, headers)}<//>
    <details><summary>${say.programs}</summary>
      <${Code} label="Python">${python(session, id, operation, body, headers)}<//>
      <${Code} label="JavaScript">${javascript(session, id, operation, body, headers)}<//>
      ${tool && html`<${Code} label=${say.tool}>${tool}<//>`}
    </details>
  <//>`;
}
