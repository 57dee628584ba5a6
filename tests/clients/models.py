"""Two calls with the models that datamodel-code-generator made from the gateway's description."""

import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import gateway_models as models

address, key = sys.argv[1:]


def call(path: str, body=None) -> bytes:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    content = None if body is None else body.model_dump_json(exclude_unset=True).encode()
    return urlopen(Request(address + path, content, headers)).read()


listed = models.Connectors.model_validate_json(call("/connectors"))
assert "dex_market_data" in [connector.connector for connector in listed.connectors], listed
wrong = models.DexMarketDataGetTokenPoolsRequest.model_construct(chain_id="", token_address="EXM")
try:
    call("/connectors/dex_market_data/get_token_pools", wrong)
    raise AssertionError("the gateway takes an empty chain")
except HTTPError as error:
    problem = models.ValidationProblem.model_validate_json(error.read())
    assert problem.owner is models.ProblemOwner.caller and not problem.retryable, problem
    assert [violation.pointer for violation in problem.errors] == ["/chain_id"], problem

# An object whose members are free.
event = models.WorkspaceCalendarEventsInsertRequest(calendar_id="primary", body={"summary": "Lunch"})
assert event.model_dump(exclude_unset=True) == {"calendar_id": "primary", "body": {"summary": "Lunch"}}, event
print("two calls")
