//! The parts of URLs that differ from account to account: `https://{subdomain}.example.com/api`.

use crate::limit::{ADDRESS_PART_BYTES, LABEL_BYTES};
use crate::{Broken, ensure};

/// The name that a URL of a revocation has in braces for the client's id. No part has it.
const CLIENT_ID: &str = "client_id";

/// The characters of the value of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartForm {
    /// A label of a host name.
    Label,
    /// A host name.
    Host,
    /// A segment of a path.
    Segment,
}

impl PartForm {
    /// The longest value that this form allows.
    #[must_use]
    pub const fn most(self) -> u32 {
        match self {
            Self::Label => LABEL_BYTES,
            Self::Host | Self::Segment => ADDRESS_PART_BYTES,
        }
    }

    /// A regular expression for the values of this form. It also matches `.` and `..`, which are no
    /// segments.
    #[must_use]
    pub const fn pattern(self) -> &'static str {
        match self {
            Self::Label => "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$",
            Self::Host => r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$",
            Self::Segment => "^[A-Za-z0-9._~-]+$",
        }
    }

    /// Returns `true` if a value has this form.
    #[must_use]
    pub fn accepts(self, value: &str) -> bool {
        let label = |text: &str| {
            let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            !text.is_empty() && text.bytes().all(legal) && !text.starts_with('-') && !text.ends_with('-')
        };
        match self {
            Self::Label => label(value),
            Self::Host => value.contains('.') && value.split('.').all(label),
            Self::Segment => {
                let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
                !matches!(value, "" | "." | "..") && value.bytes().all(legal)
            }
        }
    }

    /// The characters of a value, for a message to the person who gives it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Label => "lower-case letters, digits, and hyphens between them",
            Self::Host => "a host name in lower-case letters, such as `acme.example.com`",
            Self::Segment => "letters, digits, `-`, `_`, `.` and `~`",
        }
    }
}

/// The name of a part.
///
/// # Errors
/// The rule that the name breaks.
pub fn part_name(name: &str) -> Result<(), Broken> {
    crate::name::setting(name).map_err(|_| Broken::from("the name of a part is 1 to 64 of `a-z`, `0-9` and `_`"))?;
    ensure(name != CLIENT_ID, "no part is named `client_id`: URLs have the id of the client there")
}

/// The names in braces in a URL, in their order. A name of an upstream at the beginning is none of
/// them, and neither is `{client_id}`.
pub fn names(url: &str) -> impl Iterator<Item = &str> {
    in_braces(crate::address::below(url).map_or(url, |(_, path)| path))
}

fn in_braces(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)).filter(|name| *name != CLIENT_ID)
}

/// The URL with a value for each name in braces. Returns the first name without a value as an
/// error.
///
/// # Errors
/// The name.
pub fn fill<'a>(url: &str, value: impl Fn(&str) -> Option<&'a str>) -> Result<String, String> {
    let mut filled = url.to_owned();
    for name in names(url) {
        let value = value(name).ok_or_else(|| name.to_owned())?;
        filled = filled.replace(&format!("{{{name}}}"), value);
    }
    Ok(filled)
}

/// The host and the port of a URL with names in braces, as the URL has them.
#[must_use]
pub fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// The names in braces in the host of a URL.
pub fn names_in_host(url: &str) -> impl Iterator<Item = &str> {
    in_braces(authority(url))
}

/// Returns `true` if the host of a URL has a part.
#[must_use]
pub fn is_in_host(url: &str) -> bool {
    names_in_host(url).next().is_some()
}

/// Returns `true` if a host is below a site.
#[must_use]
pub fn is_below(host: &str, site: &str) -> bool {
    let below = host.strip_suffix(site).and_then(|rest| rest.strip_suffix('.'));
    below.is_some_and(|labels| !labels.is_empty() && labels.split('.').all(|label| !label.is_empty()))
}

/// A domain below which the hosts of accounts are. A check by the list of public suffixes is only
/// in the gateway.
///
/// # Errors
/// The form of a site.
pub fn site(site: &str) -> Result<(), Broken> {
    let is_lower = !site.bytes().any(|byte| byte.is_ascii_uppercase());
    ensure(
        is_lower && !site.starts_with("*.") && crate::address::link_host(&format!("*.{site}")).is_ok(),
        "a site is a domain with at least two labels, in lower-case letters, as in `example.com`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_only_characters_that_end_no_part_of_a_url() {
        let form = |form: PartForm, good: &[&str], bad: &[&str]| {
            for value in good {
                assert!(form.accepts(value), "{value}");
            }
            for value in bad.iter().chain(&["", "a/b", "a?b", "a#b", "a@b", "a:1", "a%2fb", "a\\b", "a b", "\u{e4}"]) {
                assert!(!form.accepts(value), "{value}");
            }
        };
        form(PartForm::Label, &["acme", "a", "acme-2"], &["-a", "a-", "A", "a.b", "a_b"]);
        form(PartForm::Host, &["a.b", "acme.my.example.com"], &["a", ".a", "a.", "a..b", "A.b"]);
        form(PartForm::Segment, &["11223344-a1b2", "A_b~c", "a.b", "...", ".a"], &[".", ".."]);
    }

    #[test]
    fn names_are_found_and_filled_and_other_braces_are_left() {
        let url = "https://{shop}.example.com/{cloud}/applications/{client_id}";
        assert_eq!(names(url).collect::<Vec<_>>(), ["shop", "cloud"]);
        assert_eq!(names("{api}/me/{cloud}").collect::<Vec<_>>(), ["cloud"]);
        let value = |name: &str| (name == "shop").then_some("acme");
        assert_eq!(fill(url, value), Err("cloud".to_owned()));
        let filled = fill("https://{shop}.example.com/{shop}", value);
        assert_eq!(filled.as_deref(), Ok("https://acme.example.com/acme"));
        assert!(is_in_host(url) && !is_in_host("https://example.com/{cloud}"));
    }

    #[test]
    fn a_host_is_below_a_site_by_whole_labels() {
        assert!(is_below("acme.example.com", "example.com") && is_below("a.b.example.com", "example.com"));
        for host in ["example.com", "evilexample.com", ".example.com", "acme.example.com.evil.test", "a..example.com"] {
            assert!(!is_below(host, "example.com"), "{host}");
        }
        for good in ["example.com", "acme.co.uk"] {
            assert_eq!(site(good), Ok(()), "{good}");
        }
        for bad in ["com", "", "*.example.com", "Example.com", "example.com:1", "1.2.3.4"] {
            assert!(site(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_of_parts_are_those_of_settings_but_one() {
        assert!(part_name("cloud_id").is_ok() && part_name("Cloud").is_err() && part_name("client_id").is_err());
    }
}
