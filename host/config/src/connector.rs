//! The settings of one connector.

use std::collections::BTreeMap;

use serde_json::Value;
use url::Url;

use super::declare::{Entry, OptionalSection, Settings, section, settings, values_by_name};
use super::error::Location;
use super::kind::{Shown, choice, optional, or_empty};
use super::list::List;
use super::section::Section;
use super::value::{self, base_url, boolean, integer, link_hosts, optional_endpoint, share, string, strings};
use contract::{ClientAuthentication, Oauth2};

/// Parameters that the protocol sets. Neither a manifest nor the operator can add them: the
/// provider would see them twice and could use either.
pub const PROTOCOL_PARAMETERS: [&str; 13] = [
    "client_id",
    "client_secret",
    "code",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
    "grant_type",
    "redirect_uri",
    "refresh_token",
    "response_type",
    "state",
    "token",
    "token_type_hint",
];

settings! {
    /// The settings of one connector.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Connector {
        /// `true` if upstreams and OAuth endpoints may be at loopback and private addresses.
        pub allow_private_network: bool = false => "allow_private_network": boolean();
        /// `true` if the addresses in `upstreams`, and only those, may be at loopback and private
        /// addresses. The configuration does not set it: it is for authors who name a stand-in of
        /// the service on their own machine.
        pub trusts_replacements: bool = false;
        /// Base URLs that replace the manifest's, by upstream. Setting a URL here also grants its
        /// host.
        pub upstreams: BTreeMap<String, Url> = BTreeMap::new()
            => "upstreams": values_by_name(not_an_upstream, or_empty(base_url()));
        /// Hosts that redirects and links from an upstream may lead to, in addition to the hosts in
        /// the manifest. Setting a host here also grants it.
        pub link_hosts: BTreeMap<String, Vec<String>> = BTreeMap::new()
            => "link_hosts": values_by_name(not_an_upstream, optional(link_hosts()));
        /// Values that replace the values of the manifest's OAuth scheme.
        pub oauth: Oauth = Oauth::default() => "oauth": section();
        /// Values that replace the values of the manifest's inboxes.
        pub hooks: ConnectorHooks = ConnectorHooks::default() => "hooks": section();
        /// Values of the settings that the connector declares. The registry validates them when it
        /// loads the connector.
        pub settings: BTreeMap<String, Setting> = BTreeMap::new() => "settings": OwnSettings;
        /// Limits of one call.
        pub limits: Limits = Limits::default() => "limits": section();
        /// Minimum delay between requests to each upstream. It cannot be shorter than the
        /// manifest's.
        pub pacing: Option<Pacing> = None => "pacing": OptionalSection;
    }
}

/// The value of one setting of a connector.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The value.
    pub value: Value,
    /// The text of the environment variable, if one sets the value. A text that can be read as a
    /// number may be meant as a string.
    pub text: Option<String>,
    /// For messages about the value.
    pub location: Location,
}

settings! {
    /// Values that replace the values of a manifest's OAuth scheme. `None` leaves the manifest's
    /// value.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Oauth {
        /// The page that users authorize on.
        pub authorization_url: Option<Url> = None => "authorization_url": optional_endpoint();
        /// The endpoint for codes and refresh tokens.
        pub token_url: Option<Url> = None => "token_url": optional_endpoint();
        /// The endpoint for device codes.
        pub device_authorization_url: Option<Url> = None => "device_authorization_url": optional_endpoint();
        /// The endpoint that revokes tokens.
        pub revocation_url: Option<Url> = None => "revocation_url": optional_endpoint();
        /// The endpoint that returns the user's account.
        pub userinfo_url: Option<Url> = None => "userinfo_url": optional_endpoint();
        /// The scopes that users are asked to permit.
        pub scopes: Option<Vec<String>> = None => "scopes": optional(strings());
        /// The way in which the gateway proves itself at the token endpoint.
        pub client_authentication: Option<ClientAuthentication> = None
            => "client_authentication": choice("\"body\", \"basic\", or empty", CLIENT_AUTHENTICATIONS);
        /// `true` if a grant that a newer one of the same account has replaced is revoked.
        pub revokes_replaced_grants: Option<bool> = None => "revokes_replaced_grants": optional(boolean());
        /// Parameters of the authorization request, in addition to the manifest's parameters. A
        /// parameter with the name of a manifest's parameter replaces it, and an empty value
        /// removes it.
        pub authorization_parameters: BTreeMap<String, String> = BTreeMap::new()
            => "authorization_parameters": values_by_name(set_by_the_protocol, optional(string()));
    }
}

settings! {
    /// Values that replace the values of a manifest's inboxes. `None` leaves the manifest's value.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ConnectorHooks {
        /// The keys with which the service signs the tokens of its notifications.
        pub jwks_url: Option<Url> = None => "jwks_url": optional_endpoint();
    }
}

const CLIENT_AUTHENTICATIONS: &[(&str, Option<ClientAuthentication>)] =
    &[("body", Some(ClientAuthentication::Body)), ("basic", Some(ClientAuthentication::Basic)), ("", None)];

impl Oauth {
    /// Returns `true` if the operator named another provider than the manifest.
    pub fn replaces_provider(&self) -> bool {
        self.authorization_url.is_some() || self.token_url.is_some()
    }

    /// The manifest's scheme with the operator's client authentication, revocation of replaced
    /// grants and authorization parameters. URLs and scopes are unchanged.
    pub fn adjusted(&self, scheme: &Oauth2) -> Oauth2 {
        let mut scheme = scheme.clone();
        if let Some(client_authentication) = self.client_authentication {
            scheme.client_authentication = client_authentication;
        }
        scheme.revokes_replaced_grants = self.revokes_replaced_grants.unwrap_or(scheme.revokes_replaced_grants);
        let own = &self.authorization_parameters;
        scheme.authorization_parameters.retain(|(name, _)| !own.contains_key(name));
        let added = own.iter().filter(|(_, value)| !value.is_empty());
        scheme.authorization_parameters.extend(added.map(|(name, value)| (name.clone(), value.clone())));
        scheme
    }
}

settings! {
    /// Limits of one call of a connector.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Limits {
        /// All linear memories and tables of an instance together, in MiB. 0 stands for the
        /// default. See [`Limits::instance_mb`].
        pub memory_mb: usize = 0 => "memory_mb": integer(0..=4096);
        /// Computing time of an invocation, in milliseconds.
        pub cpu_ms: u64 = 1000 => "cpu_ms": integer(1..=600_000);
        /// Duration of the whole call, with all waiting for upstreams, in seconds.
        pub timeout_s: u64 = 30 => "timeout_s": integer(1..=3600);
        /// Size of an upstream's response that is read into memory, in MiB.
        pub response_mb: usize = 32 => "response_mb": integer(1..=4096);
        /// Size of an answer that the connector composes, and of other data that it passes to the
        /// gateway at a time, in MiB. 0 stands for the value of `response_mb`.
        pub output_mb: usize = 0 => "output_mb": integer(0..=4096);
        /// Concurrent calls of this connector.
        pub concurrency: usize = 256 => "concurrency": integer(1..=100_000);
        /// The part of the concurrent calls that one tenant may have while others need them. Above
        /// 0, at most 1.
        pub tenant_share: f64 = 0.5 => "tenant_share": share();
        /// Size of a file that is forwarded to the caller, in MiB.
        pub download_mb: usize = 50 => "download_mb": integer(1..=10_240);
    }
}

settings! {
    /// A queue in front of an upstream.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Pacing {
        /// Time between the starts of two requests, in milliseconds.
        pub interval_ms: u64 = 0 => "interval_ms": integer(0..=3_600_000);
        /// Longest time in the queue, in milliseconds. A request that would wait longer is refused.
        pub max_wait_ms: u64 = 10_000 => "max_wait_ms": integer(0..=3_600_000);
        /// Concurrent requests.
        pub concurrency: u32 = 1 => "concurrency": integer(1..=100_000);
    }
}

impl Limits {
    /// All linear memories and tables of an instance together, in MiB.
    ///
    /// The default is 32. If the operator raises `response_mb`, it is twice this value, so that the
    /// connector has room for a response and for the answer that it makes of it.
    pub fn instance_mb(&self) -> usize {
        /// Enough for responses of the default size, and for answers that are much smaller.
        const DEFAULT: usize = 32;
        /// The largest memory of WebAssembly.
        const MAX: usize = 4096;
        match self.memory_mb {
            0 if self.response_mb > Self::default().response_mb => MAX.min(2 * self.response_mb),
            0 => DEFAULT,
            set => set,
        }
    }

    /// Data that the connector passes to the gateway at a time, in MiB.
    pub fn passed_mb(&self) -> usize {
        if self.output_mb == 0 { self.response_mb } else { self.output_mb }
    }
}

/// The sections of connectors by their identifiers.
pub(super) struct Connectors;

impl Entry<BTreeMap<String, Connector>> for Connectors {
    fn read(&self, section: &mut Section<'_>, key: &'static str, target: &mut BTreeMap<String, Connector>) {
        section.each(key, |identifier, connectors| {
            if let Err(broken) = contract_rules::name::identifier(identifier) {
                connectors.refuse(identifier, &format!("is not the identifier of a connector: {broken}"));
                return;
            }
            let mut connector = Connector::default();
            connectors.section(identifier, |section| connector.read(section));
            target.insert(identifier.to_owned(), connector);
        });
    }

    fn show(&self, list: &mut List, key: &'static str, connectors: &BTreeMap<String, Connector>) {
        list.section(key, |list| {
            for (identifier, connector) in connectors {
                list.section(identifier, |list| connector.show(list));
            }
        });
    }
}

/// The settings that a connector declares.
struct OwnSettings;

impl Entry<BTreeMap<String, Setting>> for OwnSettings {
    fn read(&self, section: &mut Section<'_>, key: &'static str, target: &mut BTreeMap<String, Setting>) {
        section.each(key, |name, settings| {
            let location = settings.location(name);
            let mut setting = None;
            settings.value(name, &mut setting, |given| {
                let text = given.text.map(str::to_owned);
                Ok(Some(Setting { value: value::json(given.value)?, text, location }))
            });
            target.extend(setting.map(|setting| (name.to_owned(), setting)));
        });
    }

    fn show(&self, list: &mut List, key: &'static str, settings: &BTreeMap<String, Setting>) {
        list.section(key, |list| {
            for name in settings.keys() {
                // A manifest does not say which of its settings are secret.
                list.add(name, Shown::Secret(true));
            }
        });
    }
}

fn not_an_upstream(name: &str) -> Option<&'static str> {
    let is_refused = contract_rules::name::plain(name).is_err();
    is_refused.then_some("is not the name of an upstream; use 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`")
}

fn set_by_the_protocol(name: &str) -> Option<&'static str> {
    let is_refused = PROTOCOL_PARAMETERS.contains(&name);
    is_refused.then_some("is a parameter that the gateway sets itself; leave it out")
}
