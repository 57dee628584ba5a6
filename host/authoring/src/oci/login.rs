//! How requests to a registry are authorized: with the user's name and password, or with a token
//! of the server that the registry names.

use http_auth::ChallengeParser;
use reqwest::StatusCode;
use reqwest::header::HeaderValue;
use serde::Deserialize;
use url::Url;

use super::client::{ClientError, host_of, read};
use super::credentials::Credentials;
use crate::output::remark;

/// The largest answer with a token.
const MAX_TOKEN_BYTES: usize = 256 << 10;

/// The access that a token gives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Access {
    /// Reading a repository.
    Pull,
    /// Reading and writing a repository.
    Push,
}

/// How a registry wants to be asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// By name and password.
    Basic,
    /// By a token of a server.
    Bearer {
        /// The URL of the server.
        realm: String,
        /// The name of the registry at the server.
        service: Option<String>,
    },
}

/// The answer with a token.
#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
}

/// The challenge in the headers `WWW-Authenticate`. `None` if they have no known one.
pub(super) fn challenge<'a>(headers: impl Iterator<Item = &'a str>) -> Option<Challenge> {
    let known = |header| {
        ChallengeParser::new(header).map_while(Result::ok).filter_map(|challenge| {
            if challenge.scheme.eq_ignore_ascii_case("basic") {
                return Some(Challenge::Basic);
            }
            let parameter = |name: &str| {
                let found = challenge.params.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.to_unescaped())
            };
            let realm = parameter("realm").filter(|_| challenge.scheme.eq_ignore_ascii_case("bearer"))?;
            Some(Challenge::Bearer { realm, service: parameter("service") })
        })
    };
    let found: Vec<Challenge> = headers.flat_map(|header| known(header).collect::<Vec<_>>()).collect();
    let bearer = found.iter().position(|challenge| *challenge != Challenge::Basic);
    found.into_iter().nth(bearer.unwrap_or_default())
}

/// The value of `Authorization` for a registry. `None` if there are no credentials to send.
///
/// # Errors
/// If the credentials would go to another host without TLS, or if the server gives no token.
pub(super) async fn authorize(
    http: &reqwest::Client,
    registry: &Url,
    challenge: Challenge,
    repository: &str,
    access: Access,
    credentials: Option<&Credentials>,
) -> Result<Option<HeaderValue>, ClientError> {
    let Challenge::Bearer { realm, service } = challenge else {
        let Some(credentials) = credentials else { return Ok(None) };
        let request = credentials.authorize(http.get(registry.clone())).build()?;
        return Ok(request.headers().get(reqwest::header::AUTHORIZATION).cloned());
    };
    let mut realm = token_server(registry, &realm, credentials.is_some())?;
    let actions = match access {
        Access::Pull => "pull",
        Access::Push => "pull,push",
    };
    let scope = format!("repository:{repository}:{actions}");
    realm.query_pairs_mut().append_pair("scope", &scope).extend_pairs(service.map(|service| ("service", service)));
    let mut request = http.get(realm.clone());
    if let Some(credentials) = credentials {
        if realm.origin() != registry.origin() {
            remark(format_args!(
                "The name and the password for {} are sent to {}, which this registry names for tokens.",
                host_of(registry),
                host_of(&realm)
            ));
        }
        request = credentials.authorize(request);
    }
    let answer = request.send().await?;
    match answer.status() {
        StatusCode::OK => {}
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(ClientError::Refused),
        status => {
            return Err(ClientError::Other(format!("{} answers {status} to a request for a token", host_of(&realm))));
        }
    }
    let body = read(answer, MAX_TOKEN_BYTES, "the answer with a token").await?;
    // A message of the parser could quote the token.
    let no_token = || ClientError::Other(format!("the answer of {} has no token", host_of(&realm)));
    let TokenAnswer { token, access_token } = serde_json::from_slice(&body).map_err(|_| no_token())?;
    let token = token.or(access_token).ok_or_else(no_token)?;
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| no_token())?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// The URL of the server of tokens that a registry names.
///
/// # Errors
/// If it is no URL of HTTP, or if credentials would go to it without TLS, and it is not the
/// registry itself.
fn token_server(registry: &Url, realm: &str, has_credentials: bool) -> Result<Url, ClientError> {
    let url = Url::parse(realm).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or_else(|| ClientError::Other(format!("it names no URL for tokens, but `{realm}`")))?;
    if has_credentials && url.scheme() != "https" && url.origin() != registry.origin() {
        return Err(ClientError::Other(format!(
            "the name and the password would be sent to {}, which the registry names for tokens, without TLS; credentials go to \
             another host only over https",
            host_of(&url)
        )));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_found_in_each_form() {
        let bearer = |service: Option<&str>| {
            let service = service.map(str::to_owned);
            Some(Challenge::Bearer { realm: "https://auth.example/token".to_owned(), service })
        };
        for (headers, expected) in [
            (vec![], None),
            (vec!["Negotiate", "garbage=,"], None),
            (vec!["Bearer service=\"x\""], None),
            (vec!["basic realm=\"registry\""], Some(Challenge::Basic)),
            (vec!["Bearer realm=\"https://auth.example/token\",service=\"a\""], bearer(Some("a"))),
            (vec!["Basic realm=\"x\"", "bearer realm=\"https://auth.example/token\""], bearer(None)),
            (vec!["Basic realm=\"x\", Bearer realm=\"https://auth.example/token\""], bearer(None)),
        ] {
            assert_eq!(challenge(headers.iter().copied()), expected, "{headers:?}");
        }
    }

    #[test]
    fn credentials_go_to_another_host_only_over_tls() {
        let is_sent = |registry: &str, realm: &str| token_server(&registry.parse().unwrap(), realm, true).is_ok();
        for (registry, realm) in [
            ("https://a.example/v2/", "https://a.example/token"),
            ("https://a.example/v2/", "https://auth.example:8443/token"),
            ("http://127.0.0.1:5000/v2/", "http://127.0.0.1:5000/token"),
            ("http://127.0.0.1:5000/v2/", "https://auth.example/token"),
        ] {
            assert!(is_sent(registry, realm), "{realm}");
        }
        for (registry, realm) in [
            ("https://a.example/v2/", "http://a.example/token"),
            ("https://a.example/v2/", "http://a.example:443/token"),
            ("https://a.example/v2/", "http://auth.example/token"),
            ("http://127.0.0.1:5000/v2/", "http://127.0.0.1:5001/token"),
            ("https://a.example/v2/", "ftp://a.example/token"),
            ("https://a.example/v2/", "/token"),
        ] {
            assert!(!is_sent(registry, realm), "{realm}");
        }
        let registry = "https://a.example/v2/".parse().unwrap();
        assert!(token_server(&registry, "http://auth.example/token", false).is_ok(), "nothing is secret");
    }
}
