// The parts that screens are made of. What an upstream or a manifest says reaches the page as text nodes alone: `text` makes a string
// of every value, and nothing here makes HTML of a string.

import { h } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import htm from "htm";
import { to } from "./route.js";
import { words } from "./words.js";

export const html = htm.bind(h);

/** Any value as a text. An object is shown as JSON, so that it is never taken for an element. */
export function text(value) {
  if (value === null || value === undefined || value === "") return words.nothing;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The longest word that stays in one line. Longer ones are names, addresses and keys, which have signs at which a line can end. */
const WORD = 12;

/** The longest part of such a word that stays whole. Longer ones are ids. */
const PART = 17;

/** An id of the gateway, of a request, or a UUID, which is a word of a text. */
const ID = /(?<=^|[\s(`])((?:key|ags|int|job|trg|inb|msg|evt|lnk|whs|ibs)_[0-9A-Za-z]{12,}|[0-9a-f]{8,}(?:-[0-9a-f]+)+)(?=$|[\s)`,.;:])/;

/** The longest id that columns show whole. */
const WHOLE = 22;

/** The first characters and the last ones of a longer id, which columns show. */
const [BEGINNING, END] = [12, 4];

/** An id, which stays in one line. The page has the whole of it, so that it is copied whole. */
const Id = ({ of }) => (of.length > WHOLE
  ? html`<span class="id" title=${of}>${of.slice(0, BEGINNING)}<span class="rest">${of.slice(BEGINNING, -END)}</span>${of.slice(-END)}</span>`
  : html`<span class="id">${of}</span>`);

/**
 * A text with places at which a line can end: after the signs in long names and addresses, so that words stay whole in narrow columns. An
 * id has no such place.
 */
function withBreaks(of) {
  // Every second part is an id.
  const parts = text(of).split(ID).flatMap((part, number) => (number % 2 ? [html`<${Id} of=${part} />`] : part.split(/(\s+)/).flatMap(breaks)));
  return parts.every((part) => typeof part === "string") ? text(of) : parts;
}

function breaks(word) {
  if (word.length <= WORD) return [word];
  return word.split(/(?<=[_./:@=&?,-])(?=[^_./:@=&?,-])/).flatMap((part, number) => (number ? [html`<wbr />`, part] : [part]));
}

const hasLongPart = (of) => text(of).split(/[\s_./:@=&?,-]/).some((part) => part.length > PART);

/** A text of someone else. It is isolated, so that it cannot change the direction of the text around it. */
export const Text = ({ of }) => html`<bdi class=${hasLongPart(of) ? "long" : undefined}>${withBreaks(of)}</bdi>`;

/** A link to a thing by its id. */
export function IdLink({ kind, id }) {
  if (!id) return words.nothing;
  return html`<a href=${to([kind, id])}><${Text} of=${id} /></a>`;
}

/** The key or the agent session of a change or of a call, which is a link. Any other actor is a text. The audit has who made a session. */
export function Actor({ of }) {
  if (of?.startsWith("key_")) return html`<${IdLink} kind="keys" id=${of} />`;
  if (of?.startsWith("ags_")) return html`<a href=${to(["audit"], { target: of })}><${Text} of=${of} /></a>`;
  return html`<${Text} of=${of} />`;
}

/** The times on the page, each of which says anew how long ago it was. */
const shownTimes = new Set();

/** The time between two turns. Most times on a page are minutes ago or more. */
const TURN_MS = 30_000;

const sayAnew = () => document.hidden || shownTimes.forEach((turn) => turn());
setInterval(sayAnew, TURN_MS);
document.addEventListener("visibilitychange", sayAnew);

/** A time: how long ago it was, with the exact time. */
export function Time({ at }) {
  const [, setTurn] = useState(0);
  useEffect(() => {
    const turn = () => setTurn((turn) => turn + 1);
    shownTimes.add(turn);
    return () => shownTimes.delete(turn);
  }, []);
  if (!at) return words.nothing;
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return html`<${Text} of=${at} />`;
  return html`<time dateTime=${at} title=${at}>${words.ago(date.getTime() - Date.now())}</time>`;
}

/** The exact time, and how long ago it was. */
export const ExactTime = ({ at }) => (at ? html`${text(at)} (<${Time} at=${at} />)` : words.nothing);

/** A state with its color. The word says it too, for people who do not see the color. */
export const State = ({ of, tone }) => html`<span class="state ${tone ?? tones[of] ?? "plain"}">${text(of)}</span>`;

const tones = {
  active: "good", verified: "good", stored: "good", handshake: "good", live: "good", valid: "good", ready: "good", succeeded: "good", delivered: "good", granted: "good", configured: "good",
  expired: "bad", rejected: "bad", "needs-user": "bad", "needs-secret": "bad", "needs-setup": "bad", revoked: "bad", refused: "bad", failed: "bad", away: "bad", missing: "bad", destructive: "bad",
  degraded: "wait", paused: "wait", unverified: "wait", unattributed: "wait", pending: "wait", running: "wait", compiling: "wait", starting: "wait", draining: "wait", write: "wait", unnamed: "wait",
};

/** The status of an answer with its color. */
export function Status({ of }) {
  if (!of) return html`<${State} of=${words.noStatus} tone="bad" />`;
  return html`<${State} of=${of} tone=${of < 400 ? "good" : of < 500 ? "wait" : "bad"} />`;
}

/** Names with their values. */
export const Facts = ({ of }) => html`<dl class="facts">
  ${of.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value ?? words.nothing}</dd></div>`)}
</dl>`;

/** A heading with what is below it. */
export const Section = ({ title, children }) => html`<section><h2>${title}</h2>${children}</section>`;

/** The rows that a table draws first: a screen shows no more. The others follow once the browser has drawn these. */
const FIRST_ROWS = 20;

/**
 * A table of few rows. Each column is its name and the function of its cells. With `onSort`, the table can be sorted by the columns that
 * also have the function of a value, `order` is the one that it has, and `sortTitle` says what sorting by a column does. Rows in which
 * something can be opened or pressed need `keyOf`, the text by which a row is known: other rows can come before it while it is used.
 */
export function Table({ caption, columns, rows, keyOf, busy, order, onSort, sortTitle }) {
  const [isWhole, setIsWhole] = useState(rows.length <= FIRST_ROWS);
  useLayoutEffect(() => {
    // The browser calls this before it draws a frame, and the timer after that. An effect would not wait for a frame that takes long.
    const frame = requestAnimationFrame(() => setTimeout(() => setIsWhole(true)));
    return () => cancelAnimationFrame(frame);
  }, []);
  const drawn = isWhole ? rows : rows.slice(0, FIRST_ROWS);
  return html`<table role="table" aria-busy=${busy || drawn.length < rows.length ? "true" : "false"} class=${onSort ? "sortable" : undefined}>
    <caption>${caption}</caption>
    <thead role="rowgroup"><tr role="row">${columns.map(([name, , valueOf]) => html`<${Heading} name=${name} order=${order} onSort=${valueOf && onSort} title=${sortTitle} />`)}</tr></thead>
    <tbody role="rowgroup">
      ${drawn.map((row) => html`<tr key=${keyOf?.(row)} role="row">
        ${columns.map(([name, cell]) => html`<td role="cell" data-name=${name}><div>${cell(row)}</div></td>`)}
      </tr>`)}
    </tbody>
  </table>`;
}

function Heading({ name, order, onSort, title }) {
  if (!onSort) return html`<th role="columnheader" scope="col">${name}</th>`;
  const direction = order?.name === name ? (order.isDown ? "descending" : "ascending") : undefined;
  return html`<th role="columnheader" scope="col" aria-sort=${direction}>
    <button type="button" class="sort" title=${title(name)} onClick=${() => onSort(name)}>${name}<span aria-hidden="true">${{ ascending: " ▲", descending: " ▼" }[direction]}</span></button>
  </th>`;
}

/** A problem document, with all that it says about the reason. */
export function Problem({ of }) {
  if (!of) return null;
  const { title, detail, errors, asks_for: asks, instance: request } = of;
  return html`<div class="problem" role="alert">
    <p><strong>${text(title)}</strong></p>
    <p>${text(detail)}</p>
    ${errors && html`<ul>${[...errors].map((error) => html`<li><code>${text(error.pointer)}</code> ${text(error.detail)}</li>`)}</ul>`}
    ${asks && html`<ul>${[...asks].map((one) => html`<li>${text(one)}</li>`)}</ul>`}
    ${request && html`<p class="small">${words.requestId} <code>${text(request)}</code></p>`}
  </div>`;
}

/** What is shown until data are there: that they are on the way, or why they do not come. */
export function Awaited({ data, problem }) {
  return data || problem ? html`<${Problem} of=${problem} />` : html`<p aria-busy="true">${words.loading}</p>`;
}

/** The button that loads again. It says that it is not complete while the gateway has not answered. `of` is what `useLoad` returns. */
export const Refresh = ({ of: { loading, reload } }) => html`
  <button type="button" onClick=${reload} aria-disabled=${loading ? "true" : "false"}>${words.refresh}</button>
`;

/**
 * A button that does one thing at a time. While it is busy, it takes no click, and does not send its form: browsers send a form at Enter by
 * a click too. It keeps the focus, which a disabled button loses.
 */
export const BusyButton = ({ isBusy, onClick, children, ...rest }) => html`
  <button ...${rest} aria-disabled=${isBusy ? "true" : "false"} onClick=${isBusy ? (event) => event.preventDefault() : onClick}>${children}</button>
`;

/**
 * A field in which someone may be typing. It takes `value` when `value` or `turn` changes, and at no other drawing of the page: an answer
 * that comes meanwhile must not take away what was typed. `kind` is the name of the element.
 */
export function Entry({ kind = "input", value, turn, ...rest }) {
  const field = useRef(null);
  useLayoutEffect(() => {
    field.current.value = value;
  }, [value, turn]);
  return html`<${kind} ref=${field} ...${rest} />`;
}

/** A text to copy, such as a command. */
export function Code({ label, children }) {
  // The text that was copied. The next one was not.
  const [copied, setCopied] = useState(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(children);
      setCopied(children);
      announce(words.copied);
    } catch {
      announce(words.notCopied);
    }
  };
  return html`<figure class="code">
    <figcaption>
      ${label} ${navigator.clipboard && html`<button type="button" class="small" onClick=${copy}>${copied === children ? words.copied : words.copy}</button>`}
    </figcaption>
    <pre tabIndex="0" role="region" aria-label=${label}>${text(children)}</pre>
  </figure>`;
}

/**
 * The heading of a screen. It gets the focus when the screen is opened, so that a screen reader begins there. It gets it at once: later, it
 * would take it from where someone has gone with the first keys.
 */
export function Title({ children }) {
  const heading = useRef(null);
  useEffect(() => {
    document.title = `${children} · ${words.product}`;
  }, [children]);
  useLayoutEffect(() => heading.current.focus(), []);
  return html`<h1 tabIndex="-1" ref=${heading}>${children}</h1>`;
}

let speak = () => {};
let show = () => {};

/** The time for which a message is shown. */
const SHOWN_MS = 15_000;

/** Tells a screen reader what has changed. */
export const announce = (message) => speak(message);

/** Tells everyone what a change has done. The page shows it for a while, because the screen that made the change may be gone. */
export function tell(message, tone = "good") {
  announce(message);
  show({ message, tone });
}

/** The place of messages. A screen reader hears a message again only if its text is another one. */
export function Live() {
  const [message, setMessage] = useState("");
  const [shown, setShown] = useState(null);
  useEffect(() => {
    speak = (next) => setMessage((last) => (last === next ? `${next}\u00a0` : next));
    // Each message has a separate element, so that a message with the same text as the last one is seen as another one.
    show = (next) => setShown((last) => ({ ...next, number: (last?.number ?? 0) + 1 }));
  }, []);
  useEffect(() => {
    if (!shown) return undefined;
    const timer = setTimeout(() => setShown(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [shown]);
  return html`<p class="unseen" role="status" aria-live="polite">${message}</p>
    ${shown && html`<p key=${shown.number} class="said ${shown.tone}" aria-hidden="true">${shown.message}</p>`}`;
}
