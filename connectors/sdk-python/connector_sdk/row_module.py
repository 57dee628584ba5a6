"""The crate `rows` as a WebAssembly module: the rules of rows, the requests that follow from them, the
rules for links and parts of forms, and the replay of recordings.

It runs where a connector is built and tested. In a connector the gateway does all of this.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from .mistake import Mistake
from .table import Connector

#: The Makefile of the gateway's source builds it, and the published package has it.
MODULE = Path(__file__).with_name("rows.wasm")


@cache
def exports() -> tuple[Any, Any]:
    """The store of the module, and what it exports."""
    # A component has neither the package nor the module.
    import wasmtime

    if not MODULE.is_file():
        raise FileNotFoundError("the SDK has no `rows.wasm`; `make sdks` in the source of the gateway builds it")
    store = wasmtime.Store()
    instance = wasmtime.Instance(store, wasmtime.Module.from_file(store.engine, str(MODULE)), [])
    return store, instance.exports(store)


def _ask(question: dict[str, Any]) -> dict[str, Any]:
    """The answer of the module to a question: `ok` or `fault`."""
    store, exported = exports()
    asked = json.dumps(question).encode()
    exported["memory"].write(store, asked, exported["room"](store, len(asked)))
    length = exported["answer"](store)
    place = exported["place"](store)
    answered = json.loads(exported["memory"].read(store, place, place + length))
    if "unknown" in answered:
        raise Mistake(f"a field, a row, an inbox or a trigger has a value of another type: {answered['unknown']}")
    return answered


def check_rows(connector: Connector) -> None:
    """Raises the first mistake in the fields, rows, examples, inboxes and triggers of a table."""
    for found in _ask({"check": connector.declarations})["ok"]:
        operation = found["operation"]
        mistake = Mistake(found["mistake"] if operation is None else f"operation `{operation}`: {found['mistake']}")
        mistake.place = connector.place_of(operation)
        raise mistake


def request_of(row: dict[str, Any], given: str, settings: dict[str, str]) -> dict[str, Any]:
    """The request of a row for an input, or the fault of an input that makes none.

    `settings` are JSON texts.
    """
    return _ask({"request": {"row": row, "input": given, "settings": settings}})


def next_of(values: list[str]) -> str | None:
    """The address of the next page in the values of a header `Link`; `None` if they have none."""
    return _ask({"link": values})["ok"]


def broken_rule(part: Mapping[str, Any]) -> str | None:
    """The rule that the file name or the media type of a part of a form breaks; `None` if they break none."""
    return _ask({"part": {"file_name": part.get("file_name"), "content_type": part.get("content_type")}})["ok"]


def replayed(question: dict[str, Any]) -> dict[str, Any]:
    """The call of a recording, the answer to the last request, and the differences if the operation has ended."""
    return _ask({"replay": question})["ok"]
