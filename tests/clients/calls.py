"""Three calls with the client that openapi-python-client made from the gateway's description."""

import sys

from gateway_client import AuthenticatedClient
from gateway_client.api.dex_market_data import dex_market_data_get_token_pools as get_token_pools
from gateway_client.api.gateway import gateway_connectors as connectors
from gateway_client.models import (
    Connectors,
    DexMarketDataGetTokenPoolsRequest,
    ProblemOwner,
    ValidationProblem,
)

address, key = sys.argv[1:]
client = AuthenticatedClient(base_url=address, token=key)

listed = connectors.sync(client=client)
assert isinstance(listed, Connectors), listed
assert "dex_market_data" in [connector.connector for connector in listed.connectors], listed

request = DexMarketDataGetTokenPoolsRequest(chain_id="solana", token_address="EXM", response_fields=["pairAddress"])
answer = get_token_pools.sync_detailed(client=client, body=request)
assert answer.status_code == 200, answer
assert answer.parsed == [{"pairAddress": "PairOne"}, {"pairAddress": "PairTwo"}], answer
assert answer.headers["x-request-id"], answer.headers

wrong = DexMarketDataGetTokenPoolsRequest(chain_id="", token_address="EXM")
problem = get_token_pools.sync(client=client, body=wrong)
assert isinstance(problem, ValidationProblem), problem
assert problem.owner is ProblemOwner.CALLER and not problem.retryable, problem
assert [error.pointer for error in problem.errors] == ["/chain_id"], problem
print("three calls")
