// A call with openapi-fetch and the types of the description with the members of answers.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { paths } from "./gateway.js";

const [address = "", key = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: address, headers: { authorization: `Bearer ${key}` } });

const found = await client.POST("/connectors/dex_market_data/get_token_pools", {
  body: { chain_id: "solana", token_address: "EXM" },
});
const pools = found.data;
assert(Array.isArray(pools), JSON.stringify(found));
const names: (string | undefined)[] = pools.map((pool) => pool.pairAddress);
// @ts-expect-error: an answer has no such member.
pools.map((pool) => pool.pairAdress);
console.log(names.join(" and "));
