"""What schemathesis has to know of the gateway besides its description."""

import re
import uuid

import schemathesis
from schemathesis.generation import GenerationMode

KEY = "Idempotency-Key"
VALID_KEY = re.compile(r"[!#-\[\]-~]([ !#-\[\]-~]{0,253}[!#-\[\]-~])?")
TIMEOUT = "Request-Timeout"


@schemathesis.hook
def before_call(context, case, kwargs):
    headers = case.headers or {}
    # A valid key belongs to one call. The generator would use the same for several, which is refused.
    if isinstance(headers.get(KEY), str) and VALID_KEY.fullmatch(headers[KEY]):
        case.headers[KEY] = str(uuid.uuid4())
    # The text "1" is meant as a wrong number, but in a header it is a number.
    is_wrong = case.meta is not None and case.meta.generation.mode is GenerationMode.NEGATIVE
    if is_wrong and re.fullmatch("[0-9]+", str(headers.get(TIMEOUT, ""))):
        case.headers[TIMEOUT] = "soon"


@schemathesis.check
def no_error_of_the_gateway(ctx, response, case):
    """An error of the server is right only if it tells of an error of a stand-in."""
    if response.status_code < 500:
        return
    source = (response.headers.get("x-error-source") or [""])[0]
    assert response.status_code in (502, 504) and source == "upstream", response.text
