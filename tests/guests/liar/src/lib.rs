//! A connector whose manifest depends on a text in the built module. Tests replace the text in
//! `STORY`, so that one build gives modules with honest manifests of several versions, and modules
//! with wrong manifests.

mod lies;

use serde_json::json;

use self::bindings::gateway::connector::http::{self, Method, Request, Target};
use self::bindings::gateway::connector::manifest::{
    Answer, AuthScheme, CredentialUse, Effect, Imprint, Operation, RateLimit, Setting, Upstream,
};
use self::bindings::gateway::connector::outcome::{Fault, Outcome};
use self::bindings::gateway::connector::row_additions::make_request;
use self::bindings::{Guest, Manifest};

#[allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "generated from the contract")]
mod bindings {
    wit_bindgen::generate!({ path: "../../../wit", world: "connector", generate_all });

    use super::Liar;
    export!(Liar);
}

/// The text. It begins with `story=`, then has the name of a lie, or `version=` and a version. It
/// is padded with spaces.
#[used]
static STORY: [u8; 48] = *b"story=version=1.0.0                             ";

/// Reads the story from the module. The compiler must not evaluate it, because tests replace the
/// text after the build.
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
        if story() == "request" {
            return make_request().map(Outcome::Forward);
        }
        let version = || Outcome::Reply(json!({"version": story()}).to_string());
        match operation.as_str() {
            "version" | "version_at_once" => Ok(version()),
            // A test swaps the module while this call waits for the service.
            "wait" => http::send(get("/wait")).map(|_| version()).map_err(Fault::Http),
            "forward" => Ok(Outcome::Forward(get("/forward"))),
            other => Err(Fault::Failed(format!("there is no `{other}`"))),
        }
    }
}

fn get(path: &str) -> Request {
    Request {
        method: Method::Get,
        upstream: "api".to_owned(),
        target: Target::Path(path.to_owned()),
        headers: Vec::new(),
        body: None,
        omit_credential: false,
    }
}

fn honest(version: &str) -> Manifest {
    Manifest {
        identifier: "liar".to_owned(),
        version: version.to_owned(),
        title: "Liar".to_owned(),
        description: String::new(),
        imprint: Imprint { license: "Apache-2.0".to_owned(), homepage: None, author: None, icon: None },
        auth: AuthScheme::None,
        upstreams: vec![Upstream {
            name: "api".to_owned(),
            base_url: "https://api.example/v1".to_owned(),
            credential: CredentialUse::Standard,
            link_hosts: Vec::new(),
            pacing: None,
        }],
        rate_limits: vec![RateLimit { name: "some".to_owned(), requests: 3, period_seconds: 3600 }],
        settings: vec![Setting {
            name: "organization".to_owned(),
            schema: r#"{"type": "string"}"#.to_owned(),
            default: None,
            documentation: String::new(),
        }],
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
        answer: Answer::Json,
        answer_schema: None,
        answer_example: None,
        pagination: None,
        background: false,
        immediate,
        rate_limit: rate_limit.map(str::to_owned),
    }
}
