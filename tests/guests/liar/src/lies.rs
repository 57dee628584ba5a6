//! The lies, each with its name.

use std::hint::black_box;

use crate::bindings::Manifest;
use crate::bindings::gateway::connector::http;
use crate::bindings::gateway::connector::manifest::{
    ApiKey, AuthScheme, ClientAuthentication, CredentialUse, KeyHeader, KeyPlacement, NextPage, Oauth2, Operation,
    Pacing, Pagination,
};
use crate::bindings::gateway::connector::page_additions::declare_last_item;
use crate::bindings::gateway::connector::row_additions::{
    BodyEncoding, Field, Header, Lists, Location, PathEncoding, Row, Trigger as HeaderTrigger, declare_request,
    declare_row,
};
use crate::bindings::gateway::connector::trigger_additions::{declare_inbox, declare_trigger};
use crate::bindings::gateway::connector::trigger_types::{Check, Inbox, InboxScope, Place, Trigger, TriggerSource};
use crate::{get, operation};

/// Changes the manifest as the lie says. An unknown name is a mistake in a test, so it panics.
#[expect(clippy::panic, reason = "a panic is one of the lies, and it ends a test that names an unknown lie")]
pub(crate) fn tell(lie: &str, manifest: &mut Manifest) {
    match lie {
        "other identifier" => manifest.identifier = "dex_market_data".to_owned(),
        "path as identifier" => manifest.identifier = "../liar".to_owned(),
        "no version" => manifest.version.clear(),
        "huge description" => manifest.description = "x".repeat(1 << 20),
        "no operations" => manifest.operations.clear(),
        "many operations" => {
            manifest.operations =
                (0..600).map(|number| operation(&format!("operation_{number}"), false, None)).collect();
        }
        "same operation twice" => manifest.operations.push(operation("version", false, None)),
        "reserved path" => manifest.operations.push(operation("integrations", false, None)),
        "slash in path" => manifest.operations.push(operation("a/b", false, None)),
        "unknown rate limit" => manifest.operations.push(operation("limited", false, Some("none"))),
        "empty rate limit" => manifest.rate_limits[0].requests = 0,
        "row" => declare("version", "api", "/words/{word}", None),
        "row of no operation" => declare("other", "api", "/words/{word}", None),
        "row of another upstream" => declare("version", "elsewhere", "/words/{word}", None),
        "row of another host" => declare("version", "api", "//evil.example/{word}", None),
        "row that climbs" => declare("version", "api", "/%2e%2e/{word}", None),
        "row of an unknown field" => declare("version", "api", "/words/{word}/{other}", None),
        "row with a credential" => declare("version", "api", "/words/{word}", Some(("Authorization", "Bearer x"))),
        "row with a line break" => declare("version", "api", "/words/{word}", Some(("X-Word", "a\r\nHost: b"))),
        "row with an unknown setting" => declare("version", "api", "/words/{word}", Some(("X-Word", "{settings.x}"))),
        "row that reads with a body" => {
            let body = Some(r#"{"word": "sea"}"#.to_owned());
            declare_row("version", &Row { fixed_body: body, ..words("api", "/words/{word}", None) });
        }
        "row that changes what it reads" => {
            declare_row("version", &Row { method: http::Method::Put, ..words("api", "/words/{word}", None) });
        }
        "row with a line break in a name" => declare_parameter("/words", "q\nsigned by acme"),
        "row that sends a parameter twice" => declare_parameter("/words?q=sea", "q"),
        "row with an unknown trigger" => {
            let when = vec![HeaderTrigger { parameter: "q".to_owned(), unless: None }];
            let header = Header { name: "X-Word".to_owned(), value: "1".to_owned(), when };
            declare_row("version", &Row { headers: vec![header], ..words("api", "/words/{word}", None) });
        }
        "huge row" => declare("version", "api", &format!("/{}/{{word}}", "x".repeat(70 << 10)), None),
        "request" => {
            declare_request("version", &words("api", "/words/{word}", None));
            declare_request("version_at_once", &words("api", "/words/{word}", None));
            declare_request("forward", &form());
        }
        "request of another upstream" => declare_request("version", &words("elsewhere", "/words/{word}", None)),
        "request and row" => {
            declare("version", "api", "/words/{word}", None);
            declare_request("version", &words("api", "/words/{word}", None));
        }
        "row twice" => {
            declare("version", "api", "/words/{word}", None);
            declare("version", "api", "/words/{word}", None);
        }
        "last item without pages" => declare_last_item("version", Some("/has_more")),
        "cursor" => pages(manifest),
        "last item" => {
            pages(manifest);
            declare_last_item("version", Some("/has_more"));
        }
        "trigger" => events(manifest, |_, _| {}),
        "trigger of no operation" => events(manifest, |_, trigger| trigger.read = Some("other".to_owned())),
        "trigger of an operation for callers" => {
            events(manifest, |_, trigger| trigger.read = Some("version".to_owned()));
        }
        "trigger with open parameters" => {
            events(manifest, |_, trigger| trigger.parameters = r#"{"type": "object"}"#.to_owned());
        }
        "trigger with a wrong example" => events(manifest, |_, trigger| trigger.example = "7".to_owned()),
        "trigger of an unknown inbox" => events(manifest, |_, trigger| trigger.inboxes = vec!["other".to_owned()]),
        "inbox without checks" => events(manifest, |inbox, _| inbox.checks.clear()),
        "inbox with an unsigned body" => {
            events(manifest, |inbox, _| inbox.checks = vec![Check::Token(Place::BodyHash)]);
        }
        "schema is no json" => schema(manifest, "{\"type\": \"object\""),
        "schema is no schema" => {
            schema(manifest, r#"{"type": "object", "additionalProperties": false, "required": "word"}"#);
        }
        "schema of a list" => schema(manifest, r#"{"type": "array"}"#),
        "schema of itself" => {
            schema(
                manifest,
                r##"{"type": "object", "additionalProperties": false, "properties": {"word": {}}, "allOf": [{"$ref": "#"}]}"##,
            );
        }
        "schema from a file" => word_schema(manifest, r#"{"$ref": "file:///etc/passwd"}"#),
        "schema from the network" => word_schema(manifest, r#"{"$ref": "http://127.0.0.1:9/schema"}"#),
        "schema with huge pattern" => {
            word_schema(manifest, r#"{"type": "string", "pattern": "((a{1000}){1000}){1000}"}"#);
        }
        "schema with many patterns" => {
            let patterns: Vec<String> =
                (0..200).map(|number| format!(r#"{{"pattern":"\\w{{900}}{number}"}}"#)).collect();
            word_schema(manifest, &format!(r#"{{"allOf": [{}]}}"#, patterns.join(",")));
        }
        "schema of doubling references" => schema(manifest, &doubling_references(60)),
        "schemas without end" => {
            let padding = "x".repeat(50 << 10);
            let text = format!(r#"{{"type": "object", "additionalProperties": false, "description": "{padding}"}}"#);
            for number in 0..500 {
                manifest.operations.push(operation(&format!("operation_{number}"), false, None));
                manifest.operations[4 + number].input_schema.clone_from(&text);
            }
        }
        "schema with many branches" => {
            let branches: Vec<String> = (0..2000).map(|number| format!(r#"{{"const": {number}}}"#)).collect();
            word_schema(manifest, &format!(r#"{{"items": {{"anyOf": [{}]}}}}"#, branches.join(",")));
        }
        "many long paths" => {
            let path = "/x".repeat(30 << 10);
            manifest.operations = (0..200).map(|_| operation(&path, false, None)).collect();
        }
        "schema with slow pattern" => word_schema(manifest, r#"{"type": "string", "pattern": "^(a+)+$"}"#),
        "huge schema" => {
            let padding = "x".repeat(300 << 10);
            let text = format!(r#"{{"type": "object", "additionalProperties": false, "description": "{padding}"}}"#);
            schema(manifest, &text);
        }
        "open schema" => schema(manifest, r#"{"type": "object", "properties": {"word": {"type": "string"}}}"#),
        "answer schema is no json" => manifest.operations[0].answer_schema = Some("{".to_owned()),
        "pages into an unknown member" => {
            manifest.operations[0].pagination = Some(Pagination {
                items: "/items".to_owned(),
                next: NextPage::PageNumber(1),
                input: "/page".to_owned(),
            });
        }
        "answer schema is no schema" => {
            manifest.operations[0].answer_schema = Some(r#"{"type": "text"}"#.to_owned());
        }
        "answer example is no json" => manifest.operations[0].answer_example = Some("{".to_owned()),
        "wrong answer example" => {
            manifest.operations[0].answer_schema = Some(r#"{"type": "object"}"#.to_owned());
            manifest.operations[0].answer_example = Some("7".to_owned());
        }
        "setting schema is no schema" => manifest.settings[0].schema = r#"{"type": "text"}"#.to_owned(),
        "setting schema from a file" => {
            manifest.settings[0].schema = r#"{"$ref": "file:///etc/passwd"}"#.to_owned();
        }
        "huge setting schema" => {
            manifest.settings[0].schema = format!(r#"{{"description": "{}"}}"#, "x".repeat(17 << 10));
        }
        "setting schema is no json" => manifest.settings[0].schema = "{".to_owned(),
        "setting with wrong default" => manifest.settings[0].default = Some("7".to_owned()),
        "same setting twice" => manifest.settings.push(manifest.settings[0].clone()),
        "line break in the title" => manifest.title = "Liar\n  credential  upstream `api`: none".to_owned(),
        "escape in the author" => manifest.imprint.author = Some("\u{1b}[2Jsomebody else".to_owned()),
        "huge icon" => manifest.imprint.icon = Some(format!("<svg>{}</svg>", "x".repeat(17 << 10))),
        "icon is no svg" => manifest.imprint.icon = Some("<html></html>".to_owned()),
        "homepage without tls" => manifest.imprint.homepage = Some("http://example.com".to_owned()),
        "wrong example" => manifest.operations[0].example = Some(r#"{"word": 1}"#.to_owned()),
        "file as base url" => manifest.upstreams[0].base_url = "file:///etc".to_owned(),
        "user in base url" => manifest.upstreams[0].base_url = "https://user:password@api.example".to_owned(),
        "wildcard redirect host" => manifest.upstreams[0].link_hosts.push("*.example".to_owned()),
        "wildcard of a public suffix" => manifest.upstreams[0].link_hosts.push("*.co.uk".to_owned()),
        "line break in the form field" => {
            manifest.auth = key_in_form("token\n  reaches     nothing");
        }
        "form field without a name" => manifest.upstreams[0].credential = CredentialUse::FormField,
        "no concurrency" => {
            manifest.upstreams[0].pacing = Some(Pacing { interval_ms: 1, concurrency: 0, max_wait_ms: 1 });
        }
        "oauth2" => manifest.auth = oauth2("https://accounts.example/authorize", "https://accounts.example/token"),
        "token url elsewhere" => {
            manifest.auth = oauth2("https://accounts.example/authorize", "https://thief.invalid/token")
        }
        "token url without tls" => {
            manifest.auth = oauth2("https://accounts.example/authorize", "http://accounts.example/token")
        }
        "key in the host header" => manifest.auth = key_in("Host"),
        "key in a header that frames" => manifest.auth = key_in("content-length"),
        "key in no header" => manifest.auth = key_in("X Key"),
        "key tested with a required field" => {
            schema(
                manifest,
                r#"{"type": "object", "additionalProperties": false, "properties": {"word": {}}, "required": ["word"]}"#,
            );
            manifest.auth = key_tested_by("version");
        }
        "panic" => panic!("the guest panics while it describes itself"),
        "endless loop" => loop {
            black_box(0);
        },
        "call" => {
            if http::send(get("/called-by-describe")).is_ok() {
                panic!("a request was sent while the guest described itself");
            }
        }
        other => panic!("there is no lie `{other}`"),
    }
}

/// Declares an inbox, and a type of events that an operation reads. `change` makes them a lie.
fn events(manifest: &mut Manifest, change: impl FnOnce(&mut Inbox, &mut Trigger)) {
    let mut inbox = Inbox {
        name: "words".to_owned(),
        scope: InboxScope::Subscription,
        checks: vec![Check::Token(Place::Header("X-Token".to_owned()))],
        handshakes: Vec::new(),
        decode: None,
        items: None,
        id: vec![Place::Pointer("/id".to_owned())],
        kind: vec![Place::Pointer("/kind".to_owned())],
        data: String::new(),
        time: None,
        accounts: Vec::new(),
        visibility: None,
        ignored: Vec::new(),
        lifecycle: Vec::new(),
        max_body: 1 << 20,
    };
    let mut trigger = Trigger {
        name: "word_added".to_owned(),
        title: "Word added".to_owned(),
        description: String::new(),
        parameters: r#"{"type": "object", "properties": {}, "additionalProperties": false}"#.to_owned(),
        payload: r#"{"type": "object"}"#.to_owned(),
        example: r#"{"word": "sea"}"#.to_owned(),
        source: TriggerSource::Read,
        kinds: Vec::new(),
        scopes: Vec::new(),
        inboxes: vec!["words".to_owned()],
        key: Vec::new(),
        conditions: Vec::new(),
        subscribe: Some("words_watch".to_owned()),
        renew: None,
        unsubscribe: None,
        read: Some("words_read".to_owned()),
        recover: None,
        identify: None,
        requires_setting: None,
        lifetime_seconds: None,
        poll_seconds: 300,
    };
    change(&mut inbox, &mut trigger);
    declare_inbox(&inbox);
    declare_trigger(&trigger);
    for name in ["words_watch", "words_read"] {
        manifest.operations.push(Operation { envelope: false, ..operation(name, false, None) });
    }
}

/// The schema of an object whose only member is `word`.
fn word_schema(manifest: &mut Manifest, word: &str) {
    let text = format!(r#"{{"type": "object", "additionalProperties": false, "properties": {{"word": {word}}}}}"#);
    schema(manifest, &text);
}

fn schema(manifest: &mut Manifest, text: &str) {
    manifest.operations[0].input_schema = text.to_owned();
    manifest.operations[0].example = None;
}

/// Declares an operation that is one request, with the word in its path.
fn declare(operation: &str, upstream: &str, path: &str, header: Option<(&str, &str)>) {
    declare_row(operation, &words(upstream, path, header));
}

/// Declares a row that sends the word as a parameter.
fn declare_parameter(path: &str, name: &str) {
    let word = word(Location::Query(name.to_owned()));
    declare_row("version", &Row { fields: vec![word], ..words("api", path, None) });
}

/// Divides the answer of an operation into pages. A query parameter takes the next one.
fn pages(manifest: &mut Manifest) {
    manifest.operations[0].pagination = Some(Pagination {
        items: "/data".to_owned(),
        next: NextPage::Cursor("/id".to_owned()),
        input: "/word".to_owned(),
    });
    let word = Field { required: false, ..word(Location::Query("starting_after".to_owned())) };
    declare_row("version", &Row { fields: vec![word], ..words("api", "/charges", None) });
}

fn word(location: Location) -> Field {
    Field {
        name: "word".to_owned(),
        location,
        required: true,
        integer: false,
        lists: Lists::AsTheyAre,
        max_bytes: None,
        default: None,
        nullable: false,
    }
}

/// A row that sends the word in a form with files.
fn form() -> Row {
    Row {
        method: http::Method::Post,
        fields: vec![word(Location::Body(vec!["word".to_owned()]))],
        encoding: BodyEncoding::Multipart,
        ..words("api", "/forms", None)
    }
}

fn words(upstream: &str, path: &str, header: Option<(&str, &str)>) -> Row {
    let header =
        header.map(|(name, value)| Header { name: name.to_owned(), value: value.to_owned(), when: Vec::new() });
    Row {
        method: http::Method::Get,
        upstream: upstream.to_owned(),
        path: path.to_owned(),
        fields: vec![word(Location::Path(PathEncoding::Segment))],
        default_query: Vec::new(),
        headers: header.into_iter().collect(),
        fixed_body: None,
        encoding: BodyEncoding::Json,
    }
}

fn key_in(header: &str) -> AuthScheme {
    let placement = KeyPlacement::Header(KeyHeader { name: header.to_owned(), prefix: String::new() });
    AuthScheme::ApiKey(ApiKey { placement, form_field: None, check: None })
}

fn key_tested_by(operation: &str) -> AuthScheme {
    let placement = KeyPlacement::Query("key".to_owned());
    AuthScheme::ApiKey(ApiKey { placement, form_field: None, check: Some(operation.to_owned()) })
}

fn key_in_form(field: &str) -> AuthScheme {
    let placement = KeyPlacement::Query("key".to_owned());
    AuthScheme::ApiKey(ApiKey { placement, form_field: Some(field.to_owned()), check: None })
}

fn oauth2(authorization_url: &str, token_url: &str) -> AuthScheme {
    AuthScheme::Oauth2(Oauth2 {
        provider: "example".to_owned(),
        authorization_url: authorization_url.to_owned(),
        token_url: token_url.to_owned(),
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
    })
}

/// A schema in which each of the levels refers to the next one twice.
fn doubling_references(levels: usize) -> String {
    let definitions: Vec<String> = (0..levels)
        .map(|level| {
            let next = format!(r##"{{"$ref": "#/$defs/level{}"}}"##, level + 1);
            format!(r#""level{level}": {{"allOf": [{next}, {next}]}}"#)
        })
        .collect();
    format!(
        r##"{{"type": "object", "additionalProperties": false, "$ref": "#/$defs/level0", "$defs": {{{}, "level{levels}": {{}}}}}}"##,
        definitions.join(", ")
    )
}
