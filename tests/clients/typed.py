"""A call with the client that openapi-python-client made from the description with the members of answers."""

import sys

from gateway_client import AuthenticatedClient
from gateway_client.api.dex_market_data import dex_market_data_get_token_pools as get_token_pools
from gateway_client.models import DexMarketDataGetTokenPoolsAnswerItem, DexMarketDataGetTokenPoolsRequest

address, key = sys.argv[1:]
client = AuthenticatedClient(base_url=address, token=key)
request = DexMarketDataGetTokenPoolsRequest(chain_id="solana", token_address="EXM")
pools = get_token_pools.sync(client=client, body=request)
assert isinstance(pools, list), pools
assert all(isinstance(pool, DexMarketDataGetTokenPoolsAnswerItem) for pool in pools), pools
print(" and ".join(pool.pair_address for pool in pools))
