// Services whose base URL differs from account to account.

import assert from "node:assert/strict";
import { test } from "node:test";

import { api_key, connector, get } from "../src/index.js";

test("a table declares the parts of addresses and the sites of upstreams", () => {
  const table = connector({
    identifier: "a",
    version: "1.0.0",
    title: "A",
    auth: api_key({ header: "A", check: "one" }),
    address: {
      subdomain: { title: "Your subdomain", max: 30 },
      cloud: { title: "Site", form: "segment", from: "/0/id" },
    },
    upstreams: { api: { url: "https://{subdomain}.a.example/{cloud}", site: "a.example" }, me: "{api}/me" },
    operations: { one: get("api", "/x", { doc: "One" }) },
  });
  assert.deepEqual(table.additions, {
    parts: [
      { name: "subdomain", title: "Your subdomain", form: "label", maxLength: 30, source: { tag: "user" } },
      { name: "cloud", title: "Site", form: "segment", maxLength: 253, source: { tag: "account", val: "/0/id" } },
    ],
    sites: [["api", "a.example"]],
  });
  assert.equal(table.manifest.upstreams[0].baseUrl, "https://{subdomain}.a.example/{cloud}");
});
