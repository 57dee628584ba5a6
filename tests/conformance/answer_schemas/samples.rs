//! The answers of providers that others recorded or documented.

use std::path::Path;

use serde_json::Value;

use crate::specifications::{Method, documents};

/// The samples of X, which are named without their methods.
const OF_X: [(&str, &str); 14] = [
    ("tweet_resp", "GET /2/tweets/{id}"),
    ("tweets_resp", "GET /2/tweets"),
    ("search_tweets_for_nyc", "GET /2/tweets/search/recent"),
    ("search_tweets_query", "GET /2/tweets/search/recent"),
    ("tweets_counts_recent_resp", "GET /2/tweets/counts/recent"),
    ("tweet_quote_tweets_resp", "GET /2/tweets/{id}/quote_tweets"),
    ("create_tweet_resp", "POST /2/tweets"),
    ("me_resp", "GET /2/users/me"),
    ("user_resp", "GET /2/users/{id}"),
    ("users_resp", "GET /2/users"),
    ("search_users_resp", "GET /2/users/search"),
    ("timeline_tweets", "GET /2/users/{id}/tweets"),
    ("timeline_mentions", "GET /2/users/{id}/mentions"),
    ("timeline_reverse_chronological", "GET /2/users/{id}/timelines/reverse_chronological"),
];

/// The methods of DEX Screener that answer pairs, each with the member that has them.
const OF_DEX_SCREENER: [(&str, Option<&str>); 5] = [
    ("GET /latest/dex/pairs/{chainId}/{pairId}", Some("pairs")),
    ("GET /latest/dex/search", Some("pairs")),
    ("GET /latest/dex/tokens/{tokenAddresses}", Some("pairs")),
    ("GET /token-pairs/v1/{chainId}/{tokenAddress}", None),
    ("GET /tokens/v1/{chainId}/{tokenAddresses}", None),
];

/// The beginning of the addresses of Microsoft Graph.
const GRAPH: &str = "graph.microsoft.com/v1.0";

/// The samples of a folder with specifications.
pub(crate) struct Samples(Vec<Sample>);

struct Sample {
    request: Request,
    answer: Value,
}

/// The request that a sample is the answer to.
enum Request {
    /// Verb, host and path.
    Sent(String, String),
    /// The name of the method.
    Named(String),
}

impl Samples {
    /// Reads the samples of a folder.
    ///
    /// # Panics
    /// When a document is missing or is not what it should be.
    pub(crate) fn read(folder: &Path) -> Self {
        let mut samples = Vec::new();
        for (name, document) in documents(&folder.join("msgraph")) {
            match name.as_str() {
                "samples-graph-mocks" => samples.extend(mocks(&document)),
                "samples-from-docs" => samples.extend(document["pages"].as_array().unwrap().iter().flat_map(page)),
                _ => {}
            }
        }
        for (name, answer) in documents(&folder.join("x/samples")) {
            if let Some((_, method)) = OF_X.iter().find(|(file, _)| *file == name) {
                samples.push(Sample { request: Request::Named((*method).to_owned()), answer });
            }
        }
        for (name, document) in documents(&folder.join("slack/methods-current")) {
            for (case, example) in document["examples"].as_object().into_iter().flatten() {
                if case.starts_with("success") && example["example"]["ok"] == true {
                    let answer = example["example"].clone();
                    samples.push(Sample { request: Request::Named(name.clone()), answer });
                }
            }
        }
        for (name, document) in documents(&folder.join("dexscreener")) {
            if name == "samples-recorded" {
                samples.extend(OF_DEX_SCREENER.map(|(method, member)| {
                    let mut answer = document["pairs"].clone();
                    if let Some(member) = member {
                        answer = serde_json::json!({member: answer});
                    }
                    Sample { request: Request::Named(method.to_owned()), answer }
                }));
            }
        }
        Self(samples)
    }

    /// The answers to a method.
    pub(crate) fn of(&self, method: &Method) -> Vec<&Value> {
        let is_of = |sample: &&Sample| match &sample.request {
            Request::Sent(verb, url) => *verb == method.verb && method.url.values(url).is_some(),
            Request::Named(name) => method.names.contains(name),
        };
        self.0.iter().filter(is_of).map(|sample| &sample.answer).collect()
    }
}

/// The samples of a list of requests with their responses.
fn mocks(document: &Value) -> impl Iterator<Item = Sample> {
    document["mocks"].as_array().unwrap().iter().filter_map(|mock| {
        let (request, response) = (&mock["request"], &mock["response"]);
        let is_success = response["statusCode"].as_u64().is_none_or(|status| (200..300).contains(&status));
        sample(&request["method"], &request["exampleUrl"], &response["body"]).filter(|_| is_success)
    })
}

/// The samples of a page, on which a response is the answer to the request above it.
fn page(page: &Value) -> Vec<Sample> {
    let mut asked = None;
    let mut samples = Vec::new();
    for block in page["blocks"].as_array().unwrap() {
        if block["request"].is_string() {
            asked = Some((&block["request"], &block["url"]));
        } else if let (Some((verb, url)), true) = (asked, block["response"].as_u64().is_some_and(|status| status < 300))
        {
            samples.extend(sample(verb, url, &block["body"]));
        }
    }
    samples
}

fn sample(verb: &Value, url: &Value, answer: &Value) -> Option<Sample> {
    let url = url.as_str()?.split('?').next()?;
    let url = match url.strip_prefix("https://") {
        Some(url) => url.to_owned(),
        None => format!("{GRAPH}{url}"),
    };
    let is_document = answer.is_object() || answer.is_array();
    is_document.then(|| Sample {
        request: Request::Sent(verb.as_str().unwrap_or("GET").to_owned(), url),
        answer: answer.clone(),
    })
}
