//! The recording upstream: a stand-in for all services of a connector. It records requests, and
//! answers as the specification of the method says.

use parking_lot::RwLock;
use serde_json::{Value, json};
use support::{Gate, Reply, Seen, arxiv};

use crate::generator::{Direction, Generator};
use crate::specifications::{Answer, Method};

/// Methods of DEX Screener whose document describes an item of the list that they answer with.
const LISTS: [&str; 4] = [
    "GET /token-profiles/latest/v1",
    "GET /token-profiles/recent-updates/v1",
    "GET /token-boosts/latest/v1",
    "GET /token-boosts/top/v1",
];

/// Host and path of a request to a stand-in. The base URL of each upstream is below a path that
/// begins with its host.
pub(crate) fn url(seen: &Seen) -> &str {
    let path = seen.path.strip_prefix(support::oauth::API).filter(|path| path.starts_with('/'));
    path.unwrap_or(&seen.path).trim_start_matches('/')
}

/// The way in which all services answer.
#[derive(Clone, Debug, Default)]
pub(crate) enum Condition {
    /// As their specifications say.
    #[default]
    Sound,
    /// With a page of HTML and the status 200.
    Page,
    /// With JSON that breaks off.
    CutOff,
    /// Not before the gate is open.
    Silent(Gate),
}

/// The condition of the services, which a test may change.
pub(crate) type Services = RwLock<Condition>;

/// An answer that a connector works with, where a generated one would not do; `None` if a generated
/// one does.
fn sample(method: &Method) -> Option<Value> {
    match method.names[0].as_str() {
        "docs.documents.get" => {
            let run = json!({"content": "x".repeat(1299) + "\n", "textStyle": {"bold": true}});
            let element = json!({"startIndex": 1, "endIndex": 1301, "textRun": run});
            let paragraph = json!({"elements": [element], "paragraphStyle": {"namedStyleType": "HEADING_1"}});
            let content = json!([
                {"endIndex": 1, "sectionBreak": {}},
                {"startIndex": 1, "endIndex": 1301, "paragraph": paragraph},
            ]);
            Some(json!({"documentId": "1aBcD", "revisionId": "r1", "body": {"content": content}}))
        }
        _ => None,
    }
}

/// An answer to a request.
pub(crate) fn answer(seen: &Seen, methods: &[Method], services: &Services) -> Reply {
    match &*services.read() {
        Condition::Sound => sound_answer(seen, methods),
        Condition::Page => Reply::typed("text/html", "<html><body>We are down for maintenance.</body></html>"),
        Condition::CutOff => Reply::cut_off("application/json", "{\"items\": [{\"id\": "),
        Condition::Silent(gate) => Reply::empty(200).behind(gate),
    }
}

fn sound_answer(seen: &Seen, methods: &[Method]) -> Reply {
    let url = url(seen);
    let method = methods.iter().find(|method| method.verb == seen.method && method.url.values(url).is_some());
    let Some(method) = method else { return unspecified_answer(url) };
    if let Some(sample) = sample(method) {
        return Reply::json(sample);
    }
    match &method.answer {
        Answer::Schema(schema) => {
            // Each query gets another answer, so that the calls of one operation show many answers.
            let mut generator = Generator::new(&format!("{} {url}?{}", seen.method, seen.query), Direction::Answer);
            let value = generator.value(schema, schema);
            let is_item = LISTS.contains(&method.names[0].as_str());
            Reply::json(if is_item { json!([value]) } else { value })
        }
        Answer::Sample(sample) => Reply::json(sample.clone()),
        Answer::File => Reply::typed("application/octet-stream", "bytes"),
        Answer::Empty => Reply::json(json!({"ok": true})),
    }
}

/// An answer of a service that has no machine-readable specification.
fn unspecified_answer(url: &str) -> Reply {
    match url {
        "export.arxiv.org/api/query" => {
            // The first paper has every element that arXiv may send, and the second one has few.
            arxiv::atom(arxiv::feed(2, 0, 2, &[arxiv::FULL_ENTRY.to_owned(), arxiv::numbered(0)]))
        }
        _ if url.starts_with("export.arxiv.org/pdf/") => Reply::typed("application/pdf", arxiv::PDF),
        _ => Reply::json(json!({"id": "1"})),
    }
}

/// A request on one line, as a person reads it.
pub(crate) fn shown(seen: &Seen) -> String {
    let query = if seen.query.is_empty() { String::new() } else { format!("?{}", seen.query) };
    let body: String = String::from_utf8_lossy(&seen.body).chars().take(300).collect();
    format!("{} {}{query} {body}", seen.method, url(seen)).trim_end().to_owned()
}
