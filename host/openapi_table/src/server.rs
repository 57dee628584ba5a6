//! Base URLs.

use contract_rules::address::base_url;
use contract_rules::limit::UPSTREAMS;
use serde_json::{Map, Value};
use url::Url;

use crate::LeftOut;
use crate::document::{Document, text};
use crate::table::Upstream;

/// The URL if the document has no URL.
const UNKNOWN: &str = "https://api.example.com";

/// The advice for a service that is elsewhere.
const OTHERWISE: &str = "an operator sets another URL in the configuration (`connectors.….upstreams`)";

/// The upstreams that rows send requests to. The first one is the server of the document.
pub(crate) struct Servers {
    upstreams: Vec<Upstream>,
    has_first: bool,
    /// `true` if requests carry a credential, which is sent over TLS only.
    has_credential: bool,
    /// The URLs of the document that were replaced for this reason.
    without_tls: Vec<String>,
    /// The servers of the document that the table takes, a line each.
    choices: Vec<String>,
}

impl Servers {
    /// `has_credential` is `true` if requests carry a credential.
    pub(crate) fn new(document: &Document, has_credential: bool, left_out: &mut LeftOut) -> Self {
        let mut servers = Self {
            upstreams: Vec::new(),
            has_first: false,
            has_credential,
            without_tls: Vec::new(),
            choices: Vec::new(),
        };
        let server = document.get("/servers/0");
        let url = server.map(|server| servers.url(server));
        let url = url.filter(|url| !url.is_empty() && base_url(url, []).is_ok());
        if url.is_none() {
            let found = server.map(|server| format!(" (it says `{}`)", text(server, "url"))).unwrap_or_default();
            left_out
                .add(format!("the document has no complete URL of a server{found}: replace `{UNKNOWN}` in the table"));
        }
        let base_url = url.unwrap_or_else(|| UNKNOWN.to_owned());
        let others = document.get("/servers").and_then(Value::as_array).into_iter().flatten().skip(1);
        let others: Vec<String> = others.map(|server| format!("`{}`", text(server, "url"))).collect();
        if !others.is_empty() {
            servers.choices.push(format!(
                "the service is at `{base_url}`, the first server of the document; {OTHERWISE} for {}",
                others.join(", ")
            ));
        }
        servers.upstreams.push(Upstream { name: "api".to_owned(), base_url });
        servers
    }

    /// The upstream of an operation. An operation may name another server than the document.
    pub(crate) fn upstream_for(&mut self, item: &Map<String, Value>, operation: &Value) -> Result<String, String> {
        let own = operation.pointer("/servers/0").or_else(|| item.get("servers").and_then(|servers| servers.get(0)));
        let own = own.map(|server| self.url(server));
        let first = self.upstreams.first().map(|first| first.base_url.clone()).unwrap_or_default();
        let Some(url) = own.filter(|url| *url != first) else {
            self.has_first = true;
            return Ok("api".to_owned());
        };
        if let Some(known) = self.upstreams.iter().find(|known| known.base_url == url) {
            return Ok(known.name.clone());
        }
        base_url(&url, []).map_err(|broken| format!("the URL of its server: {broken}"))?;
        if self.upstreams.len() == UPSTREAMS {
            return Err(format!("it has a separate server, and a connector has at most {UPSTREAMS} upstreams"));
        }
        let name = format!("api_{}", self.upstreams.len() + 1);
        self.upstreams.push(Upstream { name: name.clone(), base_url: url });
        Ok(name)
    }

    /// The assumptions of the table about servers, a line each.
    pub(crate) fn assumed(&self) -> impl Iterator<Item = String> {
        let without_tls = self.without_tls.iter().map(|url| {
            format!(
                "the service is at `https{rest}`, because a gateway sends no credential to `{url}`; if it has no TLS, an operator sets \
                 the URL in the configuration (`connectors.….upstreams`)",
                rest = url.trim_start_matches("http")
            )
        });
        without_tls.chain(self.choices.iter().cloned())
    }

    /// The upstreams. The first one is included even if no row uses it, because it has the
    /// credential.
    pub(crate) fn into_upstreams(mut self) -> Vec<Upstream> {
        if !self.has_first && self.upstreams.len() > 1 {
            self.upstreams.remove(0);
        }
        self.upstreams
    }

    /// The URL of a server, with the defaults of its variables, without a `/` at its end. It is
    /// `https` if requests carry a credential, because a gateway refuses a module with another URL.
    fn url(&mut self, server: &Value) -> String {
        let url = filled(server, &mut self.choices).trim_end_matches('/').to_owned();
        match url.strip_prefix("http://").filter(|_| self.has_credential) {
            None => url,
            Some(rest) => {
                let secure = format!("https://{rest}");
                if !self.without_tls.contains(&url) {
                    self.without_tls.push(url);
                }
                secure
            }
        }
    }
}

/// The URL of a server with values for its variables: the default, or else the first of the values.
/// A variable without both stays in the URL. Adds a line to `choices` for each variable with other
/// values.
fn filled(server: &Value, choices: &mut Vec<String>) -> String {
    let mut url = text(server, "url").to_owned();
    for (name, variable) in server.get("variables").and_then(Value::as_object).into_iter().flatten() {
        let values: Vec<String> =
            variable.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(scalar).collect();
        let default = variable.get("default").and_then(scalar).or_else(|| values.first().cloned());
        let (place, Some(default)) = (format!("{{{name}}}"), default) else { continue };
        if !url.contains(&place) {
            continue;
        }
        url = url.replace(&place, &default);
        let others: Vec<String> =
            values.iter().filter(|value| **value != default).map(|value| format!("`{value}`")).collect();
        let line = match others.as_slice() {
            [] => format!("`{name}` in the URL of the server is `{default}`; {OTHERWISE}"),
            others => {
                format!("`{name}` in the URL of the server is `{default}`; {OTHERWISE} for {}", others.join(", "))
            }
        };
        if !choices.contains(&line) {
            choices.push(line);
        }
    }
    url
}

/// The text of a value that YAML may read as a number, such as a port.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The URL that relative URLs of a document are relative to: the one of its first server.
pub(crate) fn base(document: &Document) -> Option<Url> {
    Url::parse(&filled(document.get("/servers/0")?, &mut Vec::new())).ok()
}
