"""The connector of the tests in Python. `tests/languages/javascript/connector.js` is the same in JavaScript."""

import asyncio
import importlib
import os
import random as numbers
import secrets
import socket
import sys
import time
import uuid
from datetime import datetime

from connector_sdk import (
    USERINFO, Connector, Fault, File, Request, ended_codes, file, get, integer, list_of, log, oauth2, pages, post, send, send_all, storage, string,
    userinfo as account,
)


def has_title(photo, album, title):
    if title == "":
        raise Fault.invalid_input("/title", "Give a title with letters.")


def title_of(request):
    return {"title": send(request).successful().document().string("/title")}


connector = Connector(
    identifier="python",
    version="1.0.0",
    title="Python",
    auth=oauth2("acme", scopes=["read"], identity=USERINFO),
    auth_additions=[ended_codes("grant_is_gone")],
    address={"member": {"title": "Number of the user", "form": "segment", "from": "/data/id"}},
    upstreams={"api": "https://api.acme.example", "own": "https://own.acme.example/{member}"},
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
        "charges": get(
            "api",
            "/charges",
            "Charges, by the last item of a page.",
            fields={"after?": string()},
            pages={"items": "/data", "last": "/id", "while": "/has_more", "into": "/after"},
        ),
        "upload": post(
            "api",
            "/photos",
            "Uploads photos.",
            fields={"title": string(), "photo": file(), "more?": list_of(file(), as_="more[]")},
            multipart=True,
        ),
        "checked": post(
            "api",
            "/photos/{album}",
            "Uploads photos to an album that a function checks.",
            fields={"photo": file(), "title?": string()},
            multipart=True,
            check=has_title,
        ),
        "through": get("api", "/notes/{id}", "The title of a note.", via=title_of),
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
def hoard():
    """Takes memory without end."""
    blocks = []
    while True:
        blocks.append(bytes(1 << 20))


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


@connector.write(fields={"photo": file()})
def report(photo):
    """Sends a form that a function makes."""
    parts = [
        {"name": "title", "text": "Report"},
        {"name": "report", "file_name": "report.csv", "content_type": "text/csv", "bytes": b"a,b"},
        {"name": "photo", **photo},
    ]
    return send(Request.post("api", "/photos").multipart(parts)).successful().document()


@connector.read(fields={"limit": integer()})
def walk(limit: int):
    """Walks pages."""
    found = pages(Request.get("api", "/list"), items="/notes", cursor="/next", parameter="page", limit=limit)
    return {"notes": [note.value() for note in found], "more": found.has_more}


@connector.read()
def prints():
    """Prints."""
    print("a printed", "line")
    print("an error", file=sys.stderr)
    return {"printed": True}


@connector.read()
def exits():
    """Ends Python."""
    sys.exit("the end")


@connector.read()
def unavailable():
    """Tries what a connector does not have."""
    attempts = (
        lambda: open("file"), lambda: os.listdir("/"), lambda: importlib.import_module("colorsys"), input,
        lambda: socket.create_connection(("a.example", 80)), lambda: asyncio.run(asyncio.sleep(0)),
    )
    return [tried(attempt) for attempt in attempts]


def tried(attempt):
    try:
        return f"the value {attempt()}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
