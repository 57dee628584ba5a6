// Three calls with the client that Hey API made from the gateway's description.

import assert from "node:assert/strict";
import { dexMarketDataGetTokenPools, gatewayConnectors, type WorkspaceCalendarEventsInsertRequest } from "./hey_api/index.js";
import { createClient } from "./hey_api/client/index.js";

const [baseUrl = "", key = ""] = process.argv.slice(2);
const client = createClient({ baseUrl, auth: () => key });

const listed = await gatewayConnectors({ client });
assert(listed.data?.connectors.some(({ connector }) => connector === "dex_market_data"), JSON.stringify(listed));

const pools = (chain_id: string) =>
  dexMarketDataGetTokenPools({ client, body: { chain_id, token_address: "EXM", response_fields: ["pairAddress"] } });
assert.deepEqual((await pools("solana")).data, [{ pairAddress: "PairOne" }, { pairAddress: "PairTwo" }]);

const { error: problem } = await pools("");
assert(problem && "errors" in problem, JSON.stringify(problem));
assert.equal(problem.owner, "caller");
assert.deepEqual(problem.errors?.map((error) => error.pointer), ["/chain_id"]);

// An object whose members are free.
const event: WorkspaceCalendarEventsInsertRequest = { calendar_id: "primary", body: { summary: "Lunch" } };
assert(event.body);
console.log("three calls");
