// Three calls with the client that openapi-generator made from the gateway's description.

import assert from "node:assert/strict";
import {
  Configuration, DexMarketDataApi, GatewayApi, ProblemOwner, ResponseError, ValidationProblemFromJSON,
  type WorkspaceCalendarEventsInsertRequest,
} from "./openapi_client/index.js";

const [basePath = "", key = ""] = process.argv.slice(2);
const configuration = new Configuration({ basePath, accessToken: key });

const listed = await new GatewayApi(configuration).gatewayConnectors();
assert(listed.connectors.some(({ connector }) => connector === "dex_market_data"), JSON.stringify(listed));

const market = new DexMarketDataApi(configuration);
const pools = (chain_id: string) =>
  market.dexMarketDataGetTokenPools({
    dexMarketDataGetTokenPoolsRequest: { chainId: chain_id, tokenAddress: "EXM", responseFields: ["pairAddress"] },
  });
assert.deepEqual(await pools("solana"), [{ pairAddress: "PairOne" }, { pairAddress: "PairTwo" }]);

const refused = await pools("").catch((error: unknown) => error);
assert(refused instanceof ResponseError && refused.response.status === 422, String(refused));
const problem = ValidationProblemFromJSON(await refused.response.json());
assert.equal(problem.owner, ProblemOwner.Caller);
assert.deepEqual(problem.errors?.map((error) => error.pointer), ["/chain_id"]);

// An object whose members are free.
const event: WorkspaceCalendarEventsInsertRequest = { calendarId: "primary", body: { summary: "Lunch" } };
assert(event.body);
console.log("three calls");
