// The type errors that an author's editor shows. A line after `@ts-expect-error` must be refused.

import { Document, connector, entries, file, get, integer, internal, list, none, object, pages, post, read, send, Request, string, string_or_list } from "../index.js";
import { Gateway, answer } from "../testing.js";

const table = connector({
  identifier: "types",
  version: "1.0.0",
  title: "Types",
  auth: none,
  upstreams: { api: { url: "https://{sub}.api.example", site: "api.example", links: ["*.example"] } },
  address: { sub: { title: "Subdomain", form: "label", max: 30, from: "user" } },
  settings: { limit: integer({ min: 1, default: 5, doc: "Most items." }) },
  inboxes: [{ name: "hook", checks: [{ hmac: { signature: { header: "X" } } }], id: ["body_hash"], kind: [{ pointer: "/a" }] }],
  triggers: [{ name: "word", title: "Word", source: "read", inboxes: ["hook"], subscribe: "watch", read: "changes" }],
  operations: {
    watch: internal("subscribe", ({ parameters, kinds }) => ({ upstream_id: `${parameters.word} ${kinds.length}` })),
    // @ts-expect-error: `read` answers a cursor
    changes: internal("read", ({ limit }) => ({ events: [{ id: `${limit}`, data: {} }] })),
    thin: get("api", "/x/{id}", { doc: "Thin", fields: { "page?": integer() }, pages: { items: "/a", page_number: 1, into: "/page" } }),
    charges: get("api", "/x", { doc: "Charges", fields: { "after?": string() }, pages: { items: "/a", last: "/id", while: "/more", into: "/after" } }),
    checked: post("api", "/x", {
      doc: "Checked",
      fields: { name: string(), "tags?": list(string()) },
      check(input) {
        const name: string = input.name;
        const tags: string[] | undefined = input.tags;
        // @ts-expect-error: the field may be absent
        input.tags.length;
        return void [name, tags];
      },
    }),
    composed: read(composed, { doc: "Composed", fields: { word: string(), "count?": integer({ default: 1 }) } }),
    inner: read(({ address, filters, many }) => ({ street: address.street, filters: filters?.state, many: many.length }), {
      doc: "Inner",
      fields: { address: object({ street: string() }), "filters?": entries(["state"]), many: string_or_list() },
    }),
    upload: post("api", "/x", {
      doc: "Upload",
      fields: { photo: file(), "more?": list(file()) },
      multipart: true,
      example: { photo: { file_name: "a", content_base64: "" } },
      check({ photo, more }) {
        const name: string = photo.file_name;
        // @ts-expect-error: the media type may be absent
        photo.content_type.length;
        return void [name, more?.[0].content_base64];
      },
    }),
    walked: read(({ photo }) => {
      const request = Request.post("api", "/x").multipart([{ name: "a", text: "b" }, { name: "photo", ...photo }]);
      const found = pages(request, { items: "/a", cursor: "/next", parameter: "page", limit: 10 });
      // @ts-expect-error: a walk has a limit
      pages(request, { items: "/a", link: "Link" });
      pages(request, { items: "/a", last: "/id", while: "/more", parameter: "after", limit: 10 });
      const titles: (string | undefined)[] = [...found].map((item) => item.string("/title"));
      return { titles, more: found.hasMore };
    }, { doc: "Walked", fields: { photo: file() } }),
    // @ts-expect-error: a modifier is misspelt
    misspelt: get("api", "/x", { doc: "Misspelt", fields: { a: string({ maximum: 1 }) } }),
    // @ts-expect-error: it has no documentation
    undocumented: get("api", "/x", {}),
  },
});

function composed({ word, count }: { word: string; count?: number }): Document {
  return send(Request.get("api", "/x").segment("word", word).query("count", count)).successful().document();
}

new Gateway().answer(answer(200, { a: 1 })).invoke(table, "composed", { word: "a" });
