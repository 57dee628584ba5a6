"""Three calls with the client that openapi-generator made from the gateway's description."""

import importlib
import pkgutil
import sys

import openapi_client
from openapi_client import ApiClient, Configuration, DexMarketDataApi, GatewayApi, ProblemOwner, ValidationProblem
from openapi_client.exceptions import UnprocessableEntityException
from openapi_client.models.dex_market_data_get_token_pools_request import DexMarketDataGetTokenPoolsRequest
from openapi_client.models.workspace_calendar_events_insert_request import WorkspaceCalendarEventsInsertRequest

address, key = sys.argv[1:]
for found in pkgutil.walk_packages(openapi_client.__path__, "openapi_client."):
    importlib.import_module(found.name)

client = ApiClient(Configuration(host=address, access_token=key))
listed = GatewayApi(client).gateway_connectors()
assert "dex_market_data" in [connector.connector for connector in listed.connectors], listed

market = DexMarketDataApi(client)
request = DexMarketDataGetTokenPoolsRequest(chain_id="solana", token_address="EXM", response_fields=["pairAddress"])
answer = market.dex_market_data_get_token_pools_with_http_info(request)
assert answer.data == [{"pairAddress": "PairOne"}, {"pairAddress": "PairTwo"}], answer
assert answer.headers["x-request-id"], answer

try:
    wrong = DexMarketDataGetTokenPoolsRequest.model_construct(chain_id="", token_address="EXM")
    market.dex_market_data_get_token_pools(wrong)
    raise AssertionError("the gateway takes an empty chain")
except UnprocessableEntityException as error:
    problem = error.data
    assert isinstance(problem, ValidationProblem), problem
    assert problem.owner is ProblemOwner.CALLER and not problem.retryable, problem
    assert [violation.pointer for violation in problem.errors] == ["/chain_id"], problem

# An object whose members are free.
event = WorkspaceCalendarEventsInsertRequest(calendar_id="primary", body={"summary": "Lunch"})
assert event.to_dict() == {"calendar_id": "primary", "body": {"summary": "Lunch"}}, event
print("three calls")
