// The place in the console. It is in the fragment of the address, so that every view is a link that can be sent, also below a path of a
// proxy: a path, and the query of a list.

import { createContext } from "preact";
import { useEffect, useState } from "preact/hooks";

/** How often the place that is shown was opened again. What a screen has loaded is loaded again then. */
export const Again = createContext(0);

/** The place of an address: the parts of its path, and its query as an object. */
export function read(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decoded), query: Object.fromEntries(new URLSearchParams(query)) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a place. What is missing is left out of the query. An empty value stays: an empty user means those without one. */
export function to(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(given).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text && `?${text}`}`;
}

/** The places of things whose ids have a prefix. The id of a request may be any text. */
const BY_PREFIX = {
  key_: (id) => [["keys", id]],
  int_: (id) => [["integrations", id]],
  job_: (id) => [["jobs", id]],
  trg_: (id) => [["triggers", id]],
  inb_: (id) => [["inboxes", id]],
  msg_: (id) => [["webhooks"], { id }],
  evt_: (id) => [["webhooks"], { id }],
  lnk_: (id) => [["audit"], { target: id }],
  ags_: (id) => [["audit"], { target: id }],
};

/** What an API key or the token of an agent session begins with. */
export const SECRET = /^cg[ws]_/;

/** The characters of a key that the gateway keeps, including the characters of `SECRET`. */
const KEPT = 8;

/**
 * The place of a text in the console: a path, and the query of a list. Only the beginning of a key gets into the address: the browser
 * keeps addresses, and proxies log the addresses of requests.
 */
export function placeOf(text) {
  const [, place] = Object.entries(BY_PREFIX).find(([prefix]) => text.startsWith(prefix)) ?? [];
  return place ? place(text) : [["find", SECRET.test(text) ? text.slice(0, KEPT) : text]];
}

/** Tells that the place of the address was opened again. A browser tells nothing then. */
const SAME = "console-same-place";

/** Goes to a place. */
export function go(parts, query) {
  const address = to(parts, query);
  if (location.hash === address) dispatchEvent(new Event(SAME));
  else location.hash = address;
}

/** Goes to a place from which the way back leads to the place before this one. */
export const goInstead = (parts, query) => location.replace(to(parts, query));

/** The place now, and how often it was opened again. */
export function usePlace() {
  const [place, setPlace] = useState(() => ({ ...read(location.hash), again: 0 }));
  useEffect(() => {
    const moved = () => setPlace({ ...read(location.hash), again: 0 });
    const opened = () => setPlace(({ again }) => ({ ...read(location.hash), again: again + 1 }));
    // A click with a key opens another tab or window.
    const clicked = (event) => {
      const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
      const link = isPlain && !event.defaultPrevented && event.target.closest?.("a[href]");
      if (link && location.hash && link.href === location.href) opened();
    };
    addEventListener("hashchange", moved);
    addEventListener(SAME, opened);
    addEventListener("click", clicked);
    return () => {
      removeEventListener("hashchange", moved);
      removeEventListener(SAME, opened);
      removeEventListener("click", clicked);
    };
  }, []);
  return place;
}
