//! The URLs that webhooks may be sent to.

use url::Url;

use crate::caller_url;
use egress::{EgressError, Upstream, is_loopback};

/// Longest URL of a receiver, as a caller writes it.
pub const MAX_URL_BYTES: usize = 2048;

/// A URL that webhooks may be sent to.
pub(super) struct Receiver {
    pub(super) url: Url,
    pub(super) upstream: Upstream,
    /// The path of a request to the upstream that has this URL.
    pub(super) path: String,
}

impl Receiver {
    /// As [`Receiver::parse`], for a URL that a caller gives. It has at most [`MAX_URL_BYTES`] as the
    /// caller writes it. The normal form may be longer, because it encodes characters.
    ///
    /// # Errors
    /// As [`Receiver::parse`].
    pub(super) fn accept(text: &str, allow_private_network: bool) -> Result<Self, String> {
        if text.len() > MAX_URL_BYTES {
            return Err(format!("Must have at most {MAX_URL_BYTES} bytes."));
        }
        Self::parse(text, allow_private_network)
    }

    /// Accepts an absolute https URL whose host is not a private address. With
    /// `allow_private_network`, also http and private addresses. A name is not resolved here:
    /// egress does this, and checks the addresses, before it connects.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the URL.
    pub(super) fn parse(text: &str, allow_private_network: bool) -> Result<Self, String> {
        let url = caller_url::parse(text, "https://app.example.com/webhooks")?;
        if !allow_private_network {
            if url.scheme() == "http" {
                return Err(
                    "Must begin with https://. The operator can allow http with `callbacks.allow_private_network`."
                        .to_owned(),
                );
            }
            if is_loopback(&url) {
                return Err(private(&url));
            }
        }
        let (upstream, path) = Upstream::of_url("the receiver", &url, allow_private_network)
            .map_err(|_| "Must be an absolute https URL.".to_owned())?;
        match upstream.target(&path) {
            Ok(_) => Ok(Self { upstream: upstream.without_redirects(), url, path }),
            Err(EgressError::Denied { .. }) => Err(private(&url)),
            Err(error) => Err(format!("Cannot be called: {error}.")),
        }
    }

    /// Scheme, host and port, which several URLs may share.
    pub(super) fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}

/// The check of URLs that callers give, as [`Receiver::accept`] does it.
pub fn url_check(allow_private_network: bool) -> fn(&str) -> Result<(), String> {
    match allow_private_network {
        true => |text| Receiver::accept(text, true).map(drop),
        false => |text| Receiver::accept(text, false).map(drop),
    }
}

/// The sentence for a host with a private address.
pub(super) fn private(url: &Url) -> String {
    format!(
        "{} does not lead to a public address. The operator can allow it with `callbacks.allow_private_network`.",
        url.host_str().unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_https_urls_are_accepted() {
        for url in [
            "https://app.example.com",
            "https://app.example.com/hooks/?a=1&b=%20%2F..",
            "https://app.example.com:8443/a//b",
            "https://93.184.215.14/",
            "https://[2606:4700::1]/",
        ] {
            let receiver = Receiver::parse(url, false).map_err(|reason| panic!("{url}: {reason}")).unwrap();
            let target = receiver.upstream.target(&receiver.path).unwrap();
            assert_eq!(target, Url::parse(url).unwrap());
        }
        assert_eq!(Receiver::parse("https://A.example:443/b?c", false).unwrap().origin(), "https://a.example");
    }

    #[test]
    fn other_urls_are_refused_whatever_the_operator_allows() {
        let long = format!("https://a.example/{}", "x".repeat(MAX_URL_BYTES - 17));
        for url in [
            "",
            "app.example.com/hooks",
            "/hooks",
            "//app.example.com",
            "ftp://app.example.com",
            "file:///etc/passwd",
            "https://user@app.example.com",
            "https://user:secret@app.example.com",
            "https://app.example.com/#a",
            &long,
        ] {
            assert!(Receiver::accept(url, true).is_err(), "{url}");
        }
        assert!(Receiver::accept(&long[..MAX_URL_BYTES], true).is_ok());
    }

    #[test]
    fn http_and_private_addresses_need_the_operators_permission() {
        for url in [
            "http://app.example.com",
            "https://localhost/",
            "https://app.localhost/",
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://10.0.0.1/",
            "https://169.254.169.254/latest",
            "https://[::1]/",
            "https://[::ffff:192.168.0.1]/",
        ] {
            let reason = Receiver::parse(url, false).err().unwrap_or_else(|| panic!("{url} is accepted"));
            assert!(reason.contains("`callbacks.allow_private_network`"), "{url}: {reason}");
            assert!(Receiver::parse(url, true).is_ok(), "{url}");
        }
    }
}
