// The stored things that a change touches, for the question before it.

import { call, useLoad, withQuery } from "./api.js";
import { html, Problem } from "./parts.js";
import { words } from "./words.js";

/** The most entries that are counted. More are told as "or more". */
const MOST = 200;

/**
 * Counts the things when the question is asked. Each of `of` has the path of a list, the member with its entries, the filters, and the
 * words for a number of them. `isTouched` leaves out entries that the filters cannot.
 */
export function Touches({ of }) {
  const { data, problem, loading } = useLoad((signal) => Promise.all(of.map((one) => counted(one, signal))), []);
  return html`
    <${Problem} of=${problem} />
    <p aria-busy=${loading ? "true" : "false"}>${loading ? words.loading : data && words.touches(data.filter(Boolean))}</p>
  `;
}

/** The number of things in words. `null` if there are none. */
async function counted({ path, member, filters, say, isTouched = () => true }, signal) {
  const page = await call("GET", withQuery(path, { ...filters, limit: MOST }), { signal });
  const count = page[member].filter(isTouched).length;
  if (page.next_cursor) return say(words.orMore(count));
  return count ? say(words.count(count)) : null;
}
