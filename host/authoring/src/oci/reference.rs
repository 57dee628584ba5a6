//! The name of a module in a registry: `oci://registry.example.com/acme/words:1.0.0`, or
//! `…@sha256:…`.

use std::fmt;
use std::str::FromStr;

use url::Url;

/// Begins the name of a module in a registry.
pub(crate) const SCHEME: &str = "oci://";

/// Limits of the distribution specification of the Open Container Initiative.
const MAX_REPOSITORY: usize = 255;
const MAX_TAG: usize = 128;

/// A version of a module in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// A name that the repository may give to another module later.
    Tag(String),
    /// The digest of the manifest, with its algorithm.
    Digest(String),
}

/// The name of a module in a registry. Without a version, it is the name of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleReference {
    registry: String,
    repository: String,
    version: Option<Version>,
}

impl ModuleReference {
    /// The host of the registry, with its port if it has one.
    pub(super) fn registry(&self) -> &str {
        &self.registry
    }

    pub(crate) fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    /// The same repository, and this version in it.
    pub(crate) fn at_version(&self, version: Version) -> Self {
        Self { version: Some(version), ..self.clone() }
    }

    /// `true` if the registry is on this machine.
    pub(super) fn is_on_loopback(&self) -> bool {
        let url = Url::parse(&format!("http://{}/", self.registry)).ok();
        match url.as_ref().and_then(Url::host) {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }

    pub(super) fn repository(&self) -> &str {
        &self.repository
    }

    /// The URL of the registry, with the path that begins its routes.
    pub(super) fn registry_url(&self, scheme: &str) -> Result<Url, String> {
        // The registry of Docker has another host than its name.
        let host = if self.registry == "docker.io" { "index.docker.io" } else { &self.registry };
        Url::parse(&format!("{scheme}://{host}/v2/")).map_err(|error| error.to_string())
    }
}

impl FromStr for ModuleReference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.strip_prefix(SCHEME).ok_or_else(|| format!("it must begin with {SCHEME}"))?;
        let (registry, rest) = name.split_once('/').unwrap_or_default();
        // Other tools look up such a name in a well-known registry. Here every name has its
        // registry.
        if !(registry.contains(['.', ':']) || registry == "localhost") {
            return Err("it must name the registry, the repository and the version, such as \
                        oci://registry.example.com/acme/words:1.0.0"
                .to_owned());
        }
        let (rest, digest) = rest.split_once('@').map_or((rest, None), |(rest, digest)| (rest, Some(digest)));
        let (repository, tag) = rest.split_once(':').map_or((rest, None), |(name, tag)| (name, Some(tag)));
        check_registry(registry)?;
        check_repository(repository)?;
        tag.map_or(Ok(()), check_tag)?;
        digest.map_or(Ok(()), check_digest)?;
        let version = match (digest, tag) {
            (Some(digest), _) => Some(Version::Digest(digest.to_owned())),
            (None, Some(tag)) => Some(Version::Tag(tag.to_owned())),
            (None, None) => None,
        };
        Ok(Self { registry: registry.to_owned(), repository: repository.to_owned(), version })
    }
}

/// Checks a host, and its port if it has one.
fn check_registry(registry: &str) -> Result<(), String> {
    let (host, port) = registry.split_once(':').unwrap_or((registry, "0"));
    let is_label = |label: &str| {
        label.starts_with(|first: char| first.is_ascii_alphanumeric())
            && label.ends_with(|last: char| last.is_ascii_alphanumeric())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if host.split('.').all(is_label) && port.parse::<u16>().is_ok() {
        return Ok(());
    }
    Err(format!("`{registry}` is not a host, such as registry.example.com or localhost:5000"))
}

/// Checks a repository as the distribution specification has it: components of lower-case letters
/// and digits with single separators, `.`, `_`, `__` or dashes, between them.
fn check_repository(repository: &str) -> Result<(), String> {
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_separator = |text: &str| matches!(text, "" | "." | "_" | "__") || text.bytes().all(|byte| byte == b'-');
    let is_component = |component: &str| {
        component.bytes().next().is_some_and(is_name)
            && component.bytes().next_back().is_some_and(is_name)
            && component.split(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit()).all(is_separator)
    };
    if repository.len() <= MAX_REPOSITORY && repository.split('/').all(is_component) {
        return Ok(());
    }
    Err(format!(
        "the repository must have at most {MAX_REPOSITORY} characters, which are lower-case letters and digits with \
         single `.`, `_`, `-` and `/` between them"
    ))
}

fn check_tag(tag: &str) -> Result<(), String> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if tag.len() <= MAX_TAG
        && tag.bytes().next().is_some_and(is_word)
        && tag.bytes().all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
    {
        return Ok(());
    }
    Err(format!("a version must have at most {MAX_TAG} characters, which are letters, digits, `_`, `.` and `-`"))
}

fn check_digest(digest: &str) -> Result<(), String> {
    let length = match digest.split_once(':') {
        Some(("sha256", _)) => 64,
        Some(("sha384", _)) => 96,
        Some(("sha512", _)) => 128,
        _ => return Err("a digest must begin with sha256:, sha384: or sha512:".to_owned()),
    };
    let hex = digest.split_once(':').map_or("", |(_, hex)| hex);
    if hex.len() == length && hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(());
    }
    Err(format!("this digest must have {length} hexadecimal digits"))
}

impl fmt::Display for ModuleReference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{SCHEME}{}/{}", self.registry, self.repository)?;
        match &self.version {
            None => Ok(()),
            Some(Version::Tag(tag)) => write!(out, ":{tag}"),
            Some(Version::Digest(digest)) => write!(out, "@{digest}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_registry_a_repository_and_perhaps_a_version() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for (text, version) in [
            ("oci://registry.example.com/acme/words:1.0.0".to_owned(), Some(Version::Tag("1.0.0".to_owned()))),
            (format!("oci://localhost:5000/words@{digest}"), Some(Version::Digest(digest))),
            ("oci://localhost/words".to_owned(), None),
            ("oci://127.0.0.1:5000/words".to_owned(), None),
        ] {
            let reference: ModuleReference = text.parse().unwrap();
            assert_eq!((reference.version(), reference.to_string()), (version.as_ref(), text));
        }
    }

    #[test]
    fn a_name_without_a_registry_is_refused() {
        for text in ["words", "oci://words", "oci://acme/words:1.0.0", "oci://"] {
            assert!(text.parse::<ModuleReference>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_name_outside_of_the_specification_is_refused() {
        let digest = "a".repeat(64);
        let long = "a".repeat(MAX_REPOSITORY);
        for rest in [
            "",
            "W:1",
            "a..b:1",
            "a___b:1",
            "a._b:1",
            "-a:1",
            "a-:1",
            "a//b:1",
            "/a:1",
            "a/:1",
            "a b:1",
            "é:1",
            "a:",
            "a:-1",
            "a:1:2",
            "a:1/2",
            "a@",
            "a@sha256:aa",
            "a@md5:aa",
            "a@b@c",
        ] {
            assert!(format!("oci://a.example/{rest}").parse::<ModuleReference>().is_err(), "{rest}");
        }
        for host in [
            "-a.example",
            "a..example",
            ".",
            "a_b.example",
            "a.example:",
            "a.example:70000",
            "a.example:x",
            "u@a.example",
        ] {
            assert!(format!("oci://{host}/words:1").parse::<ModuleReference>().is_err(), "{host}");
        }
        for rest in ["a__b/c-d---e/f.g_h:1.0.0-rc.1_x", &format!("{long}:1"), &format!("a:1@sha256:{digest}")] {
            assert!(format!("oci://a.example/{rest}").parse::<ModuleReference>().is_ok(), "{rest}");
        }
        assert!(format!("oci://a.example/{long}a:1").parse::<ModuleReference>().is_err());
    }

    #[test]
    fn only_a_registry_on_this_machine_is_on_loopback() {
        for (registry, expected) in [
            ("localhost:5000", true),
            ("127.0.0.1:5000", true),
            ("registry.example.com", false),
            ("10.0.0.1:5000", false),
            ("localhost.example.com:5000", false),
            ("127.0.0.1.example.com", false),
        ] {
            let reference: ModuleReference = format!("oci://{registry}/words:1").parse().unwrap();
            assert_eq!(reference.is_on_loopback(), expected, "{registry}");
        }
    }
}
