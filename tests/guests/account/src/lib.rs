//! A connector whose users need accounts. What it says of their service is a JSON document written into the built module: tests
//! replace the text in `SERVICE`, so that one build yields a connector for every peculiarity a provider can have.
//!
//! Its operations call the service as the user and look for the credential wherever a connector can look.

mod operations;
mod scheme;

use serde_json::Value;

use self::bindings::gateway::connector::manifest::{Effect, Operation, RateLimit, Upstream};
use self::bindings::gateway::connector::outcome::{Fault, Outcome};
use self::bindings::{Guest, Manifest};

#[allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "generated from the contract")]
mod bindings {
    wit_bindgen::generate!({ path: "../../../wit", world: "connector", generate_all });

    use super::Account;
    export!(Account);
}

/// Bytes for the text, blanks included.
const SERVICE_BYTES: usize = 2048;

/// Padded with blanks; begins with `service=`.
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

/// The text as it stands in the module. The compiler may not know it.
#[expect(clippy::expect_used, reason = "a trap is the end of a broken test")]
fn service() -> Value {
    let bytes: &'static [u8; SERVICE_BYTES] = std::hint::black_box(&SERVICE);
    let text = std::str::from_utf8(bytes).ok().and_then(|text| text.strip_prefix("service="));
    text.and_then(|text| serde_json::from_str(text).ok()).expect("the test writes a JSON document")
}

struct Account;

impl Guest for Account {
    fn describe() -> Manifest {
        let service = service();
        Manifest {
            identifier: text(&service, "identifier").to_owned(),
            version: "1.0.0".to_owned(),
            title: "Account".to_owned(),
            description: String::new(),
            auth: scheme::of(&service),
            upstreams: ["api", "other"].map(upstream).into(),
            rate_limits: rate_limit(&service).into_iter().collect(),
            operations: operations::ALL
                .iter()
                .map(|(path, immediate, _)| operation(path, *immediate, &service))
                .collect(),
        }
    }

    fn invoke(operation: String, input: String) -> Result<Outcome, Fault> {
        let Some((_, _, run)) = operations::ALL.iter().find(|(path, _, _)| *path == operation) else {
            return Err(Fault::Failed(format!("there is no `{operation}`")));
        };
        let input = serde_json::from_str(&input).map_err(|error| Fault::Failed(error.to_string()))?;
        run(&input)
    }
}

fn upstream(name: &str) -> Upstream {
    Upstream {
        name: name.to_owned(),
        base_url: format!("https://{name}.example"),
        redirect_hosts: Vec::new(),
        pacing: None,
    }
}

/// The rate limit of the operation `composed`, if the test sets the number of calls in an hour.
fn rate_limit(service: &Value) -> Option<RateLimit> {
    let requests = u32::try_from(service["rate_limit"].as_u64()?).ok()?;
    Some(RateLimit { name: "calls".to_owned(), requests, period_seconds: 3600 })
}

fn operation(path: &str, immediate: bool, service: &Value) -> Operation {
    Operation {
        path: path.to_owned(),
        summary: path.replace('_', " "),
        description: String::new(),
        input_schema: r#"{"type": "object", "additionalProperties": true}"#.to_owned(),
        example: None,
        envelope: true,
        effect: Effect::Read,
        background: false,
        immediate,
        rate_limit: rate_limit(service).filter(|_| path == "composed").map(|limit| limit.name),
    }
}

/// A member that is text, or nothing.
fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}
