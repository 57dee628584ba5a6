"""`Connector(…)`: a table becomes the manifest of a connector, and runs its operations."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import cleandoc
from typing import Any, TypedDict, Unpack

from . import rows
from .address import AddressPart, check_url, parts_of
from .auth_additions import checked
from .declared_rows import Data, header_of
from .fault import Fault
from .fields import Field, field_schema, named, plain_field, schema_of
from .host import host
from .http import Request
from .mistake import Mistake, Place, check_function, here, only, within
from .reader import scalar, written
from .rows import Clauses, Context, Effect, InternalClauses, Operation, Pages, Row, Setting
from .triggers import Role, check_named, events_of, input_schema, run_role

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}


class Upstream(TypedDict, total=False):
    url: str
    credential: str
    links: list[str]
    pacing: dict[str, int]
    site: str


class Connector:
    """A connector. Its module has it under the name `connector`."""

    def __init__(
        self,
        *,
        identifier: str,
        version: str,
        title: str,
        auth: dict[str, Any],
        auth_additions: Sequence[dict[str, Any]] = (),
        doc: str = "",
        license: str = "",
        homepage: str | None = None,
        author: str | None = None,
        icon: str | None = None,
        upstreams: Mapping[str, str | Upstream] | None = None,
        address: Mapping[str, AddressPart] | None = None,
        rate_limits: Mapping[str, str] | None = None,
        settings: Mapping[str, Field] | None = None,
        headers: Mapping[str, str | dict[str, Any]] | None = None,
        lists: str | dict[str, str] = {"joined": ","},
        via: Callable[[Request], Any] | None = None,
        inboxes: Sequence[Mapping[str, Any]] = (),
        triggers: Sequence[Mapping[str, Any]] = (),
        answer_examples: Mapping[str, Any] | None = None,
        operations: Mapping[str, Row] | None = None,
    ):
        if not re.fullmatch(r"(?!.*__)(?!.*_$)[a-z][a-z0-9_]{0,63}", identifier):
            raise Mistake("an identifier is 1 to 64 of `a-z`, `0-9` and `_`, begins with a letter, has no `__` and does not end with `_`")
        self.identifier = identifier
        #: Where the author wrote it.
        self.place = here()
        self._head = {"identifier": identifier, "version": version, "title": title, "description": cleandoc(doc)}
        self._imprint = {"license": license, "homepage": homepage, "author": author, "icon": icon}
        if via is not None:
            check_function("`via`", via)
        self._auth = auth
        self.auth_additions = checked(auth_additions, auth, list(upstreams or {}))
        #: The inboxes and types of events. A value of a variant is `{"tag": …, "val": …}`.
        self.events = events_of(inboxes, triggers)
        self._answers = dict(answer_examples or {})
        self._settings_manifest, known, self._settings_fields = _settings(settings or {})
        by_default = "none" if auth["tag"] == "none" else "standard"
        parts = parts_of(address or {}, upstreams or {})
        sites = [
            (name, declared["site"]) for name, declared in (upstreams or {}).items() if isinstance(declared, dict) and "site" in declared
        ]
        #: What the manifest has no place for. A value of a variant is `{"tag": …, "val": …}`.
        self.additions: dict[str, Any] = {"parts": parts, "sites": sites}
        self._upstreams = [
            _upstream(name, declared, by_default if index == 0 else "none", parts)
            for index, (name, declared) in enumerate((upstreams or {}).items())
        ]
        self._context = Context(
            rate_limits=rate_limits or {},
            settings=known,
            headers=[_header(name, declared) for name, declared in (headers or {}).items()],
            lists={"tag": "repeated"} if lists == "repeated" else {"tag": "joined", "val": lists["joined"]},
            via=via,
        )
        for name, row in (operations or {}).items():
            with within(f"operation `{name}`", row.place if isinstance(row, Row) else None):
                self._context.operations[name] = rows.request(self._context, name, row)

    def read(self, **clauses: Unpack[Clauses]) -> Callable:
        """The function changes nothing."""
        return self._function("read", clauses)

    def write(self, **clauses: Unpack[Clauses]) -> Callable:
        """The function adds or changes data."""
        return self._function("write", clauses)

    def destructive(self, **clauses: Unpack[Clauses]) -> Callable:
        """The function removes or overwrites data that cannot be restored."""
        return self._function("destructive", clauses)

    def internal(self, role: Role, **clauses: Unpack[InternalClauses]) -> Callable:
        """A trigger names the function, and callers cannot run it.

        It gets the members of the role's input as arguments.
        """
        return self._added(lambda name, run: rows.internal(self._context, name, role, run, clauses))

    def _function(self, effect: Effect, clauses: Clauses) -> Callable:
        return self._added(lambda name, run: rows.function(self._context, name, run.__doc__, effect, run, clauses))

    def _added(self, operation: Callable[[str, Callable[..., Any]], Operation]) -> Callable:
        def add(run: Callable[..., Any]) -> Callable[..., Any]:
            name = run.__name__.removesuffix("_")
            place = (run.__code__.co_filename, run.__code__.co_firstlineno)
            with within(f"operation `{name}`", place):
                self._context.operations[name] = replace(operation(name, run), place=place)
            return run

        return add

    def run(self, name: str, given: str) -> Any:
        """Runs an operation on an input, which is JSON text.

        Returns what its function returns, or its request.
        """
        found = self._context.operations.get(name)
        if found is None:
            raise Fault.failed(f"{self.identifier} has no operation {name}")
        if found.role is not None and found.run is not None:
            return run_role(found.role, found.run, given)
        if found.run is not None:
            return found.run(**rows.read_input(found.fields, given))
        if "check" in found.clauses:
            found.clauses["check"](**rows.read_input(found.fields, given))
        # The gateway knows the row and the input, and a test needs both.
        request = host().make_request(found.request, given, self._context.settings)
        return request if found.via is None else found.via(request)

    @property
    def rows(self) -> list[tuple[str, Data]]:
        """The operations that are one request, each with its row."""
        return [(found.name, found.request) for found in self._requests if _is_sent(found)]

    @property
    def requests(self) -> list[tuple[str, Data]]:
        """The operations with `check` or `via`, each with the row of its request."""
        return [(found.name, found.request) for found in self._requests if not _is_sent(found)]

    @property
    def _requests(self) -> list[Operation]:
        return [found for found in self._context.operations.values() if found.request is not None]

    @property
    def declarations(self) -> dict[str, Any]:
        """All that the rules of rows, of types, and of examples, are about."""
        operations = list(self._context.operations.values())
        return {
            "upstreams": [upstream["name"] for upstream in self._upstreams],
            "settings": [[setting["name"], json.loads(setting["schema"])] for setting in self._settings_manifest],
            "headers": self._context.headers,
            "rows": [
                {"operation": found.name, "row": found.request, "input": schema_of(found.fields), "effect": found.effect}
                for found in self._requests
            ],
            "fields": [
                *(
                    {
                        "operation": found.name,
                        "fields": [plain_field(field) for field in found.fields],
                        "into": found.clauses.get("pages", {}).get("into"),
                        "background": found.clauses.get("background", False),
                    }
                    for found in operations
                ),
                {"operation": None, "fields": self._settings_fields},
            ],
            "examples": [
                {"operation": found.name, "fields": [plain_field(field) for field in found.fields], "example": found.clauses["example"]}
                for found in operations
                if "example" in found.clauses
            ],
            "events": self._event_declarations(),
        }

    def _event_declarations(self) -> dict[str, Any] | None:
        """All that the rules of inboxes and types of events are about. `None` if there are none."""
        if not self.events["inboxes"] and not self.events["triggers"]:
            return None
        scheme = self._auth.get("val") or {}
        identity = (scheme.get("identity") or {}).get("operation") if self._auth["tag"] == "oauth2" else scheme.get("check")
        operations = [
            {
                "path": found.name,
                "envelope": not found.clauses.get("no_envelope", False),
                "background": found.clauses.get("background", False),
                "paged": "pages" in found.clauses,
                "answers_json": found.clauses.get("answers", "json") == "json",
            }
            for found in self._context.operations.values()
        ]
        return {"has_oauth2": self._auth["tag"] == "oauth2", "identity": identity, "operations": operations, **self.events}

    def place_of(self, operation: str | None) -> Place | None:
        """Where the author wrote an operation, or the table."""
        return self.place if operation is None else self._context.operations[operation].place

    @property
    def last_items(self) -> list[tuple[str, str | None]]:
        """The operations whose next page is found from the last item of a page.

        Each has the pointer that tells the last page, or `None`.
        """
        pages = [(name, row.clauses.get("pages", {})) for name, row in self._context.operations.items()]
        return [(name, found.get("while")) for name, found in pages if "last" in found]

    def request(self, method: str, upstream: str, path: str) -> Request:
        """A request of a function with the headers that the table gives to its rows.

        Headers with `when` are left out.
        """
        request = Request(method, upstream, path)
        request.headers = [pair for header in self._context.headers if not header["when"] for pair in self._pair(header)]
        return request

    def _pair(self, header: Data) -> list[tuple[str, str]]:
        """Name and value of a header. Empty if a setting in the value has no value."""
        parts: list[str | None] = re.split(r"\{settings\.([^{}]*)\}", header["value"])
        parts[1::2] = [self._text(name) for name in parts[1::2]]
        return [] if None in parts else [(header["name"], "".join(parts))]

    def _text(self, setting: str | None) -> str | None:
        found = self._context.settings.get(setting or "")
        text = None if found is None else found.json()
        return None if text is None else scalar(text)

    def setting(self, name: str) -> Any:
        """The operator's value of a setting, or its default; `None` if there is neither."""
        if name not in self._context.settings:
            raise Mistake(f"there is no setting `{name}`")
        text = self._context.settings[name].json()
        return None if text is None else json.loads(text)

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest. A value of a variant is `{"tag": …, "val": …}`."""
        operations = self._context.operations
        if not operations:
            raise Mistake("a connector has at least one operation")
        for name, found in operations.items():
            with within(f"operation `{name}`", found.place):
                check_named(self.events["triggers"], name, found.role)
        for name in self._answers:
            if name not in operations:
                raise Mistake(f"`answer_examples` has `{name}`, which is no operation of the table")
        return {
            **self._head,
            "imprint": self._imprint,
            "auth": self._auth,
            "upstreams": self._upstreams,
            "rate_limits": [_rate_limit(name, rate) for name, rate in self._context.rate_limits.items()],
            "settings": self._settings_manifest,
            "operations": [_operation(found, self._answers.get(name)) for name, found in operations.items()],
        }


def _settings(declared: Mapping[str, Field]) -> tuple[list[dict[str, Any]], dict[str, Setting], list[dict[str, Any]]]:
    """The part of the manifest, the settings by their names, and their fields in the form of the crate `contract_rules`."""
    manifest, known, fields = [], {}, []
    for name, field in declared.items():
        # `named` refuses defaults of fields without `?`; the operator may always leave a setting
        # out.
        [setting] = named({f"{name}?": field})
        doc, default = setting["doc"], setting["default"]
        if not doc:
            raise Mistake(f"say in `doc` of the setting `{name}` what the operator sets with it")
        if setting.is_of_row:
            raise Mistake(f"setting `{name}`: this modifier is for fields of a row")
        fields.append(plain_field(setting))
        setting.optional = False
        setting.modifiers = {word: value for word, value in setting.modifiers.items() if word not in ("doc", "default")}
        text = None if default is None else written(default)
        known[name] = Setting(name, text)
        manifest.append({"name": name, "schema": written(field_schema(setting)), "default": text, "documentation": cleandoc(doc)})
    return manifest, known, fields


def _is_sent(operation: Operation) -> bool:
    """`True` if the gateway sends the request of an operation itself."""
    return operation.via is None and "check" not in operation.clauses


def _header(name: str, declared: str | dict[str, Any]) -> Data:
    header = {"value": declared} if isinstance(declared, str) else declared
    with within(f"header `{name}`"):
        only(header, ("value", "when"), "a header")
    return header_of(name, header["value"], header.get("when", []))


def _upstream(name: str, declared: str | Upstream, by_default: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    upstream: Upstream = {"url": declared} if isinstance(declared, str) else declared
    with within(f"upstream `{name}`"):
        only(upstream, Upstream.__annotations__, "an upstream")
        if upstream["url"].endswith("/"):
            raise Mistake("a base URL has no `/` at its end: paths begin with one")
        check_url(upstream["url"], upstream.get("site"), parts)
    return {
        "name": name,
        "base_url": upstream["url"],
        "credential": upstream.get("credential", by_default).replace("_", "-"),
        "link_hosts": upstream.get("links", []),
        "pacing": upstream.get("pacing"),
    }


def _rate_limit(name: str, rate: str) -> dict[str, Any]:
    """`300 per minute`, `300 per 15 minutes`"""
    found = re.fullmatch(r"([1-9]\d*) per (?:([1-9]\d*) )?(second|minute|hour|day)s?", rate)
    if found is None:
        raise Mistake(f"rate limit `{name}`: write a rate such as `300 per minute` or `300 per 15 minutes`")
    requests, count, unit = found.groups(default="1")
    return {"name": name, "requests": int(requests), "period_seconds": int(count) * _SECONDS[unit]}


def _operation(operation: Operation, answer_example: Any) -> dict[str, Any]:
    clauses = operation.clauses
    summary, _, description = cleandoc(operation.doc).partition("\n\n")

    def text(value: Any) -> str | None:
        return None if value is None else written(value)

    with within(f"operation `{operation.name}`", operation.place):
        pagination = _pagination(clauses["pages"]) if "pages" in clauses else None
    return {
        "path": operation.name,
        "summary": summary.replace("\n", " ").removesuffix("."),
        "description": description.strip(),
        "input_schema": written(schema_of(operation.fields) if operation.role is None else input_schema(operation.role)),
        "example": text(clauses.get("example")),
        "envelope": not clauses.get("no_envelope", False),
        "effect": operation.effect,
        "answer": clauses.get("answers", "json"),
        "answer_schema": text(clauses.get("answer_schema")),
        "answer_example": text(answer_example),
        "pagination": pagination,
        "background": clauses.get("background", False),
        "immediate": operation.request is not None and operation.via is None,
        "rate_limit": clauses.get("rate_limit"),
    }


def _pagination(pages: Pages) -> dict[str, Any]:
    only(pages, Pages.__annotations__, "`pages`")
    next_page: dict[str, Any]
    match pages:
        case {"cursor": pointer}:
            next_page = {"tag": "cursor", "val": pointer}
        case {"link": pointer, "parameter": parameter}:
            next_page = {"tag": "link", "val": {"pointer": pointer, "parameter": parameter}}
        case {"page_number": first}:
            next_page = {"tag": "page-number", "val": first}
        case {"offset": True}:
            next_page = {"tag": "offset"}
        case {"last": pointer}:
            # `page-additions` says that the pointer leads from the last item.
            next_page = {"tag": "cursor", "val": pointer}
        case _:
            raise Mistake("`pages` says how the next page is found: `cursor`, `link` with `parameter`, `page_number`, `offset` or `last`")
    if "while" in pages and "last" not in pages:
        raise Mistake("`while` in `pages` is for `last`")
    if not pages.get("while", "/").startswith("/"):
        raise Mistake("`while` in `pages` is a JSON Pointer to a boolean of the answer, such as `/has_more`")
    if "items" not in pages or "into" not in pages:
        raise Mistake("`pages` has `items` and `into`, which are JSON Pointers")
    return {"items": pages["items"], "next": next_page, "input": pages["into"]}
