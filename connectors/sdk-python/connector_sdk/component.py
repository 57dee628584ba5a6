"""The exports of the component that `connector_sdk.build` makes from a table.

Only a component has the module `wit_world`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wit_world
from componentize_py_types import Err, Ok
from wit_world.imports import (
    auth_additions, clock, config, http, json, log, multipart, outcome, page_additions, progress, random, row_additions,
    signed_links, storage, trigger_additions, trigger_types, upstream_additions,
)

from . import clocks, missing, randomness
from .contract import case_of, manifest_of, value_of
from .fault import Fault
from .host import set_host
from .http import Document, HttpError, Request, Response
from .multipart import BrokenPart, Part
from .outcome import File
from .reader import written
from .table import Connector

_METHODS = {method.name.lower(): method for method in http.Method}
_LEVELS = {level.name.lower(): level for level in log.Level}


def component(connector: Connector, place_of: Callable[[str], str | None]) -> type:
    """The class with the exports.

    `place_of` gives the path of a source file, or `None` for a file of the SDK or of Python.
    """
    if not isinstance(connector, Connector):
        raise TypeError("the module of a connector has its table under the name `connector`: `connector = Connector(…)`")
    manifest = manifest_of(connector.manifest)
    rows = [(name, value_of(row_additions.Row, row)) for name, row in connector.rows]
    requests = [(name, value_of(row_additions.Row, row)) for name, row in connector.requests]
    parts = [value_of(upstream_additions.Part, part) for part in connector.additions["parts"]]
    inboxes = [value_of(trigger_types.Inbox, inbox) for inbox in connector.events["inboxes"]]
    triggers = [value_of(trigger_types.Trigger, trigger) for trigger in connector.events["triggers"]]
    set_host(_Host())
    clocks.replace_sleep(clock.sleep)

    class WitWorld(wit_world.WitWorld):
        def describe(self) -> Any:
            for addition in connector.auth_additions:
                _declare(addition)
            for part in parts:
                upstream_additions.declare_part(part)
            for upstream, site in connector.additions["sites"]:
                upstream_additions.declare_site(upstream, site)
            for name, row in rows:
                row_additions.declare_row(name, row)
            for name, row in requests:
                row_additions.declare_request(name, row)
            for name, more in connector.last_items:
                page_additions.declare_last_item(name, more)
            for inbox in inboxes:
                trigger_additions.declare_inbox(inbox)
            for trigger in triggers:
                trigger_additions.declare_trigger(trigger)
            return manifest

        def invoke(self, operation: str, input: str) -> Any:
            clocks.start(clock.now)
            randomness.start(random.bytes)
            missing.start(lambda level, line: log.write(_LEVELS[level], line))
            try:
                return _outcome(connector.run(operation, input))
            except Fault as fault:
                raise Err(_fault(fault)) from None
            except HttpError as error:
                raise Err(outcome.Fault_Http(_contract_error(error))) from None
            # `sys.exit()` raises an exception that is no `Exception`, and would end the call without a
            # reason.
            except BaseException as error:
                raise Err(outcome.Fault_Failed(_defect(error, place_of))) from None
            finally:
                missing.end()

    return WitWorld


def _declare(addition: dict[str, Any]) -> None:
    match addition:
        case {"tag": "client-credentials"}:
            auth_additions.client_credentials()
        case {"tag": "service-account", "val": {"audience": audience, "subject": subject}}:
            subject = auth_additions.Subject[subject.upper()]
            auth_additions.service_account(auth_additions.ServiceAccountDeclaration(audience, subject))
        case {"tag": "app-installation", "val": {"upstream": upstream, "path": path}}:
            auth_additions.app_installation(auth_additions.AppInstallationDeclaration(upstream, path))
        case {"tag": "device-code", "val": {"device_authorization_url": url}}:
            auth_additions.device_code(auth_additions.DeviceCodeDeclaration(url))
        case {"tag": "aws-signature", "val": declaration}:
            auth_additions.aws_signature_v4(value_of(auth_additions.AwsSignatureDeclaration, declaration))
        case {"tag": "hmac-signature", "val": declaration}:
            auth_additions.hmac_signature(value_of(auth_additions.HmacDeclaration, declaration))
        case {"tag": "ended-codes", "val": codes}:
            auth_additions.ended_codes(codes)


def _defect(error: BaseException, place_of: Callable[[str], str | None]) -> str:
    """The text of a defect: its first line is for callers, the other for admins.

    The log gets the stack trace, because a trap would lose it.
    """
    text = f"{type(error).__name__}: {error}"
    # The module `traceback` would look for the source files, which the component does not have.
    places = []
    entry = error.__traceback__
    while entry is not None:
        file = place_of(entry.tb_frame.f_code.co_filename)
        if file is not None:
            places.insert(0, f"{file}:{entry.tb_lineno}")
        entry = entry.tb_next
    log.write(log.Level.ERROR, "\n".join([text, *(f"    at {place}" for place in places)]))
    where = f", at {places[0]}" if places else ""
    return f"The connector has a defect. Its author finds the cause in the gateway's log.\n{text}{where}"


def _request(request: Request) -> http.Request:
    request.check_target()
    target = http.Target_Path(request.path) if request.link is None else http.Target_Link(request.link)
    body = None
    match request.body:
        case ("json", text):
            body = http.Body_Json(text)
        case ("form", pairs):
            body = http.Body_Form(pairs)
        case ("bytes", (content_type, content)):
            body = http.Body_Bytes(http.TypedBytes(content_type, content))
    return http.Request(_METHODS[request.method], request.upstream, target, request.headers, body, request.omit_credential)


def _made(request: http.Request) -> Request:
    """A request that the gateway has made."""
    made = Request(request.method.name, request.upstream, request.target.value)
    made.headers = [tuple(header) for header in request.headers]
    match request.body:
        case http.Body_Json(text):
            made.body = ("json", text)
        case http.Body_Form(pairs):
            made.body = ("form", [tuple(pair) for pair in pairs])
        case http.Body_Bytes(typed):
            made.body = ("bytes", (typed.content_type, typed.bytes))
    return made


def _refusal(fault: Any) -> Fault:
    """Why the gateway has made no request."""
    if isinstance(fault, outcome.Fault_InvalidInput):
        violations = [{"pointer": found.pointer, "detail": found.detail} for found in fault.value]
        return Fault("invalid-input", violations[0]["detail"], violations=violations)
    return Fault.failed(fault.value)


def _part(part: Part) -> multipart.Part:
    if "content_base64" in part:
        content: Any = multipart.Content_Base64(part["content_base64"])
    elif "bytes" in part:
        content = multipart.Content_Bytes(part["bytes"])
    else:
        content = multipart.Content_Text(part["text"])
    return multipart.Part(part["name"], part.get("file_name"), part.get("content_type"), content)


def _outcome(value: Any) -> Any:
    """What a function returned. A value that is not a type of the SDK becomes JSON."""
    if isinstance(value, Request):
        return outcome.Outcome_Forward(_request(value))
    if isinstance(value, Document):
        return outcome.Outcome_ReplyDocument(value.handle)
    if isinstance(value, File):
        return outcome.Outcome_ReplyFile(_file(value))
    if isinstance(value, Response):
        raise TypeError("a function of the table returned a response; return its `document()`, or a `File` of it")
    if value is None:
        raise TypeError("a function of the table returned nothing; return a value that JSON can hold")
    return outcome.Outcome_Reply(written(value))


def _file(file: File) -> outcome.File:
    if isinstance(file.content, Response):
        content = outcome.Content_Response(file.content.handle)
    else:
        content = outcome.Content_Bytes(file.content.encode() if isinstance(file.content, str) else file.content)
    members = written(file.members) if file.members else ""
    return outcome.File(content, file.file_name, file.content_type, members, file.digest, file.max_bytes)


def _fault(fault: Fault) -> Any:
    values = fault.values
    match fault.tag:
        case "invalid-input":
            return outcome.Fault_InvalidInput([outcome.Violation(found["pointer"], found["detail"]) for found in values["violations"]])
        case "not-found" | "conflict" as tag:
            explanation = outcome.Explanation(fault.detail, written(values["members"]) if values["members"] else None)
            return outcome.Fault_NotFound(explanation) if tag == "not-found" else outcome.Fault_Conflict(explanation)
        case "upstream":
            status, body, seconds = values["status"], values["body"], values["retry_after_seconds"]
            return outcome.Fault_Upstream(outcome.UpstreamFault(status, fault.detail, body, seconds))
        case _:
            return outcome.Fault_Failed(fault.detail)


def _http_error(error: Any) -> HttpError:
    return HttpError(case_of(type(error)), getattr(error, "value", None))


def _contract_error(error: HttpError) -> Any:
    name = "Error_" + "".join(word.capitalize() for word in error.tag.split("-"))
    return getattr(http, name)() if error.value is None else getattr(http, name)(error.value)


class _Host:
    """The functions of the contract, with the errors of the SDK."""

    now = staticmethod(clock.now)
    sleep = staticmethod(clock.sleep)
    progress = staticmethod(progress.report)
    config = staticmethod(config.get)

    def calling(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Err as error:
            raise _http_error(error.value) from None

    def send(self, request: Request) -> Any:
        return self.calling(http.send, _request(request))

    def send_all(self, requests: list[Request]) -> list[Any]:
        results = http.send_all([_request(request) for request in requests])
        return [result.value if isinstance(result, Ok) else _http_error(result.value) for result in results]

    def multipart(self, parts: list[Part]) -> str:
        try:
            return multipart.build([_part(part) for part in parts])
        except Err as error:
            raise BrokenPart(error.value.index, error.value.detail) from None

    def make_request(self, row: Any, given: str, settings: Any) -> Request:
        try:
            return _made(row_additions.make_request())
        except Err as error:
            raise _refusal(error.value) from None

    def signed_link(self, request: Request, seconds: int) -> str:
        wanted = signed_links.LinkRequest(_METHODS[request.method], request.upstream, request.path, seconds)
        return self.calling(signed_links.make, wanted)

    def parse(self, text: str) -> Any:
        try:
            return json.Document.parse(text)
        except Err as error:
            raise ValueError(error.value) from None

    def _storing(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Err as error:
            value = getattr(error.value, "value", None)
            raise Fault.failed(f"storage: {case_of(type(error.value))}" + (f": {value}" if value else "")) from None

    def storage_get(self, key: str) -> bytes | None:
        return self._storing(storage.get, key)

    def storage_set(self, key: str, value: bytes, seconds: int | None) -> None:
        self._storing(storage.set, key, value, seconds)

    def storage_delete(self, key: str) -> None:
        self._storing(storage.delete, key)

    def log(self, level: str, message: str) -> None:
        log.write(_LEVELS[level], message)
