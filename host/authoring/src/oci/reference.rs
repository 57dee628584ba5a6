//! The name of a module in a registry: `oci://registry.example.com/acme/words:1.0.0`, or
//! `…@sha256:…`.

use std::fmt;
use std::str::FromStr;

use oci_spec::distribution::Reference;
use url::Url;

/// Begins the name of a module in a registry.
pub(crate) const SCHEME: &str = "oci://";

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
        let reference = Reference::try_from(name).map_err(|error| error.to_string())?;
        let version = match (reference.digest(), reference.tag()) {
            (Some(digest), _) => Some(Version::Digest(digest.to_owned())),
            // The library takes the tag `latest` if there is no tag.
            (None, Some(tag)) if rest.contains(':') => Some(Version::Tag(tag.to_owned())),
            _ => None,
        };
        Ok(Self { registry: registry.to_owned(), repository: reference.repository().to_owned(), version })
    }
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
        for text in
            ["words", "oci://words", "oci://acme/words:1.0.0", "oci://", "oci://a.example/", "oci://a.example/W:1"]
        {
            assert!(text.parse::<ModuleReference>().is_err(), "{text}");
        }
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
