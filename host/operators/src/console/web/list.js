// A list with filters and pages. Its state is in the address: filters, the cursor of the page, and the order.

import { useEffect, useRef, useState } from "preact/hooks";
import { call, useLoad, withQuery } from "./api.js";
import { declared } from "./filters.js";
import { announce, Entry, html, Problem, Refresh, Table } from "./parts.js";
import { go, to } from "./route.js";
import { nextOrder, orderOf, sorted } from "./sort.js";
import { words } from "./words.js";

/** The last hours that a list with times shows at a click. */
const SPANS = [1, 24];

/**
 * A list of the gateway.
 *
 * `place` is where the list is in the console, `path` its route, `name` the member with its entries. `columns` are as in `Table`.
 * The gateway has the order of a list, so that it can cut it into pages. The rows of a page are sorted here, and the list says so if it
 * has several pages.
 * The filters are those that the gateway declares for the route. Those with `isMore` are shown when the operator asks for them, or when
 * one of them is set, so that the others are in one line.
 * A change of `turn` loads the list again. `keyOf` is as in `Table`.
 */
export function List({ place, query, path, name, caption, columns, keyOf, turn = 0 }) {
  const filters = filtersOf(path);
  const known = Object.fromEntries(filters.map((filter) => [filter.name, query[filter.name]]));
  const wanted = withQuery(path, { ...known, cursor: query.cursor });
  const loaded = useLoad((signal) => call("GET", wanted, { signal }), [wanted, turn]);
  const { data, problem, loading, count } = loaded;
  const summary = useRef(null);
  useEffect(() => {
    if (!count) return;
    if (data) announce(words.loaded(data[name].length));
    // The link to the next page is gone on the last one, and the focus with it.
    if (document.activeElement === document.body) summary.current?.focus();
  }, [count]);
  const rows = data?.[name] ?? [];
  const isFiltered = filters.some((filter) => query[filter.name] !== undefined);
  const canSort = rows.length > 1;
  const isPart = Boolean(query.cursor || data?.next_cursor);
  const order = canSort ? orderOf(query.sort, columns) : null;
  const sort = (name) => go(place, { ...known, cursor: query.cursor, sort: nextOrder(order, name) });
  const spans = filters.some(({ name }) => name === "since") ? SPANS : [];
  const showLast = (hours) => go(place, { ...known, since: new Date(Date.now() - hours * 3_600_000).toISOString(), until: undefined, sort: query.sort });
  const nothing = isFiltered ? words.noMatch : query.cursor ? words.empty : words.none[path];
  return html`
    <${Filters} filters=${filters} query=${query} place=${place} />
    <div class="buttons">
      <${Refresh} of=${loaded} />
      ${spans.map((hours) => html`<button type="button" onClick=${() => showLast(hours)}>${words.lastHours(hours)}</button>`)}
      ${isFiltered && html`<a href=${to(place)}>${words.clearFilters}</a>`}
      <p tabIndex="-1" ref=${summary} class="small">
        ${loading && !rows.length ? words.loading : data && (rows.length ? words.loaded(rows.length) : nothing)} ${order && isPart && words.sortedHere}
      </p>
    </div>
    <${Problem} of=${problem} />
    ${rows.length > 0 && html`<div class="list"><${Table} caption=${caption} columns=${columns} rows=${sorted(rows, order)} keyOf=${keyOf} busy=${loading} order=${order} onSort=${canSort && sort} sortTitle=${isPart ? words.sortPageBy : words.sortBy} /></div>`}
    <nav class="buttons" aria-label=${words.pages}>
      ${query.cursor && html`<a href=${to(place, { ...known, sort: query.sort })}>${words.firstPage}</a>`}
      ${data?.next_cursor && html`<a href=${to(place, { ...known, sort: query.sort, cursor: data.next_cursor })}>${words.nextPage}</a>`}
    </nav>
  `;
}

/** The filters of a route. Those with choices come first, because most lists have a state. */
function filtersOf(path) {
  const filters = declared[path] ?? [];
  return [...filters.filter((filter) => filter.choices), ...filters.filter((filter) => !filter.choices)];
}

function Filters({ filters, query, place }) {
  const more = filters.filter((filter) => filter.isMore);
  const isMoreSet = more.some((filter) => query[filter.name] !== undefined);
  // Fields that no one sees are not made: those of times take a browser as long as some rows.
  const [isOpen, setOpen] = useState(false);
  if (!filters.length) return null;
  const apply = (event) => {
    event.preventDefault();
    // An empty filter that came with a link stays until it is cleared: it means those without a value.
    const entered = [...new FormData(event.currentTarget)].map(([name, value]) => [name, value.trim()]);
    const given = entered.filter(([name, value]) => value || query[name] === "");
    const times = new Set(filters.filter((filter) => filter.isTime).map((filter) => filter.name));
    go(place, { ...Object.fromEntries(given.map(([name, value]) => [name, times.has(name) ? asTime(value) : value])), sort: query.sort });
  };
  const field = (filter) => html`<label key=${filter.name}>${words.filterLabel(filter.name)} <${Field} filter=${filter} value=${query[filter.name]} turn=${query} /></label>`;
  return html`<form class="filters" role="search" aria-label=${words.filters} onSubmit=${apply}>
    ${filters.filter((filter) => !filter.isMore).map(field)}
    <button type="submit">${words.filter}</button>
    ${more.length > 0 && html`<details open=${isOpen || isMoreSet} onToggle=${(event) => setOpen(event.currentTarget.open)}>
      <summary>${words.moreFilters}</summary>
      ${(isOpen || isMoreSet) && html`<div class="filters">${more.map(field)}</div>`}
    </details>`}
  </form>`;
}

/** A field with the value of the address. `turn` changes when someone goes to another address. */
function Field({ filter, value: given, turn }) {
  const { name, choices, isTime } = filter;
  const value = given ?? "";
  if (choices) {
    return html`<${Entry} kind="select" name=${name} value=${value} turn=${turn}>
      <option value="">${words.any}</option>
      ${choices.map((choice) => html`<option value=${choice}>${choice === "true" ? words.yes : choice}</option>`)}
    <//>`;
  }
  if (isTime) return html`<${Entry} type="datetime-local" step="1" name=${name} value=${value.replace(/(\.\d+)?Z$/, "")} turn=${turn} />`;
  return html`<${Entry} name=${name} value=${value} turn=${turn} placeholder=${given === "" ? words.without : undefined} autocomplete="off" spellcheck=${false} />`;
}

/** A local time of a form, which the console takes for UTC, as in RFC 3339. */
function asTime(value) {
  return `${value.length === 16 ? `${value}:00` : value}Z`;
}
