// Requests to the gateway. The cookie of the session goes with each; a change has the header `X-Console` too.

import { useCallback, useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Again } from "./route.js";
import { words } from "./words.js";

/** The root of the gateway, also below a path of a proxy. */
export const root = new URL("../", import.meta.url);

/** An answer that is no success. */
export class Refusal extends Error {
  constructor(problem) {
    super(problem.title);
    this.problem = problem;
  }
}

/** A text as the value of a header, in UTF-8. Browsers send each character of a value as a byte. */
export const headerText = (text) => String.fromCharCode(...new TextEncoder().encode(text));

/** What `early.js` has asked for: its path, and the answer. */
let early = globalThis.askedEarly;

/** The answer to the request of `early.js`, if it is a success. Only the first who asks gets it, because the others want what is there now. */
async function earlyAnswer(path) {
  if (early?.path !== path) return null;
  const { answer } = early;
  early = undefined;
  const given = await answer;
  return given?.ok ? given : null;
}

const addressOf = (path) => new URL(path.replace(/^\//, ""), root);

/** How often someone has signed in. A late answer to a request of an earlier session does not end the one of now. */
let signIns = 0;

/** Sends a request, and returns the answer, also one that is no success. The audit has the `reason` of a change. */
export async function send(method, path, { body, headers = {}, reason, signal } = {}) {
  const isJson = body !== undefined && !(body instanceof Blob);
  const all = {
    ...(isJson && { "content-type": "application/json" }),
    ...(method !== "GET" && { "x-console": "1" }),
    ...(reason?.trim() && { "x-reason": headerText(reason.trim()) }),
    ...headers,
  };
  const session = signIns;
  let answer = method === "GET" ? await earlyAnswer(path) : null;
  try {
    const sent = isJson ? JSON.stringify(body) : body;
    answer ??= await fetch(addressOf(path), { method, headers: all, body: sent, signal, credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal({ title: words.unreachable, detail: words.unreachableDetail });
  }
  if (path === "/console/session") signIns += method === "POST" && answer.ok ? 1 : 0;
  else if (answer.status === 401 && session === signIns) dispatchEvent(new Event("console-signed-out"));
  return answer;
}

/** Sends a request, and returns the JSON of the answer. Throws a `Refusal` if it is no success. */
export async function call(method, path, options) {
  const answer = await send(method, path, options);
  const document = await answer.json().catch(() => null);
  if (!answer.ok) throw new Refusal(document ?? { title: `${answer.status}`, detail: words.noDocument });
  return document;
}

/** For `catch`: another value, if there is nothing at a path. Another refusal is told. */
export const ifUnknown = (other) => (error) => {
  if (error.problem?.status === 404) return other;
  throw error;
};

/** A path with a query. What is missing is left out, and an empty value stays. */
export function withQuery(path, query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return given.length ? `${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams(given)}` : path;
}

/** The most entries of a list with pages that are read. */
export const MOST_ENTRIES = 2000;

/** Every entry of a list with pages, up to `MOST_ENTRIES`. `name` is the member with the entries. */
export async function all(path, name) {
  const entries = [];
  for (let cursor; entries.length < MOST_ENTRIES; ) {
    const page = await call("GET", withQuery(path, { limit: 200, cursor }));
    entries.push(...page[name]);
    if (!page.next_cursor) break;
    cursor = page.next_cursor;
  }
  return entries;
}

/**
 * Loads something, and again when one of `keys` changes, `reload` is called, or someone opens the same place again. The last data stay
 * until the next are there.
 * The request is sent before the browser draws the page, because the next drawing can be a frame away.
 */
export function useLoad(load, keys) {
  const [state, setState] = useState({ loading: true, count: 0 });
  const [turn, setTurn] = useState(0);
  const again = useContext(Again);
  useLayoutEffect(() => {
    const gone = new AbortController();
    // A state that stays the same is not drawn again.
    setState((state) => (state.loading ? state : { ...state, loading: true }));
    load(gone.signal).then(
      (data) => !gone.signal.aborted && setState((state) => ({ data, loading: false, count: state.count + 1 })),
      (error) => {
        if (gone.signal.aborted) return;
        const problem = error.problem ?? { title: words.failed, detail: String(error) };
        setState((state) => ({ problem, loading: false, count: state.count + 1 }));
      },
    );
    return () => gone.abort();
  }, [...keys, turn, again]);
  return { ...state, reload: useCallback(() => setTurn((turn) => turn + 1), []) };
}

/** Loads the document of a path, and again when `turn` changes. */
export const useDocument = (path, turn = 0) => useLoad((signal) => call("GET", path, { signal }), [path, turn]);

/**
 * Loads again every `ms` milliseconds while the page is seen, and when it is seen again. Nobody looks at a page that is hidden, so it asks
 * for nothing. A turn is left out while the gateway has not answered the last one: its answer would be thrown away, and a gateway that needs
 * longer than a turn would never be seen. The second argument is what `useLoad` returns.
 */
export function useRefresh(ms, { loading, reload }) {
  const isLoading = useRef(loading);
  isLoading.current = loading;
  useEffect(() => {
    const next = () => isLoading.current || reload();
    let timer;
    const arm = () => {
      clearInterval(timer);
      if (!document.hidden) timer = setInterval(next, ms);
    };
    const seenOrHidden = () => {
      if (!document.hidden) next();
      arm();
    };
    arm();
    document.addEventListener("visibilitychange", seenOrHidden);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", seenOrHidden);
    };
  }, [ms, reload]);
}
