//! The settings of one connector.

use std::collections::BTreeMap;

use serde_json::Value;
use url::Url;

use super::error::Location;
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

/// The settings of one connector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connector {
    /// Base URLs that replace the manifest's, by upstream. Setting a URL here also grants its host.
    pub upstreams: BTreeMap<String, Url>,
    /// Values that replace the values of the manifest's OAuth scheme.
    pub oauth: Oauth,
    /// `true` if upstreams and OAuth endpoints may be at loopback and private addresses.
    pub allow_private_network: bool,
    /// `true` if the addresses in `upstreams`, and only those, may be at loopback and private
    /// addresses. The configuration does not set it: it is for authors who name a stand-in of the
    /// service on their own machine.
    pub trusts_replacements: bool,
    /// Hosts that redirects and links from an upstream may lead to, in addition to the hosts in the
    /// manifest. Setting a host here also grants it.
    pub link_hosts: BTreeMap<String, Vec<String>>,
    /// Values of the settings that the connector declares. The registry validates them when it
    /// loads the connector.
    pub settings: BTreeMap<String, Setting>,
    /// Limits of one call.
    pub limits: Limits,
    /// Minimum delay between requests to each upstream. It cannot be shorter than the manifest's.
    pub pacing: Option<Pacing>,
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

/// Values that replace the values of a manifest's OAuth scheme. `None` leaves the manifest's value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oauth {
    /// The page that users authorize on.
    pub authorization_url: Option<Url>,
    /// The endpoint for codes and refresh tokens.
    pub token_url: Option<Url>,
    /// The endpoint for device codes.
    pub device_authorization_url: Option<Url>,
    /// The endpoint that revokes tokens.
    pub revocation_url: Option<Url>,
    /// The endpoint that returns the user's account.
    pub userinfo_url: Option<Url>,
    /// The scopes that users are asked to permit.
    pub scopes: Option<Vec<String>>,
    /// The way in which the gateway proves itself at the token endpoint.
    pub client_authentication: Option<ClientAuthentication>,
    /// `true` if a grant that a newer one of the same account has replaced is revoked.
    pub revokes_replaced_grants: Option<bool>,
    /// Parameters of the authorization request, in addition to the manifest's parameters. A
    /// parameter with the name of a manifest's parameter replaces it, and an empty value removes
    /// it.
    pub authorization_parameters: BTreeMap<String, String>,
}

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

/// Limits of one call of a connector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// All linear memories and tables of an instance together, in MiB. 0 stands for the default.
    /// See [`Limits::instance_mb`].
    pub memory_mb: usize,
    /// Computing time of an invocation, in milliseconds.
    pub cpu_ms: u64,
    /// Duration of the whole call, with all waiting for upstreams, in seconds.
    pub timeout_s: u64,
    /// Size of an upstream's response that is read into memory, in MiB.
    pub response_mb: usize,
    /// Size of an answer that the connector composes, and of other data that it passes to the
    /// gateway at a time, in MiB. 0 stands for the value of `response_mb`.
    pub output_mb: usize,
    /// Concurrent calls of this connector.
    pub concurrency: usize,
    /// The part of the concurrent calls that one tenant may have while others need them. Above 0,
    /// at most 1.
    pub tenant_share: f64,
    /// Size of a file that is forwarded to the caller, in MiB.
    pub download_mb: usize,
}

/// A queue in front of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Time between the starts of two requests, in milliseconds.
    pub interval_ms: u64,
    /// Longest time in the queue, in milliseconds. A request that would wait longer is refused.
    pub max_wait_ms: u64,
    /// Concurrent requests.
    pub concurrency: u32,
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

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_mb: 0,
            cpu_ms: 1000,
            timeout_s: 30,
            response_mb: 32,
            output_mb: 0,
            concurrency: 256,
            tenant_share: 0.5,
            download_mb: 50,
        }
    }
}

impl Default for Pacing {
    fn default() -> Self {
        Self { interval_ms: 0, max_wait_ms: 10_000, concurrency: 1 }
    }
}
