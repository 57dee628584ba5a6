//! A connector whose story is written into the built module: tests replace the text in `STORY`, so that one build yields
//! honest modules of several versions, and liars of every kind.

mod lies;

use serde_json::json;

use self::bindings::gateway::connector::http::{self, Credential, Method, Request};
use self::bindings::gateway::connector::manifest::{AuthScheme, Effect, Operation, RateLimit, Upstream};
use self::bindings::gateway::connector::outcome::{Fault, Outcome};
use self::bindings::{Guest, Manifest};

#[allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "generated from the contract")]
mod bindings {
    wit_bindgen::generate!({ path: "../../../wit", world: "connector", generate_all });

    use super::Liar;
    export!(Liar);
}

/// Padded with blanks; begins with `story=`. A lie's name, or `version=` and a version.
#[used]
static STORY: [u8; 48] = *b"story=version=1.0.0                             ";

/// The story as it stands in the module. The compiler may not know it.
fn story() -> &'static str {
    let bytes: &'static [u8; 48] = std::hint::black_box(&STORY);
    let text = std::str::from_utf8(bytes).unwrap_or_default().trim_end();
    text.strip_prefix("story=").unwrap_or_default()
}

struct Liar;

impl Guest for Liar {
    fn describe() -> Manifest {
        let mut manifest = honest(story().strip_prefix("version=").unwrap_or("1.0.0"));
        if !story().starts_with("version=") {
            lies::tell(story(), &mut manifest);
        }
        manifest
    }

    fn invoke(operation: String, _: String) -> Result<Outcome, Fault> {
        let version = || Outcome::Reply(json!({"version": story()}).to_string());
        match operation.as_str() {
            "version" | "version_at_once" => Ok(version()),
            // Begins on one version, and ends when the service has answered.
            "wait" => http::send(&get("/wait")).map(|_| version()).map_err(Fault::Http),
            "forward" => Ok(Outcome::Forward(get("/forward"))),
            other => Err(Fault::Failed(format!("there is no `{other}`"))),
        }
    }
}

fn get(path: &str) -> Request {
    Request {
        method: Method::Get,
        upstream: "api".to_owned(),
        path: path.to_owned(),
        headers: Vec::new(),
        body: None,
        credential: Credential::Standard,
    }
}

fn honest(version: &str) -> Manifest {
    Manifest {
        identifier: "liar".to_owned(),
        version: version.to_owned(),
        title: "Liar".to_owned(),
        description: String::new(),
        auth: AuthScheme::None,
        upstreams: vec![Upstream {
            name: "api".to_owned(),
            base_url: "http://api.example/v1".to_owned(),
            redirect_hosts: Vec::new(),
            pacing: None,
        }],
        rate_limits: vec![RateLimit { name: "some".to_owned(), requests: 3, period_seconds: 3600 }],
        operations: vec![
            operation("version", false, None),
            operation("version_at_once", true, Some("some")),
            operation("wait", false, None),
            operation("forward", true, None),
        ],
    }
}

fn operation(path: &str, immediate: bool, rate_limit: Option<&str>) -> Operation {
    Operation {
        path: path.to_owned(),
        summary: path.replace('_', " "),
        description: String::new(),
        input_schema:
            r#"{"type": "object", "additionalProperties": false, "properties": {"word": {"type": "string"}}}"#
                .to_owned(),
        example: Some("{}".to_owned()),
        envelope: true,
        effect: Effect::Read,
        background: false,
        immediate,
        rate_limit: rate_limit.map(str::to_owned),
    }
}
