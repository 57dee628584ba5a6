//! The page that a user is sent to at the end of an authorization.

use url::Url;

use config::Config;
use egress::is_loopback;
use webhooks::caller_url;

/// Longest URL that browsers and providers accept.
pub(super) const MAX_URL_CHARACTERS: usize = 2048;

/// A URL that users may be sent to at the end of an authorization.
#[derive(Clone, Debug)]
pub struct Destination(Url);

impl Destination {
    /// Accepts an absolute http or https URL at the gateway's own origin, at loopback, or at an
    /// origin that the operator allows.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the URL.
    pub fn check(text: &str, config: &Config) -> Result<Self, String> {
        let url = caller_url::parse(text, "https://app.example.com/connected")?;
        let origin = url.origin();
        if origin == config.public_url.origin()
            || is_loopback(&url)
            || config.allowed_callback_origins.contains(&origin)
        {
            return Ok(Self(url));
        }
        Err(format!(
            "Users may not be sent to {}. The operator can allow it with `allowed_callback_origins`.",
            origin.ascii_serialization()
        ))
    }
}

impl From<Destination> for String {
    fn from(destination: Destination) -> Self {
        destination.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_sent_to_allowed_origins_and_loopback_only() {
        let config = Config {
            public_url: Url::parse("https://gateway.example/base/").unwrap(),
            allowed_callback_origins: vec![Url::parse("https://app.example").unwrap().origin()],
            ..Config::default()
        };
        for url in [
            "https://app.example/done?a=1",
            "https://gateway.example/console",
            "http://localhost:3000/",
            "http://app.localhost/",
            "http://127.0.0.1:1/x",
            "http://[::1]:8080/",
        ] {
            assert!(Destination::check(url, &config).is_ok(), "{url}");
        }
        for url in [
            "https://evil.example/",
            "http://app.example/",
            "https://app.example:8443/",
            "https://app.example.evil.example/",
            "https://app.example@evil.example/",
            "https://user:secret@app.example/",
            "https://localhost.evil.example/",
            "https://app.example/#token",
            "//app.example/",
            "/relative",
            "javascript:alert(1)",
            "app.example",
            "",
        ] {
            assert!(Destination::check(url, &config).is_err(), "{url}");
        }
    }
}
