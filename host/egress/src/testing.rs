//! Stand-in upstreams on loopback, for the tests of this crate.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use tokio::time::Instant;

pub(crate) use stub::{Stub, answer, ok, raw};

use super::{
    Credential, CredentialUse, Egress, EgressError, FormField, Lookup, Request, Settings, Target, Upstream,
    UpstreamSettings,
};

/// Knows the names that are given, and no other.
pub(crate) fn names(known: &[(&str, &[&str])]) -> Lookup {
    let addresses = |texts: &[&str]| texts.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect();
    let known: HashMap<String, Vec<_>> =
        known.iter().map(|(name, texts)| ((*name).to_owned(), addresses(texts))).collect();
    Arc::new(move |host| {
        let found = known.get(&host).cloned().ok_or_else(|| std::io::Error::other(format!("no such host: {host}")));
        Box::pin(async move { found })
    })
}

pub(crate) fn egress_with(lookup: Lookup) -> Egress {
    Egress::new(&Settings { lookup, ..Settings::default() }).unwrap()
}

pub(crate) fn egress() -> Egress {
    egress_with(names(&[("home.test", &["127.0.0.1"]), ("other.test", &["127.0.0.1"])]))
}

/// An upstream in a private network. Its own host and `link_hosts` are granted.
pub(crate) fn upstream(base_url: &str, link_hosts: &[String]) -> Upstream {
    Upstream::new(settings(base_url, link_hosts)).unwrap()
}

/// As [`upstream`]. Requests carry the credential in the form field `token`.
pub(crate) fn in_form_field(base_url: &str, link_hosts: &[String]) -> Upstream {
    let field = FormField { name: "token".to_owned(), other_names: vec!["access_token".to_owned()] };
    Upstream::new(UpstreamSettings { credential: CredentialUse::FormField(field), ..settings(base_url, link_hosts) })
        .unwrap()
}

fn settings(base_url: &str, link_hosts: &[String]) -> UpstreamSettings {
    let own = base_url.trim_start_matches("http://").split('/').next().unwrap().to_owned();
    UpstreamSettings {
        name: "api".to_owned(),
        base_url: base_url.to_owned(),
        granted_hosts: [&[own], link_hosts].concat(),
        link_hosts: link_hosts.to_vec(),
        allow_private_network: true,
        ..UpstreamSettings::default()
    }
}

pub(crate) fn request(method: Method, path: &str) -> Request {
    let (target, deadline) = (Target::Path(path.to_owned()), Instant::now() + Duration::from_secs(20));
    Request::new(method, target, deadline, 1 << 20)
}

pub(crate) fn get(path: &str) -> Request {
    request(Method::GET, path)
}

pub(crate) const TOKEN: &str = "tok-3f/9+A~secret";

pub(crate) fn with_token(request: Request) -> Request {
    Request { credential: Some(Credential::bearer(TOKEN.into()).unwrap()), ..request }
}

/// Sends, and reads the body.
pub(crate) async fn fetch(
    egress: &Egress,
    upstream: &Upstream,
    request: &Request,
) -> Result<(u16, String), EgressError> {
    let response = egress.send(upstream, request).await?;
    let body = response.body.collect(u64::MAX).await?;
    Ok((response.status.as_u16(), String::from_utf8(body.to_vec()).unwrap()))
}
