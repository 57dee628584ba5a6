"""A connector that calls every function of the contract once. It has no SDK, so that only the contract is between it and the gateway."""

import json as standard_json

import wit_world
from componentize_py_types import Err, Ok
from wit_world.imports import (
    auth_additions, clock, config, http, json, log, manifest, multipart, outcome, progress, random, storage, upstream_additions
)

SCHEMA = '{"type": "object", "properties": {"id": {"type": "string"}, "kind": {"type": "string"}}, "additionalProperties": false}'


def operation(path: str) -> manifest.Operation:
    thin = path == "forward"
    following = manifest.NextPage_Link(manifest.NextLink("/next" if thin else "Link", "page"))
    return manifest.Operation(
        path=path,
        summary=f"Tries {path}",
        description="",
        input_schema=SCHEMA,
        example='{"id": "1"}',
        envelope=True,
        effect=manifest.Effect.WRITE if thin else manifest.Effect.READ,
        answer=manifest.Answer.FILE if path == "file" else manifest.Answer.JSON,
        answer_schema='{"type": "object"}' if thin else None,
        answer_example="{}" if thin else None,
        pagination=manifest.Pagination("/items", following, "/id") if thin or path == "document" else None,
        background=False,
        immediate=thin,
        rate_limit="calls",
    )


MANIFEST = manifest.Manifest(
    identifier="frozen",
    version="1.1.0",
    title="Frozen",
    description="Calls every function of the contract.",
    imprint=manifest.Imprint("Apache-2.0", "https://frozen.example", "Connector Gateway contributors", None),
    auth=manifest.AuthScheme_Oauth2(
        manifest.Oauth2(
            provider="frozen-provider",
            authorization_url="",
            token_url="https://api.frozen.example/token",
            refresh_url=None,
            revocation=None,
            scopes=["read"],
            scope_separator=" ",
            scope_parameter="scope",
            authorization_parameters=[],
            token_parameters=[],
            pkce=True,
            client_authentication=manifest.ClientAuthentication.BODY,
            token_pointer="",
            default_lifetime_seconds=None,
            form_field=None,
            revokes_replaced_grants=False,
            identity=None,
        )
    ),
    upstreams=[
        manifest.Upstream(
            name="api",
            base_url="https://api.frozen.example",
            credential=manifest.CredentialUse.NONE,
            link_hosts=["files.frozen.example"],
            pacing=manifest.Pacing(1, 4, 10_000),
        ),
        manifest.Upstream(
            name="customers",
            base_url="https://{customer}.frozen.example/{cloud}",
            credential=manifest.CredentialUse.STANDARD,
            link_hosts=[],
            pacing=None,
        ),
    ],
    rate_limits=[manifest.RateLimit("calls", 1000, 60)],
    settings=[manifest.Setting("greeting", '{"type": "string"}', '"hello"', "A word that an answer repeats.")],
    operations=[operation(path) for path in ("forward", "everything", "document", "file", "fault")],
)


def request(method, target, body=None, upstream="api"):
    return http.Request(method, upstream, target, [("x-frozen", "1.1.0")], body, True)


def get(path, upstream="api"):
    return request(http.Method.GET, http.Target_Path(path), upstream=upstream)


def failure(action, *arguments):
    try:
        action(*arguments)
    except Err as error:
        return error.value
    return None


def forward(document):
    path = http.Target_Path("/items/" + document.pointer("/id").as_string())
    return outcome.Outcome_Forward(request(http.Method.POST, path, http.Body_Json(document.text())))


def everything(_):
    storage.set("key", b"value", 60)
    stored = storage.get("key").decode()
    storage.delete("key")
    deleted = storage.get("key") is None
    refused = isinstance(failure(storage.set, "", b"", None), storage.Error_Invalid)

    began = clock.now()
    clock.sleep(20)
    slept = clock.now() - began >= 19
    values = [random.bytes(16), random.bytes(16)]

    log.write(log.Level.WARN, "a line of the frozen connector")
    progress.report(0.5, "half")

    response = http.send(get("/items"))
    links = [response.header_link("location"), response.body_link("/next")]
    first = list(response.peek(1))
    same = len(response.bytes()) == len(response.text())
    document = response.document()
    place, following = (http.send(request(http.Method.GET, http.Target_Link(link))).status() for link in links)
    both = []
    for result in http.send_all([get("/items/1"), get("no-slash")]):
        if isinstance(result, Ok):
            both.append(result.value.status())
        else:
            both.append(-1 if isinstance(result.value, http.Error_InvalidRequest) else -2)

    content_type = multipart.build([
        multipart.Part("text", None, None, multipart.Content_Text("ü")),
        multipart.Part("file", "a.txt", None, multipart.Content_Base64("SGk=")),
        multipart.Part("bytes", "b.bin", None, multipart.Content_Bytes(bytes([255]))),
    ])
    form = http.Body_Bytes(http.TypedBytes(content_type, b""))
    sent = http.send(request(http.Method.POST, http.Target_Path("/form"), form)).text()
    broken_part = failure(multipart.build, [multipart.Part("a", "a/b", None, multipart.Content_Text(""))])

    items = document.pointer("/items")
    answer = {
        "stored": stored,
        "deleted": deleted,
        "refused": refused,
        "setting": standard_json.loads(config.get("greeting")),
        "unset": config.get("unknown") is None,
        "later": clock.now() > 1_700_000_000_000,
        "status": response.status(),
        "type": response.header("Content-Type"),
        "place": place,
        "next": following,
        "first": first,
        "same_size": same,
        "both": both,
        "keys": document.keys(),
        "kinds": [items.item(index).kind().name.lower() for index in range(items.length())],
        "word": items.item(1).as_string(),
        "text": standard_json.loads(items.text()),
        "broken": failure(json.Document.parse, "{") is not None,
        "slept": slept,
        "random": len(values[0]) == 16 and values[0] != values[1],
        "too_long": failure(random.bytes, 65_537) is not None,
        "parts": standard_json.loads(sent),
        "broken_part": broken_part is not None and broken_part.index == 0,
    }
    return outcome.Outcome_Reply(standard_json.dumps(answer))


def document(_):
    return outcome.Outcome_ReplyDocument(http.send(get("/items")).document().pointer("/items"))


def file(_):
    content = outcome.Content_Response(http.send(get("/file")))
    return outcome.Outcome_ReplyFile(outcome.File(content, "note.txt", "text/plain", '{"kind": "note"}', True, 100))


def fault(document):
    explanation = outcome.Explanation("An explanation.", '{"a": 1}')
    match document.pointer("/kind").as_string():
        case "invalid-input":
            raise Err(outcome.Fault_InvalidInput([outcome.Violation("/kind", "A reason.")]))
        case "not-found":
            raise Err(outcome.Fault_NotFound(explanation))
        case "conflict":
            raise Err(outcome.Fault_Conflict(explanation))
        case "upstream":
            raise Err(outcome.Fault_Upstream(outcome.UpstreamFault(429, "A reason.", '{"why": "busy"}', 7)))
        case "http":
            raise Err(outcome.Fault_Http(failure(http.send, get("/missing-host", "unknown"))))
        case _:
            raise Err(outcome.Fault_Failed("A reason."))


OPERATIONS = {function.__name__: function for function in (forward, everything, document, file, fault)}


class WitWorld(wit_world.WitWorld):
    def describe(self) -> manifest.Manifest:
        auth_additions.client_credentials()
        auth_additions.service_account(auth_additions.ServiceAccountDeclaration("frozen", auth_additions.Subject.OPTIONAL))
        path = "/installations/{installation_id}/tokens"
        auth_additions.app_installation(auth_additions.AppInstallationDeclaration("api", path))
        auth_additions.device_code(auth_additions.DeviceCodeDeclaration("https://api.frozen.example/device"))
        form, source = upstream_additions.PartForm, upstream_additions
        upstream_additions.declare_part(
            upstream_additions.Part("customer", "Customer", form.LABEL, 63, source.PartSource_User())
        )
        upstream_additions.declare_part(
            upstream_additions.Part("cloud", "Cloud", form.SEGMENT, 63, source.PartSource_User())
        )
        upstream_additions.declare_site("customers", "frozen.example")
        return MANIFEST

    def invoke(self, operation: str, input: str) -> outcome.Outcome:
        return OPERATIONS[operation](json.Document.parse(input))
