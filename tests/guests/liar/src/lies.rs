//! Every lie, by its name.

use std::hint::black_box;

use crate::bindings::Manifest;
use crate::bindings::gateway::connector::http;
use crate::bindings::gateway::connector::manifest::{
    ApiKey, AuthScheme, ClientAuthentication, KeyHeader, KeyPlacement, Oauth2, Pacing,
};
use crate::{get, operation};

/// Makes the manifest what the lie says. A name that is none is a broken test, and no manifest at all.
#[expect(clippy::panic, reason = "a trap is one of the lies, and the end of a broken test")]
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
        "schema is no json" => schema(manifest, "{\"type\": \"object\""),
        "schema is no schema" => schema(manifest, r#"{"type": "object", "required": "word"}"#),
        "schema of a list" => schema(manifest, r#"{"type": "array"}"#),
        "schema of itself" => schema(manifest, r##"{"type": "object", "allOf": [{"$ref": "#"}]}"##),
        "schema from a file" => schema(manifest, r#"{"type": "object", "allOf": [{"$ref": "file:///etc/passwd"}]}"#),
        "schema from the network" => {
            schema(manifest, r#"{"type": "object", "allOf": [{"$ref": "http://127.0.0.1:9/schema"}]}"#)
        }
        "schema with huge pattern" => {
            schema(
                manifest,
                r#"{"type": "object", "properties": {"word": {"type": "string", "pattern": "((a{1000}){1000}){1000}"}}}"#,
            );
        }
        "schema with slow pattern" => {
            schema(manifest, r#"{"type": "object", "properties": {"word": {"type": "string", "pattern": "^(a+)+$"}}}"#);
        }
        "huge schema" => {
            let padding = "x".repeat(300 << 10);
            schema(manifest, &format!(r#"{{"type": "object", "description": "{padding}"}}"#));
        }
        "wrong example" => manifest.operations[0].example = Some(r#"{"word": 1}"#.to_owned()),
        "file as base url" => manifest.upstreams[0].base_url = "file:///etc".to_owned(),
        "user in base url" => manifest.upstreams[0].base_url = "https://user:password@api.example".to_owned(),
        "wildcard redirect host" => manifest.upstreams[0].redirect_hosts.push("*.example".to_owned()),
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
        "panic" => panic!("the guest panics while it describes itself"),
        "endless loop" => loop {
            black_box(0);
        },
        "call" => {
            if http::send(&get("/called-by-describe")).is_ok() {
                panic!("a request was sent while the guest described itself");
            }
        }
        other => panic!("there is no lie `{other}`"),
    }
}

fn schema(manifest: &mut Manifest, text: &str) {
    manifest.operations[0].input_schema = text.to_owned();
    manifest.operations[0].example = None;
}

fn key_in(header: &str) -> AuthScheme {
    let placement = KeyPlacement::Header(KeyHeader { name: header.to_owned(), prefix: String::new() });
    AuthScheme::ApiKey(ApiKey { placement, check: None })
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
        identity: None,
    })
}
