//! What a manifest must be before anything is granted by it.

use std::collections::HashSet;

use url::Url;

use crate::sandbox::manifest::{AuthScheme, Manifest, Operation, Revocation, Upstream};

const MAX_UPSTREAMS: usize = 16;
const MAX_RATE_LIMITS: usize = 64;
const MAX_OPERATIONS: usize = 512;
const MAX_NAME_BYTES: usize = 64;
const MAX_SCHEMA_BYTES: usize = 256 << 10;
const MAX_TEXT_BYTES: usize = 64 << 10;

/// Paths under `/connectors/{connector}/` that are the gateway's own.
const RESERVED_PATHS: [&str; 4] = ["integrations", "integration-exists", "auth-schema", "success-authorize-callback"];

/// Checks a manifest against the rules that `wit/connector.wit` states.
///
/// # Errors
/// Every rule that it breaks, each as a sentence for its author.
pub(super) fn check(manifest: &Manifest) -> Result<(), Vec<String>> {
    let mut wrong = Vec::new();
    if !is_identifier(&manifest.identifier) {
        wrong.push(format!(
            "identifier `{}`: 1 to 64 of a-z, 0-9 and _, beginning with a letter",
            shorten(&manifest.identifier)
        ));
    }
    if manifest.version.is_empty() || manifest.version.len() > MAX_NAME_BYTES {
        wrong.push("version: 1 to 64 characters".to_owned());
    }
    if manifest.title.len() > MAX_TEXT_BYTES || manifest.description.len() > MAX_TEXT_BYTES {
        wrong.push("title, description: at most 64 KiB".to_owned());
    }
    names(&manifest.upstreams, MAX_UPSTREAMS, "upstream", |upstream| &upstream.name, &mut wrong);
    for (index, upstream) in manifest.upstreams.iter().enumerate() {
        check_upstream(upstream, manifest.upstreams.get(..index).unwrap_or_default(), &mut wrong);
    }
    let limits = names(&manifest.rate_limits, MAX_RATE_LIMITS, "rate limit", |limit| &limit.name, &mut wrong);
    for limit in &manifest.rate_limits {
        if limit.requests == 0 || limit.period_seconds == 0 {
            wrong.push(format!("rate limit `{}`: requests and period-seconds are at least 1", limit.name));
        }
    }
    if manifest.operations.is_empty() {
        wrong.push("operations: at least one".to_owned());
    }
    let operations = names(&manifest.operations, MAX_OPERATIONS, "operation", |operation| &operation.path, &mut wrong);
    for operation in &manifest.operations {
        check_operation(operation, &limits, &mut wrong);
    }
    check_auth(&manifest.auth, &operations, &mut wrong);
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// Whether a name can stand in the path: 1 to 64 of a-z, 0-9 and _, beginning with a letter.
pub fn is_identifier(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

fn is_path(path: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&path.len())
        && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Checks that names are there, few enough and not repeated, and gives them back.
fn names<'a, T>(
    items: &'a [T],
    most: usize,
    what: &str,
    name: impl Fn(&'a T) -> &'a String,
    wrong: &mut Vec<String>,
) -> HashSet<&'a str> {
    if items.len() > most {
        wrong.push(format!("{} {what}s: at most {most}", items.len()));
    }
    let mut seen = HashSet::new();
    for item in items {
        let name = name(item).as_str();
        if !is_path(name) {
            wrong.push(format!("{what} `{}`: 1 to 64 of a-z, A-Z, 0-9, _ and -", shorten(name)));
        }
        if !seen.insert(name) {
            wrong.push(format!("{what} `{name}` stands twice"));
        }
    }
    seen
}

/// The upstream below which a base URL such as `{api}/me` lies, and the path from there.
pub(super) fn below(base_url: &str) -> Option<(&str, &str)> {
    base_url.strip_prefix('{')?.split_once('}')
}

fn check_upstream(upstream: &Upstream, earlier: &[Upstream], wrong: &mut Vec<String>) {
    let base_url = match below(&upstream.base_url) {
        None => upstream.base_url.clone(),
        Some((name, path)) => {
            if !path.starts_with('/') || !earlier.iter().any(|known| known.name == name) {
                wrong.push(format!(
                    "upstream `{}`: base-url is the name of an upstream before it in braces, and a path",
                    upstream.name
                ));
            }
            // Its own part is checked as that of any host.
            format!("https://host{path}")
        }
    };
    if !base_url.is_empty() {
        match Url::parse(&base_url) {
            Ok(url) => {
                let plain = matches!(url.scheme(), "https" | "http")
                    && url.has_host()
                    && url.username().is_empty()
                    && url.password().is_none()
                    && url.query().is_none()
                    && url.fragment().is_none();
                if !plain {
                    wrong.push(format!(
                        "upstream `{}`: base-url is an absolute https or http URL without user, query or fragment",
                        upstream.name
                    ));
                }
            }
            Err(error) => wrong.push(format!("upstream `{}`: base-url: {error}", upstream.name)),
        }
    }
    for host in &upstream.redirect_hosts {
        if url::Host::parse(host).is_err() || host.contains('*') {
            wrong.push(format!("upstream `{}`: redirect host `{}` is no host name", upstream.name, shorten(host)));
        }
    }
    if upstream.pacing.is_some_and(|pacing| pacing.concurrency == 0) {
        wrong.push(format!("upstream `{}`: pacing.concurrency is at least 1", upstream.name));
    }
}

fn check_operation(operation: &Operation, limits: &HashSet<&str>, wrong: &mut Vec<String>) {
    let path = &operation.path;
    if RESERVED_PATHS.contains(&path.as_str()) {
        wrong.push(format!("operation `{path}`: the gateway has this path for itself"));
    }
    if operation.input_schema.len() > MAX_SCHEMA_BYTES {
        wrong.push(format!("operation `{path}`: input-schema is over 256 KiB"));
    }
    if operation.summary.len() > MAX_TEXT_BYTES || operation.description.len() > MAX_TEXT_BYTES {
        wrong.push(format!("operation `{path}`: summary, description: at most 64 KiB"));
    }
    if let Some(limit) = &operation.rate_limit
        && !limits.contains(limit.as_str())
    {
        wrong.push(format!("operation `{path}`: there is no rate limit `{}`", shorten(limit)));
    }
}

fn check_auth(auth: &AuthScheme, operations: &HashSet<&str>, wrong: &mut Vec<String>) {
    let mut named = Vec::new();
    match auth {
        AuthScheme::None => {}
        AuthScheme::ApiKey(key) => named.extend(key.check.as_deref()),
        AuthScheme::Oauth2(oauth2) => {
            named.extend(oauth2.identity.as_ref().map(|identity| identity.operation.as_str()));
            let revocation = oauth2.revocation.as_ref().map(|revocation| match revocation {
                Revocation::Form(url) | Revocation::Bearer(url) | Revocation::Delete(url) => url,
            });
            let urls = [
                ("authorization-url", Some(&oauth2.authorization_url)),
                ("token-url", Some(&oauth2.token_url)),
                ("refresh-url", oauth2.refresh_url.as_ref()),
                ("revocation", revocation),
            ];
            for (key, url) in urls {
                if let Some(url) = url.filter(|url| !url.is_empty())
                    && Url::parse(&url.replace("{client_id}", "x")).is_err()
                {
                    wrong.push(format!("oauth2.{key}: `{}` is no absolute URL", shorten(url)));
                }
            }
        }
    }
    for operation in named {
        if !operations.contains(operation) {
            wrong.push(format!("auth: there is no operation `{}`", shorten(operation)));
        }
    }
}

/// What a stranger wrote, at a length that fits a log line.
fn shorten(text: &str) -> String {
    text.chars().take(80).collect::<String>().escape_debug().to_string()
}
