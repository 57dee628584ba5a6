// Three calls with the client that orval made from the gateway's description.

import assert from "node:assert/strict";
import {
  dexMarketDataGetTokenPools, gatewayConnectors, type WorkspaceCalendarEventsInsertRequest,
} from "./orval_client.js";

const [address = "", key = ""] = process.argv.slice(2);
const headers = { authorization: `Bearer ${key}` };
// The client has the paths only.
const send = globalThis.fetch;
globalThis.fetch = (path, options) => send(new URL(String(path), address), options);

const listed = await gatewayConnectors({ headers });
assert(listed.status === 200, JSON.stringify(listed));
assert(listed.data.connectors.some(({ connector }) => connector === "dex_market_data"), JSON.stringify(listed));

const pools = (chain_id: string) =>
  dexMarketDataGetTokenPools({ chain_id, token_address: "EXM", response_fields: ["pairAddress"] }, { headers });
assert.deepEqual((await pools("solana")).data, [{ pairAddress: "PairOne" }, { pairAddress: "PairTwo" }]);

const refused = await pools("");
assert(refused.status === 422, JSON.stringify(refused));
assert.equal(refused.data.owner, "caller");
assert.deepEqual(refused.data.errors?.map((error) => error.pointer), ["/chain_id"]);

// An object whose members are free.
const event: WorkspaceCalendarEventsInsertRequest = { calendar_id: "primary", body: { summary: "Lunch" } };
assert(event.body);
console.log("three calls");
