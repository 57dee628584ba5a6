//! The greeting on standard output: the address, the first key, and requests to try.

use std::io::{self, Write};

use serde_json::Value;

use config::Config;
use contract::AuthScheme;
use contract::words::printable;
use registry::Registry;
use store::ShownOnce;

/// A call that works without an account: an operation of a live connector, with the example of its
/// manifest.
struct ExampleCall {
    path: String,
    body: String,
}

/// Prints the greeting. The first key is printed here once, and never logged.
pub fn print(config: &Config, registry: &Registry, first_key: Option<&ShownOnce>) {
    let greeting = text(config.public_url.as_str(), first_key, example_call(registry).as_ref());
    let mut output = io::stdout();
    let Err(error) = output.write_all(printable(&greeting).as_bytes()).and_then(|()| output.flush()) else { return };
    match first_key {
        Some(_) => tracing::warn!(
            %error,
            "the first API key could not be written to standard output, and it is not shown again; make another one with \
             `connector-gateway keys create --name NAME --scope admin --scope operate --scope integrate`"
        ),
        None => tracing::warn!(%error, "the greeting could not be written to standard output"),
    }
}

fn text(public_url: &str, first_key: Option<&ShownOnce>, example: Option<&ExampleCall>) -> String {
    let address = public_url.trim_end_matches('/');
    let mut text = format!("Connector Gateway is at {address}\nIn a browser: {address}/docs\n");
    if let Some(key) = first_key {
        text += &format!("\nYour first API key, shown only now:\n\n  {}\n", key.shown());
    }
    let key = first_key.map_or_else(|| "$KEY".to_owned(), |key| key.shown().to_string());
    text += &format!("\nTry:\n\n  curl -s {address}/connectors -H \"Authorization: Bearer {key}\"\n");
    if let Some(ExampleCall { path, body }) = example {
        text += &format!(
            "\nThis operation calls its service, so it needs a network:\n\n  curl -s {address}{path} \\\n    -H \"Authorization: Bearer {key}\" -H 'Content-Type: application/json' \\\n    \
             -d '{}'\n",
            // Ends the quotes, adds a quoted quote, and begins the quotes again.
            body.replace('\'', r"'\''")
        );
    }
    text + "\n"
}

/// The first thin operation with an example, by the name of its connector, among connectors
/// without accounts. `None` if no such operation is live.
fn example_call(registry: &Registry) -> Option<ExampleCall> {
    let live = registry.live();
    let mut connectors: Vec<_> =
        live.values().filter(|connector| matches!(connector.manifest().auth, AuthScheme::None)).collect();
    connectors.sort_by_key(|connector| connector.name());
    connectors.into_iter().find_map(|connector| {
        let mut thin = connector.operations().filter(|operation| operation.manifest.immediate);
        thin.find_map(|operation| {
            let example: Value = serde_json::from_str(operation.manifest.example.as_deref()?).ok()?;
            let path = format!("/connectors/{}/{}", connector.name(), operation.manifest.path);
            Some(ExampleCall { path, body: example.to_string() })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_key_is_in_every_request_to_try() {
        let example = ExampleCall { path: "/connectors/a/b".to_owned(), body: r#"{"q":"it's"}"#.to_owned() };
        let text = text("http://127.0.0.1:8080/", Some(&"cgw_secret".to_owned().into()), Some(&example));
        let [list, operation] =
            ["Try:\n\n  curl -s http://127.0.0.1:8080/connectors ", "it needs a network:\n\n  curl"]
                .map(|words| text.find(words).unwrap_or_else(|| panic!("{words} in {text}")));
        assert!(list < operation, "the first request to try needs no network: {text}");
        assert!(text.starts_with("Connector Gateway is at http://127.0.0.1:8080\n"), "{text}");
        assert_eq!(text.matches("Bearer cgw_secret\"").count(), 2, "{text}");
        assert!(text.contains(r#"http://127.0.0.1:8080/connectors/a/b"#), "{text}");
        assert!(text.contains(r#"-d '{"q":"it'\''s"}'"#), "{text}");
    }

    #[test]
    fn without_a_first_key_the_shell_fills_the_callers_key_in() {
        let text = text("http://127.0.0.1:8080/", None, None);
        assert!(text.contains("\"Authorization: Bearer $KEY\""), "{text}");
        assert!(!text.contains("first API key") && !text.contains("-d '"), "{text}");
    }
}
