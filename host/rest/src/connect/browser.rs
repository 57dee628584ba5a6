//! The cookie that makes a link one browser's.
//!
//! It has the browser's secret, by which the gateway knows the browser again, and the secret part
//! of the link, which the way back from a provider needs and the database does not have.

use hyper::header::{COOKIE, HeaderMap, HeaderValue};

use config::Config;
use store::digest::sha256;
use store::{ConnectLink, LinkHash};

/// The secrets of a browser that has a link.
pub(super) struct Browser {
    secret: String,
    token: String,
}

impl Browser {
    /// A browser that is about to get the link with this secret part.
    pub(super) fn new(secret: String, token: &str) -> Self {
        Self { secret, token: token.to_owned() }
    }

    /// The browser of a request, if it has a cookie for the link.
    pub(super) fn of_request(headers: &HeaderMap, link: &ConnectLink) -> Option<Self> {
        let name = cookie_name(link);
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(found, _)| *found == name)?;
        let (secret, token) = value.split_once('.')?;
        // A cookie that was made up for another link leads nowhere.
        (sha256(token.as_bytes()) == link.hash).then(|| Self { secret: secret.to_owned(), token: token.to_owned() })
    }

    /// SHA-256 of the browser's secret.
    pub(super) fn hash(&self) -> LinkHash {
        sha256(self.secret.as_bytes())
    }

    /// Returns `true` if the link is this browser's.
    pub(super) fn has(&self, link: &ConnectLink) -> bool {
        link.browser == Some(self.hash())
    }

    /// The secret part of the link.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// The header `Set-Cookie` (RFC 6265). With `SameSite=Lax`, the browser sends the cookie when it
    /// comes back from a provider, and not with requests of other sites.
    pub(super) fn set_cookie(&self, link: &ConnectLink, config: &Config) -> Option<HeaderValue> {
        let secure = if config.public_url.scheme() == "https" { "; Secure" } else { "" };
        let expires = httpdate::fmt_http_date(link.expires_at);
        let text = format!(
            "{}={}.{}; Path=/; HttpOnly; SameSite=Lax; Expires={expires}{secure}",
            cookie_name(link),
            self.secret,
            self.token
        );
        let mut value = HeaderValue::try_from(text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

fn cookie_name(link: &ConnectLink) -> String {
    format!("connect_{}", link.id)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use url::Url;

    use super::*;

    fn link() -> ConnectLink {
        ConnectLink {
            id: "lnk_1".into(),
            hash: sha256(b"token"),
            tenant: "acme".into(),
            subject: String::new(),
            connectors: vec!["mail".into()],
            user_identifier: None,
            callback_url: None,
            labels: None,
            key_id: None,
            expires_at: SystemTime::UNIX_EPOCH,
            browser: None,
            end: None,
            has_expired: false,
            accounts: Vec::new(),
        }
    }

    fn request(cookie: &str) -> HeaderMap {
        HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(cookie).unwrap())])
    }

    #[test]
    fn a_browser_is_known_by_its_cookie_of_the_same_link() {
        let made = Browser::new("secret".into(), "token");
        let link = ConnectLink { browser: Some(made.hash()), ..link() };
        let known = Browser::of_request(&request("a=b; connect_lnk_1=secret.token"), &link).unwrap();
        assert!(known.has(&link) && known.token() == "token");
        assert!(!Browser::of_request(&request("connect_lnk_1=other.token"), &link).unwrap().has(&link));
        for cookie in ["connect_lnk_1=secret.tok", "connect_lnk_2=secret.token", "connect_lnk_1=secret", "x"] {
            assert!(Browser::of_request(&request(cookie), &link).is_none(), "{cookie}");
        }
    }

    #[test]
    fn a_cookie_is_for_https_alone_where_the_gateway_has_it() {
        let browser = Browser::new("s".into(), "token");
        let cookie = |url: &str| {
            let config = Config { public_url: Url::parse(url).unwrap(), ..Config::default() };
            browser.set_cookie(&link(), &config).unwrap().to_str().unwrap().to_owned()
        };
        let expected = "connect_lnk_1=s.token; Path=/; HttpOnly; SameSite=Lax; Expires=Thu, 01 Jan 1970 00:00:00 GMT";
        assert_eq!(cookie("http://127.0.0.1:8080/"), expected);
        assert_eq!(cookie("https://gateway.example/"), format!("{expected}; Secure"));
    }
}
