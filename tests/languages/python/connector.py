"""The connector of the tests in Python. `tests/languages/javascript/connector.js` is the same in JavaScript."""

import importlib
import os
import random as numbers
import secrets
import time
import uuid
from datetime import datetime

from connector_sdk import (
    USERINFO, Connector, Fault, File, Request, get, integer, log, oauth2, send, send_all, storage, string, userinfo as account,
)

connector = Connector(
    identifier="python",
    version="1.0.0",
    title="Python",
    auth=oauth2("acme", scopes=["read"], identity=USERINFO),
    upstreams={"api": "https://api.acme.example"},
    settings={"version": string(default="2026-01", doc="Version of the service's API.")},
    headers={"X-Api-Version": "{settings.version}"},
    operations={
        "note": get(
            "api",
            "/notes/{id}",
            "A note.",
            fields={"page?": integer(min=1, as_="pageNumber")},
            example={"id": "a b", "page": 2},
        ),
    },
)


@connector.read(fields={"first": string(), "second": string()})
def both(first: str, second: str):
    """Two notes."""
    responses = send_all(Request.get("api", "/notes").segment("id", note) for note in (first, second))
    left, right = [response.successful().document() for response in responses]
    return {"first": left.string("/title"), "second": right.value(), "at": time.time() > 1_700_000_000}


@connector.write()
def count():
    """Counts its calls."""
    calls = int(storage.get("calls") or "0") + 1
    storage.set("calls", str(calls))
    log.info(f"call {calls}")
    return {"calls": calls}


@connector.read(answers="file")
def saved():
    """A file."""
    return File("ü", "note.txt", "text/plain", members={"lines": 1}, max_bytes=2)


@connector.read()
def userinfo():
    """The connected user."""
    user = send(Request.get("api", "/me")).successful().json()
    return account(id=user["id"], email=user["email"])


@connector.read()
def broken():
    """Has a defect."""
    notes = None
    return notes.title


@connector.read()
def refused():
    """Finds nothing."""
    raise Fault.not_found("There is no such note. Try another one.", candidates=["a"])


@connector.read()
def random():
    """Takes random values."""
    return {"values": [numbers.random(), numbers.randbytes(8).hex(), secrets.token_hex()], "uuid": str(uuid.uuid4())}


@connector.read()
def wait():
    """Sleeps."""
    began = time.time()
    time.sleep(0.05)
    return {"waited": time.time() - began >= 0.049, "date": datetime.now().timestamp() - began >= 0.049}


@connector.read()
def unavailable():
    """Tries what a connector does not have."""
    return [tried(attempt) for attempt in (lambda: open("file"), lambda: os.listdir("/"), lambda: importlib.import_module("colorsys"))]


def tried(attempt):
    try:
        return f"the value {attempt()}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
