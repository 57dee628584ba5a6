//! Base URLs.

use contract_rules::address::base_url;
use contract_rules::limit::UPSTREAMS;
use serde_json::{Map, Value};

use crate::LeftOut;
use crate::document::{Document, text};
use crate::table::Upstream;

/// The URL if the document has no URL.
const UNKNOWN: &str = "https://api.example.com";

/// The upstreams that rows send requests to. The first one is the server of the document.
pub(crate) struct Servers {
    upstreams: Vec<Upstream>,
    has_first: bool,
    /// `true` if requests carry a credential, which is sent over TLS only.
    has_credential: bool,
    /// The URLs of the document that were replaced for this reason.
    without_tls: Vec<String>,
}

impl Servers {
    /// `has_credential` is `true` if requests carry a credential.
    pub(crate) fn new(document: &Document, has_credential: bool, left_out: &mut LeftOut) -> Self {
        let mut servers = Self { upstreams: Vec::new(), has_first: false, has_credential, without_tls: Vec::new() };
        let server = document.get("/servers/0");
        let url = server.map(|server| servers.url(server));
        let url = url.filter(|url| !url.is_empty() && base_url(url, []).is_ok());
        if url.is_none() {
            let found = server.map(|server| format!(" (it says `{}`)", text(server, "url"))).unwrap_or_default();
            left_out
                .add(format!("the document has no complete URL of a server{found}: replace `{UNKNOWN}` in the table"));
        }
        let base_url = url.unwrap_or_else(|| UNKNOWN.to_owned());
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

    /// What the table assumes about servers without TLS, a line each.
    pub(crate) fn assumed(&self) -> impl Iterator<Item = String> {
        self.without_tls.iter().map(|url| {
            format!(
                "the service is at `https{rest}`, because a gateway sends no credential to `{url}`; if it has no TLS, an operator sets \
                 the URL in the configuration (`connectors.….upstreams`)",
                rest = url.trim_start_matches("http")
            )
        })
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
        let mut url = text(server, "url").to_owned();
        for (name, variable) in server.get("variables").and_then(Value::as_object).into_iter().flatten() {
            url = url.replace(&format!("{{{name}}}"), text(variable, "default"));
        }
        let url = url.trim_end_matches('/').to_owned();
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
