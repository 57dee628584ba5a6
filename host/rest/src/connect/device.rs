//! The page with a code that the user enters at the service, on this or another device.

use hyper::Response;
use url::Url;

use super::page::{DevicePage, device_page};
use super::visit::{page_url, unavailable};
use super::words::Words;
use body::Body;
use contract::Oauth2;
use gateway::Gateway;
use integrations::{BeginError, DeviceOptions};
use registry::Connector;
use store::{AccountAddress, ConnectLink};

/// Begins a device authorization for the user of a link, and shows its code. `token` is the secret
/// part of the link.
///
/// # Errors
/// If the provider gives no code.
pub(super) async fn begin(
    gateway: &Gateway,
    words: &'static Words,
    link: &ConnectLink,
    token: &str,
    connector: &Connector,
    scheme: &Oauth2,
    address: AccountAddress,
) -> Result<Response<Body>, BeginError> {
    let Some(back) = page_url(gateway, token) else { return Ok(unavailable(words)) };
    let options = DeviceOptions {
        user_identifier: link.user_identifier.clone(),
        replaces: false,
        labels: link.labels.clone(),
        address,
        connect_link: Some(link.id.clone()),
        key_id: None,
    };
    let holder = link.holder(connector.name());
    let codes = gateway.integrations.begin_device(&holder, connector, scheme, options).await?.codes;
    let url = codes.verification_uri_complete.as_ref().unwrap_or(&codes.verification_uri);
    // As browsers read it: a host in other letters, or a blank, is then seen as what it is.
    let Ok(url) = Url::parse(url) else { return Ok(unavailable(words)) };
    Ok(device_page(&DevicePage { words, user_code: &codes.user_code, url: url.as_str(), back: back.as_str() }))
}
