// The items of a list that a service divides into pages, one after the other.

import { Fault } from "./fault.js";
import { Request, send } from "./http.js";
import { Mistake, only } from "./mistake.js";
import { progress } from "./services.js";

const WORDS = ["items", "limit", "progress", "cursor", "link", "parameter", "page_number", "offset", "last", "while"];

/**
 * The items at the JSON Pointer `items` of each page, at most `limit`, as an iterable. `request` is
 * for the first page. The other words are the same as for `pages` in a table.
 */
export function pages(request, words) {
  return new Pages(request, words);
}

export class Pages {
  #first;
  #words;
  #page;
  #used = 0;
  #given = 0;
  #read = 0;
  #pages = 0;
  #cursor;
  #upcoming;

  constructor(request, words) {
    only(words, WORDS, "`pages`");
    const { items, limit, cursor, link, parameter, page_number, offset, last } = words;
    if (items === undefined || !(limit >= 0)) throw new Mistake("`pages` has `items`, a JSON Pointer, and `limit`, the most items");
    const ways = [cursor, link, page_number, offset || undefined, last].filter((way) => way !== undefined);
    if (ways.length !== 1) throw new Mistake("`pages` says how the next page is found: `cursor`, `link`, `page_number`, `offset: true` or `last`");
    if (words.while !== undefined && last === undefined) throw new Mistake("`while` of `pages` is for `last`");
    if (link === undefined && parameter === undefined) throw new Mistake("`pages` has `parameter`, the name of the query parameter for the next page");
    this.#first = request;
    this.#words = words;
    this.#upcoming = this.#numbered(0);
    this.#upcoming.link = request.link;
  }

  /**
   * `true` if the service has more items than were given, because the limit was reached. Of a
   * service that names no next page, it is not known before another page is read.
   */
  get hasMore() {
    return this.#upcoming !== undefined || this.#used < (this.#page?.length ?? 0);
  }

  *[Symbol.iterator]() {
    while (this.#given < this.#words.limit) {
      if (this.#used < (this.#page?.length ?? 0)) {
        this.#given += 1;
        this.#used += 1;
        yield this.#page.item(this.#used - 1);
      } else {
        if (this.#upcoming === undefined) return;
        this.#next();
      }
    }
  }

  #next() {
    const request = this.#upcoming;
    this.#page = this.#upcoming = undefined;
    const response = send(request).successful();
    const document = response.document();
    const { items, limit, progress: what } = this.#words;
    const page = document.pointer(items);
    this.#page = page?.kind === "array" ? page : undefined;
    this.#used = 0;
    this.#read += this.#page?.length ?? 0;
    this.#pages += 1;
    this.#upcoming = this.#following(response, document);
    if (what !== undefined) {
      const read = Math.min(this.#read, limit);
      progress.report(this.#upcoming === undefined ? 1 : read / Math.max(limit, 1), `${read} ${what}`);
    }
  }

  /** The request for the page after this one; `undefined` if this one is the last. */
  #following(response, document) {
    const { cursor, link, last } = this.#words;
    if (link !== undefined) {
      if (link !== "Link" && document.string(link) === "") return undefined;
      const found = link === "Link" ? response.headerLink("link") : response.bodyLink(link);
      return found && Object.assign(Request.follow(this.#first.upstream, found), {
        headers: [...this.#first.headers],
        omitCredential: this.#first.omitCredential,
      });
    }
    if (last !== undefined) return this.#afterLast(document);
    if (cursor === undefined) return this.#page?.length > 0 ? this.#numbered(this.#pages) : undefined;
    const found = document.pointer(cursor);
    const value = found === undefined || found.kind === "null" ? "" : (found.string("") ?? found.text());
    return value === "" ? undefined : this.#after(value);
  }

  /** The request for the page after the last item of this one; `undefined` if this page is the last. */
  #afterLast(document) {
    const { last, while: more } = this.#words;
    const length = this.#page?.length ?? 0;
    if (length === 0 || (more !== undefined && document.pointer(more)?.text() !== "true")) return undefined;
    const found = this.#page.item(length - 1).pointer(last);
    const value = found?.kind === "number" ? found.text() : found?.string("");
    if (value) return this.#after(value);
    throw Fault.upstream(502, `The last item of a page has no text and no number at \`${last}\`, which leads to the next page.`);
  }

  /** The first request, for the page after this value. */
  #after(value) {
    if (value === this.#cursor) throw Fault.upstream(502, "The service names the same next page again, so its list has no end.");
    this.#cursor = value;
    return this.#again().query(this.#words.parameter, value);
  }

  /** The first request, for the page with this number, counted from 0. */
  #numbered(page) {
    const { page_number, offset, parameter } = this.#words;
    if (page_number !== undefined) return this.#again().query(parameter, page_number + page);
    return offset ? this.#again().query(parameter, this.#read) : this.#again();
  }

  #again() {
    const { method, upstream, path, headers, body, omitCredential } = this.#first;
    return Object.assign(new Request(method, upstream, path), { headers: [...headers], body, omitCredential });
  }
}
