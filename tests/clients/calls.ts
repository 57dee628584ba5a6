// Three calls with openapi-fetch and the types that openapi-typescript made from the gateway's description.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./gateway.js";

const [address = "", key = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: address, headers: { authorization: `Bearer ${key}` } });

const listed = await client.GET("/connectors");
const names: string[] | undefined = listed.data?.connectors.map((connector) => connector.connector);
assert(names?.includes("dex_market_data"), JSON.stringify(listed));

const found = await client.POST("/connectors/dex_market_data/get_token_pools", {
  body: { chain_id: "solana", token_address: "EXM", response_fields: ["pairAddress"] },
});
assert.equal(found.response.status, 200);
assert.deepEqual(found.data, [{ pairAddress: "PairOne" }, { pairAddress: "PairTwo" }]);

const refused = await client.POST("/connectors/dex_market_data/get_token_pools", {
  body: { chain_id: "", token_address: "EXM" },
});
const problem = refused.error as components["schemas"]["ValidationProblem"];
assert.equal(problem.owner, "caller");
assert.deepEqual(problem.errors?.map((error) => error.pointer), ["/chain_id"]);

// An object whose members are free.
const event: components["schemas"]["WorkspaceCalendarEventsInsertRequest"] = { calendar_id: "primary", body: { summary: "Lunch" } };
assert(event.body);
console.log("three calls");
