//! A connector whose users need accounts. A JSON document in the built module describes their
//! service: tests replace the text in `SERVICE`, so that one build gives a connector for each kind
//! of provider.
//!
//! Its operations call the service as the user, and look for the credential in every place that a
//! connector can read.

mod additions;
mod address;
mod operations;
mod scheme;

use serde_json::Value;

use self::bindings::gateway::connector::manifest::{
    Answer, CredentialUse, Effect, Imprint, Operation, RateLimit, Upstream,
};
use self::bindings::gateway::connector::outcome::{Fault, Outcome};
use self::bindings::{Guest, Manifest};

#[allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "generated from the contract")]
mod bindings {
    wit_bindgen::generate!({ path: "../../../wit", world: "connector", generate_all });

    use super::Account;
    export!(Account);
}

/// Size of the text with its padding.
const SERVICE_BYTES: usize = 2048;

/// The text. It begins with `service=` and is padded with spaces.
#[used]
static SERVICE: [u8; SERVICE_BYTES] = {
    let (text, mut padded, mut at) =
        (b"service={\"identifier\": \"account\", \"auth\": \"none\"}", [b' '; SERVICE_BYTES], 0);
    while at < text.len() {
        padded[at] = text[at];
        at += 1;
    }
    padded
};

/// Reads the document from the module. The compiler must not evaluate it, because tests replace the
/// text after the build.
#[expect(clippy::expect_used, reason = "a trap ends a test that wrote no JSON document")]
fn service() -> Value {
    let bytes: &'static [u8; SERVICE_BYTES] = std::hint::black_box(&SERVICE);
    let text = std::str::from_utf8(bytes).ok().and_then(|text| text.strip_prefix("service="));
    text.and_then(|text| serde_json::from_str(text).ok()).expect("the test writes a JSON document")
}

struct Account;

impl Guest for Account {
    fn describe() -> Manifest {
        let service = service();
        additions::declare(&service);
        address::declare(&service);
        Manifest {
            identifier: text(&service, "identifier").to_owned(),
            version: "1.0.0".to_owned(),
            title: "Account".to_owned(),
            description: String::new(),
            imprint: Imprint { license: "Apache-2.0".to_owned(), homepage: None, author: None, icon: None },
            auth: scheme::of(&service),
            upstreams: upstreams(&service),
            rate_limits: rate_limit(&service).into_iter().collect(),
            settings: Vec::new(),
            operations: operations::ALL.iter().map(|row| operation(row, &service)).collect(),
        }
    }

    fn invoke(operation: String, input: String) -> Result<Outcome, Fault> {
        let Some(row) = operations::ALL.iter().find(|row| row.path == operation) else {
            return Err(Fault::Failed(format!("there is no `{operation}`")));
        };
        let input = serde_json::from_str(&input).map_err(|error| Fault::Failed(error.to_string()))?;
        (row.run)(&input)
    }
}

/// `api` gets the credential in the standard form, `form` in a form field, and `other` gets no
/// credential.
fn upstreams(service: &Value) -> Vec<Upstream> {
    let upstream = |name: &str, base_url: &str, credential| Upstream {
        name: name.to_owned(),
        base_url: base_url.to_owned(),
        credential,
        link_hosts: scheme::texts(&service["link_hosts"]),
        pacing: None,
    };
    let (standard, form_field) = match text(service, "auth") {
        "api_key" if text(service, "placement") == "signature" => (CredentialUse::Standard, CredentialUse::None),
        "oauth2" | "api_key" => (CredentialUse::Standard, CredentialUse::FormField),
        _ => (CredentialUse::None, CredentialUse::None),
    };
    vec![
        upstream("api", service["base_url"].as_str().unwrap_or("https://api.example"), standard),
        upstream("form", "{api}/me", form_field),
        upstream("other", service["other_url"].as_str().unwrap_or("https://other.example"), CredentialUse::None),
    ]
}

/// The rate limit of the operations `composed` and `limited`, if the test sets the number of calls.
/// They are those in an hour, or in as many seconds as the test says.
fn rate_limit(service: &Value) -> Option<RateLimit> {
    let requests = u32::try_from(service["rate_limit"].as_u64()?).ok()?;
    let period_seconds =
        service["rate_period"].as_u64().and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or(3600);
    Some(RateLimit { name: "calls".to_owned(), requests, period_seconds })
}

fn operation(row: &operations::Row, service: &Value) -> Operation {
    Operation {
        path: row.path.to_owned(),
        summary: service["summary"].as_str().map_or_else(|| row.path.replace('_', " "), str::to_owned),
        description: String::new(),
        input_schema: operations::input_schema(row),
        example: None,
        envelope: true,
        effect: if service["destructive"] == row.path { Effect::Destructive } else { row.effect },
        answer: if row.path == "memory" { Answer::File } else { Answer::Any },
        answer_schema: None,
        answer_example: None,
        pagination: None,
        background: row.background,
        immediate: row.immediate,
        rate_limit: rate_limit(service).filter(|_| ["composed", "limited"].contains(&row.path)).map(|limit| limit.name),
    }
}

/// A member that is text. Empty if there is no such member.
fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}
