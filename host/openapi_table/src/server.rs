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
}

impl Servers {
    pub(crate) fn new(document: &Document, left_out: &mut LeftOut) -> Self {
        let server = document.get("/servers/0");
        let url = server.map(url).filter(|url| !url.is_empty() && base_url(url, []).is_ok());
        if url.is_none() {
            let found = server.map(|server| format!(" (it says `{}`)", text(server, "url"))).unwrap_or_default();
            left_out
                .add(format!("the document has no complete URL of a server{found}: replace `{UNKNOWN}` in the table"));
        }
        let base_url = url.unwrap_or_else(|| UNKNOWN.to_owned());
        Self { upstreams: vec![Upstream { name: "api".to_owned(), base_url }], has_first: false }
    }

    /// The upstream of an operation. An operation may name another server than the document.
    pub(crate) fn upstream_for(&mut self, item: &Map<String, Value>, operation: &Value) -> Result<String, String> {
        let own = operation.pointer("/servers/0").or_else(|| item.get("servers").and_then(|servers| servers.get(0)));
        let first = self.upstreams.first().map(|first| first.base_url.clone()).unwrap_or_default();
        let Some(url) = own.map(url).filter(|url| *url != first) else {
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

    /// The upstreams. The first one is included even if no row uses it, because it has the
    /// credential.
    pub(crate) fn into_upstreams(mut self) -> Vec<Upstream> {
        if !self.has_first && self.upstreams.len() > 1 {
            self.upstreams.remove(0);
        }
        self.upstreams
    }
}

/// The URL of a server, with the defaults of its variables, without a `/` at its end.
fn url(server: &Value) -> String {
    let mut url = text(server, "url").to_owned();
    for (name, variable) in server.get("variables").and_then(Value::as_object).into_iter().flatten() {
        url = url.replace(&format!("{{{name}}}"), text(variable, "default"));
    }
    url.trim_end_matches('/').to_owned()
}
