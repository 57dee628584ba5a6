//! A connector that calls every function of the contract once. It has no SDK, so that only the contract is between it and the gateway.

use self::bindings::gateway::connector::auth_additions::{
    self, AppInstallationDeclaration, DeviceCodeDeclaration, ServiceAccountDeclaration, Subject,
};
use self::bindings::gateway::connector::http::{self, Body, Error, Method, Request, Target, TypedBytes};
use self::bindings::gateway::connector::json::{Document, Kind};
use self::bindings::gateway::connector::manifest::{
    Answer, AuthScheme, ClientAuthentication, CredentialUse, Effect, Imprint, NextLink, NextPage, Oauth2, Operation,
    Pacing, Pagination, RateLimit, Setting, Upstream,
};
use self::bindings::gateway::connector::multipart::{self, Content as PartContent, Part};
use self::bindings::gateway::connector::outcome::{
    Content, Explanation, Fault, File, Outcome, UpstreamFault, Violation,
};
use self::bindings::gateway::connector::storage::Error as StorageError;
use self::bindings::gateway::connector::upstream_additions::{self, Part as AddressPart, PartForm, PartSource};
use self::bindings::gateway::connector::{clock, config, log, progress, random, storage};
use self::bindings::{Guest, Manifest};

#[allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "generated from the contract")]
mod bindings {
    wit_bindgen::generate!({ path: "../connector.wit", world: "connector", generate_all });

    use super::Frozen;
    export!(Frozen);
}

struct Frozen;

impl Guest for Frozen {
    fn describe() -> Manifest {
        auth_additions::client_credentials();
        auth_additions::service_account(&ServiceAccountDeclaration {
            audience: Some("frozen".to_owned()),
            subject: Subject::Optional,
        });
        auth_additions::app_installation(&AppInstallationDeclaration {
            upstream: "api".to_owned(),
            path: "/installations/{installation_id}/tokens".to_owned(),
        });
        auth_additions::device_code(&DeviceCodeDeclaration {
            device_authorization_url: "https://api.frozen.example/device".to_owned(),
        });
        upstream_additions::declare_part(&AddressPart {
            name: "customer".to_owned(),
            title: "Customer".to_owned(),
            form: PartForm::Label,
            max_length: 63,
            source: PartSource::User,
        });
        upstream_additions::declare_part(&AddressPart {
            name: "cloud".to_owned(),
            title: "Cloud".to_owned(),
            form: PartForm::Segment,
            max_length: 63,
            source: PartSource::User,
        });
        upstream_additions::declare_site("customers", "frozen.example");
        Manifest {
            identifier: "frozen".to_owned(),
            version: "1.1.0".to_owned(),
            title: "Frozen".to_owned(),
            description: "Calls every function of the contract.".to_owned(),
            imprint: Imprint {
                license: "Apache-2.0".to_owned(),
                homepage: Some("https://frozen.example".to_owned()),
                author: Some("Connector Gateway contributors".to_owned()),
                icon: None,
            },
            auth: AuthScheme::Oauth2(oauth2()),
            upstreams: vec![
                Upstream {
                    name: "api".to_owned(),
                    base_url: "https://api.frozen.example".to_owned(),
                    credential: CredentialUse::None,
                    link_hosts: vec!["files.frozen.example".to_owned()],
                    pacing: Some(Pacing { interval_ms: 1, concurrency: 4, max_wait_ms: 10_000 }),
                },
                Upstream {
                    name: "customers".to_owned(),
                    base_url: "https://{customer}.frozen.example/{cloud}".to_owned(),
                    credential: CredentialUse::Standard,
                    link_hosts: Vec::new(),
                    pacing: None,
                },
            ],
            rate_limits: vec![RateLimit { name: "calls".to_owned(), requests: 1000, period_seconds: 60 }],
            settings: vec![Setting {
                name: "greeting".to_owned(),
                schema: r#"{"type": "string"}"#.to_owned(),
                default: Some(r#""hello""#.to_owned()),
                documentation: "A word that an answer repeats.".to_owned(),
            }],
            operations: ["forward", "everything", "document", "file", "fault"].map(operation).into(),
        }
    }

    fn invoke(operation: String, input: String) -> Result<Outcome, Fault> {
        let input = Document::parse(&input).map_err(Fault::Failed)?;
        match operation.as_str() {
            "forward" => Ok(Outcome::Forward(forwarded(&input))),
            "everything" => everything(),
            "document" => Ok(Outcome::ReplyDocument(member(&send(get("/items"))?.document()?, "/items")?)),
            "file" => file(),
            "fault" => Err(fault(&text(&input, "/kind"))),
            _ => Err(Fault::Failed(format!("there is no operation `{operation}`"))),
        }
    }
}

fn oauth2() -> Oauth2 {
    Oauth2 {
        provider: "frozen-provider".to_owned(),
        authorization_url: String::new(),
        token_url: "https://api.frozen.example/token".to_owned(),
        refresh_url: None,
        revocation: None,
        scopes: vec!["read".to_owned()],
        scope_separator: " ".to_owned(),
        scope_parameter: "scope".to_owned(),
        authorization_parameters: Vec::new(),
        token_parameters: Vec::new(),
        pkce: true,
        client_authentication: ClientAuthentication::Body,
        token_pointer: String::new(),
        default_lifetime_seconds: None,
        form_field: None,
        revokes_replaced_grants: false,
        identity: None,
    }
}

fn operation(path: &str) -> Operation {
    let is_thin = path == "forward";
    let pointer = if is_thin { "/next" } else { "Link" };
    let next = NextPage::Link(NextLink { pointer: pointer.to_owned(), parameter: "page".to_owned() });
    let pages = Pagination { items: "/items".to_owned(), next, input: "/id".to_owned() };
    Operation {
        path: path.to_owned(),
        summary: format!("Tries {path}"),
        description: String::new(),
        input_schema: r#"{"type": "object", "properties": {"id": {"type": "string"}, "kind": {"type": "string"}}, "additionalProperties": false}"#
            .to_owned(),
        example: Some(r#"{"id": "1"}"#.to_owned()),
        envelope: true,
        effect: if is_thin { Effect::Write } else { Effect::Read },
        answer: if path == "file" { Answer::File } else { Answer::Json },
        answer_schema: is_thin.then(|| r#"{"type": "object"}"#.to_owned()),
        answer_example: is_thin.then(|| "{}".to_owned()),
        pagination: (is_thin || path == "document").then_some(pages),
        background: false,
        immediate: is_thin,
        rate_limit: Some("calls".to_owned()),
    }
}

fn request(method: Method, target: Target, body: Option<Body>) -> Request {
    let headers = vec![("x-frozen".to_owned(), "1.1.0".to_owned())];
    Request { method, upstream: "api".to_owned(), target, headers, body, omit_credential: true }
}

fn get(path: &str) -> Request {
    request(Method::Get, Target::Path(path.to_owned()), None)
}

fn forwarded(input: &Document) -> Request {
    let path = Target::Path(format!("/items/{}", text(input, "/id")));
    request(Method::Post, path, Some(Body::Json(input.text())))
}

fn everything() -> Result<Outcome, Fault> {
    storage::set("key", b"value", Some(60)).map_err(stored)?;
    let value = storage::get("key").map_err(stored)?.unwrap_or_default();
    storage::delete("key").map_err(stored)?;
    let is_deleted = storage::get("key").map_err(stored)?.is_none();
    let is_refused = matches!(storage::set("", b"", None), Err(StorageError::Invalid(_)));

    let began = clock::now();
    clock::sleep(20);
    let has_slept = clock::now() - began >= 19;
    let random_values = [random::bytes(16).map_err(Fault::Failed)?, random::bytes(16).map_err(Fault::Failed)?];
    let has_random = random_values[0].len() == 16 && random_values[0] != random_values[1];

    log::write(log::Level::Warn, "a line of the frozen connector");
    progress::report(0.5, "half");

    let response = send(get("/items"))?;
    let place = response.header_link("location")?.ok_or(Fault::Failed("no location".to_owned()))?;
    let next = response.body_link("/next")?.ok_or(Fault::Failed("no next page".to_owned()))?;
    let first = response.peek(1)?;
    let sizes = [response.bytes()?.len(), response.text()?.len()];
    let document = response.document()?;
    let followed = [place, next].map(|link| send(request(Method::Get, Target::Link(link), None)));
    let [place, next] = followed;
    let both = http::send_all(vec![get("/items/1"), request(Method::Get, Target::Path("no-slash".to_owned()), None)]);
    let both = both.iter().map(|result| match result {
        Ok(response) => response.status().to_string(),
        Err(Error::InvalidRequest(_)) => "-1".to_owned(),
        Err(_) => "-2".to_owned(),
    });

    let part = |name: &str, file_name: Option<&str>, content| Part {
        name: name.to_owned(),
        file_name: file_name.map(str::to_owned),
        content_type: None,
        content,
    };
    let parts = [
        part("text", None, PartContent::Text("ü".to_owned())),
        part("file", Some("a.txt"), PartContent::Base64("SGk=".to_owned())),
        part("bytes", Some("b.bin"), PartContent::Bytes(vec![255])),
    ];
    let content_type = multipart::build(&parts).map_err(|broken| Fault::Failed(broken.detail))?;
    let form = Body::Bytes(TypedBytes { content_type, bytes: Vec::new() });
    let sent = send(request(Method::Post, Target::Path("/form".to_owned()), Some(form)))?.document()?;
    let broken_part = multipart::build(&[part("a", Some("a/b"), PartContent::Text(String::new()))]).err();

    let items = member(&document, "/items")?;
    let kinds = (0..items.length()).filter_map(|index| items.item(index)).map(|item| kind(item.kind()).to_owned());
    let word = items.item(1).and_then(|item| item.as_string()).unwrap_or_default();
    Ok(Outcome::Reply(format!(
        r#"{{"stored": {:?}, "deleted": {is_deleted}, "refused": {is_refused}, "setting": {}, "unset": {}, "later": {}, "status": {},
        "type": {:?}, "place": {}, "next": {}, "first": {first:?}, "same_size": {}, "both": [{}], "keys": {:?}, "kinds": {:?}, "word": {word:?},
        "text": {}, "broken": {}, "slept": {has_slept}, "random": {has_random}, "too_long": {}, "parts": {},
        "broken_part": {}}}"#,
        String::from_utf8_lossy(&value),
        config::get("greeting").unwrap_or_default(),
        config::get("unknown").is_none(),
        clock::now() > 1_700_000_000_000,
        response.status(),
        response.header("Content-Type"),
        place?.status(),
        next?.status(),
        sizes[0] == sizes[1],
        both.collect::<Vec<_>>().join(", "),
        document.keys(),
        kinds.collect::<Vec<_>>(),
        items.text(),
        Document::parse("{").is_err(),
        random::bytes(65_537).is_err(),
        sent.text(),
        broken_part.is_some_and(|broken| broken.index == 0),
    )))
}

fn file() -> Result<Outcome, Fault> {
    Ok(Outcome::ReplyFile(File {
        content: Content::Response(send(get("/file"))?),
        file_name: "note.txt".to_owned(),
        content_type: "text/plain".to_owned(),
        members: r#"{"kind": "note"}"#.to_owned(),
        digest: true,
        max_bytes: 100,
    }))
}

fn fault(kind: &str) -> Fault {
    let explanation = || Explanation { detail: "An explanation.".to_owned(), members: Some(r#"{"a": 1}"#.to_owned()) };
    let detail = "A reason.".to_owned();
    match kind {
        "invalid-input" => Fault::InvalidInput(vec![Violation { pointer: "/kind".to_owned(), detail }]),
        "not-found" => Fault::NotFound(explanation()),
        "conflict" => Fault::Conflict(explanation()),
        "upstream" => Fault::Upstream(UpstreamFault {
            status: 429,
            detail,
            body: Some(r#"{"why": "busy"}"#.to_owned()),
            retry_after_seconds: Some(7),
        }),
        "http" => match http::send(get("/missing-host").for_unknown()) {
            Err(error) => Fault::Http(error),
            Ok(_) => Fault::Failed("an unknown upstream answered".to_owned()),
        },
        _ => Fault::Failed(detail),
    }
}

impl Request {
    fn for_unknown(self) -> Self {
        Self { upstream: "unknown".to_owned(), ..self }
    }
}

fn send(request: Request) -> Result<http::Response, Fault> {
    Ok(http::send(request)?)
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Http(error)
    }
}

fn stored(error: StorageError) -> Fault {
    Fault::Failed(format!("storage: {error:?}"))
}

fn member(document: &Document, pointer: &str) -> Result<Document, Fault> {
    document.pointer(pointer).ok_or_else(|| Fault::Failed(format!("nothing is at {pointer}")))
}

fn text(document: &Document, pointer: &str) -> String {
    document.pointer(pointer).and_then(|found| found.as_string()).unwrap_or_default()
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Boolean => "boolean",
        Kind::Number => "number",
        Kind::String => "string",
        Kind::Array => "array",
        Kind::Object => "object",
    }
}
