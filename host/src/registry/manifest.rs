//! What a manifest must be before anything is granted by it.

use std::collections::HashSet;

use hyper::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use url::Url;

use contract::{ApiKey, AuthScheme, KeyPlacement, Manifest, Oauth2, Operation, Revocation, Upstream};
use egress::{is_loopback, is_reserved};

const MAX_UPSTREAMS: usize = 16;
const MAX_RATE_LIMITS: usize = 64;
const MAX_OPERATIONS: usize = 512;
const MAX_NAME_BYTES: usize = 64;
const MAX_SCHEMA_BYTES: usize = 256 << 10;
const MAX_TEXT_BYTES: usize = 64 << 10;

/// Paths under `/connectors/{connector}/` that are the gateway's own.
const RESERVED_PATHS: [&str; 4] = ["integrations", "integration-exists", "auth-schema", "success-authorize-callback"];

/// Names in `oauth_clients` whose credentials are for connectors that were built with the gateway. An identifier is looked up
/// there as well, so nobody else's connector may be called so.
const PROVIDERS: [&str; 6] = ["github", "google", "hr", "microsoft", "slack", "x"];

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

/// Checks that a connector which was not built with the gateway is not called as one of its providers is.
///
/// # Errors
/// Says why, and what to do.
pub(super) fn check_foreign(manifest: &Manifest) -> Result<(), String> {
    let identifier = &manifest.identifier;
    if !PROVIDERS.contains(&identifier.as_str()) {
        return Ok(());
    }
    Err(format!(
        "its identifier `{identifier}` is a provider's name, and the client credentials in `oauth_clients.{identifier}` are for \
         the connectors that come with the gateway; give it another identifier, such as `{identifier}_connector`"
    ))
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
    let named = match auth {
        AuthScheme::None => None,
        AuthScheme::ApiKey(key) => {
            check_key(key, wrong);
            key.check.as_ref()
        }
        AuthScheme::Oauth2(oauth2) => {
            check_addresses(oauth2, wrong);
            oauth2.identity.as_ref().map(|identity| &identity.operation)
        }
    };
    if let Some(operation) = named.filter(|operation| !operations.contains(operation.as_str())) {
        wrong.push(format!("auth: there is no operation `{}`", shorten(operation)));
    }
}

/// A user's key may not take the place of what says where a request goes, where it ends, or how it is to be read.
fn check_key(key: &ApiKey, wrong: &mut Vec<String>) {
    let KeyPlacement::Header(header) = &key.placement else { return };
    match HeaderName::from_bytes(header.name.as_bytes()) {
        Err(_) => wrong.push(format!("api-key: `{}` is no header name", shorten(&header.name))),
        Ok(name) => {
            let is_own = is_reserved(&name) || [ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE].contains(&name);
            if is_own && name != AUTHORIZATION {
                wrong.push(format!("api-key: the header `{name}` is set by the gateway and cannot hold a key"));
            }
        }
    }
}

fn check_addresses(oauth2: &Oauth2, wrong: &mut Vec<String>) {
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
        let Some(url) = url.filter(|url| !url.is_empty()) else { continue };
        match Url::parse(&url.replace("{client_id}", "x")) {
            Err(_) => wrong.push(format!("oauth2.{key}: `{}` is no absolute URL", shorten(url))),
            Ok(url) if is_private(&url) => {}
            Ok(_) => wrong.push(format!("oauth2.{key}: `{}` does not begin with https://", shorten(url))),
        }
    }
}

/// Whether nobody on the way can read what is sent there (RFC 6749, section 3.2).
fn is_private(url: &Url) -> bool {
    url.scheme() == "https" || url.scheme() == "http" && is_loopback(url)
}

/// What a stranger wrote, at a length that fits a log line.
fn shorten(text: &str) -> String {
    text.chars().take(80).collect::<String>().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::KeyHeader;

    fn key_in(header: &str) -> Vec<String> {
        let placement = KeyPlacement::Header(KeyHeader { name: header.to_owned(), prefix: String::new() });
        let mut wrong = Vec::new();
        check_key(&ApiKey { placement, check: None }, &mut wrong);
        wrong
    }

    #[test]
    fn a_key_goes_into_no_header_that_frames_routes_or_describes_a_request() {
        let names = "Host content-length Transfer-Encoding connection keep-alive TE trailer upgrade cookie Expect via \
                     forwarded X-Forwarded-For proxy-authorization Content-Type content-encoding Accept-Encoding";
        for name in names.split_whitespace() {
            let wrong = key_in(name);
            let [reason] = wrong.as_slice() else { panic!("{name}: {wrong:?}") };
            assert!(reason.contains(&format!("`{}`", name.to_lowercase())), "{reason}");
        }
        for name in ["", "two words", "x:y", "x\r\ny"] {
            assert!(key_in(name)[0].contains("no header name"), "{name:?}");
        }
        for name in ["X-Api-Key", "Authorization", "authorization", "apikey"] {
            assert!(key_in(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn secrets_go_over_https_or_stay_on_the_machine() {
        let is_private = |url: &str| is_private(&Url::parse(url).unwrap());
        for url in ["https://acme.example/token", "http://127.0.0.1:8080/token", "http://[::1]/", "http://localhost/"] {
            assert!(is_private(url), "{url}");
        }
        for url in ["http://acme.example/token", "http://10.0.0.1/", "http://localhost.example/", "ftp://localhost/"] {
            assert!(!is_private(url), "{url}");
        }
    }
}
