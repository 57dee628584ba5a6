//! The ways to authorize that a connector declares in addition to its auth scheme
//! (`auth-additions`).

use super::violations::Violations;
use super::{ApiKey, Auth, Manifest, PartSource, Violation, shorten};
use crate::limit::{ENDED_CODE_BYTES, ENDED_CODES};
use crate::signature::{AwsSignature, HmacSignature, Region, TextPart};
use crate::text::line;
use crate::{Broken, address, ensure, path};

/// The placeholder in the path of [`AppInstallation`].
pub const INSTALLATION_ID: &str = "{installation_id}";

/// The declarations of a connector.
#[derive(Clone, Debug, Default)]
pub struct AuthAdditions<'a> {
    /// `true` if accounts may be connected by client credentials.
    pub client_credentials: bool,
    /// Set if accounts may be connected by the key of a service account.
    pub service_account: Option<ServiceAccount<'a>>,
    /// Set if accounts may be installations of an application.
    pub app_installation: Option<AppInstallation<'a>>,
    /// Set if users may authorize with a code on another device.
    pub device_code: Option<DeviceCode<'a>>,
    /// Set if requests are signed with AWS Signature Version 4.
    pub aws_signature: Option<AwsSignature<&'a str>>,
    /// Set if requests are signed by HMAC.
    pub hmac_signature: Option<HmacSignature<&'a str, Vec<TextPart<&'a str>>>>,
    /// The provider's codes for grants that have ended.
    pub ended_codes: Vec<&'a str>,
}

/// A service account that signs a JWT.
#[derive(Clone, Copy, Debug)]
pub struct ServiceAccount<'a> {
    /// The claim `aud`. `None` for the token URL.
    pub audience: Option<&'a str>,
}

/// Installations of an application.
#[derive(Clone, Copy, Debug)]
pub struct AppInstallation<'a> {
    /// Name of an upstream.
    pub upstream: &'a str,
    /// Path below it.
    pub path: &'a str,
}

/// The device authorization grant.
#[derive(Clone, Copy, Debug)]
pub struct DeviceCode<'a> {
    /// URL of the device authorization endpoint. May be empty.
    pub device_authorization_url: &'a str,
}

/// Checks the declarations against the manifest that `describe` returned after them. Returns every
/// rule that they break.
#[must_use]
pub fn check_auth_additions(manifest: &Manifest<'_>, additions: &AuthAdditions<'_>) -> Vec<Violation> {
    let mut found = Violations(Vec::new());
    let AuthAdditions { client_credentials, service_account, app_installation, device_code, .. } = additions;
    check_signatures(manifest, additions, &mut found);
    let is_oauth2 = matches!(manifest.auth, Auth::Oauth2(_));
    check_ended_codes(&additions.ended_codes, is_oauth2, &mut found);
    let declared = [
        ("client-credentials", *client_credentials),
        ("service-account", service_account.is_some()),
        ("app-installation", app_installation.is_some()),
        ("device-code", device_code.is_some()),
    ];
    for (name, _) in declared.into_iter().filter(|(_, declared)| *declared) {
        found.add(format!("auth-additions, `{name}`"), ensure(is_oauth2, "it needs the auth scheme `oauth2`"));
    }
    let declares = declared.iter().any(|(_, declared)| *declared);
    if let Auth::Oauth2(oauth2) = &manifest.auth
        && declares
    {
        let whole = ensure(!has_part(manifest, oauth2.token_url), "the token URL has no part of an account's address");
        found.add("auth-additions", whole);
    }
    if let Some(audience) = service_account.and_then(|account| account.audience) {
        let sound = !audience.is_empty() && audience.bytes().all(|byte| byte.is_ascii_graphic());
        found.add(
            "auth-additions, audience of `service-account`",
            ensure(sound, "an audience is not empty, and has only visible ASCII characters"),
        );
    }
    if let Some(AppInstallation { upstream, path }) = app_installation {
        if !manifest.upstreams.iter().any(|known| known.name == *upstream) {
            let broken = Err(format!("there is no upstream `{}`", shorten(upstream)).into());
            found.add("auth-additions, `app-installation`", broken);
        }
        let known = manifest.upstreams.iter().filter(|known| known.name == *upstream);
        let is_whole = known.into_iter().all(|known| !has_part(manifest, known.base_url));
        let whole = ensure(is_whole, "the base URL of its upstream has no part of an account's address");
        found.add("auth-additions, `app-installation`", whole);
        found.add(format!("auth-additions, path `{}`", shorten(path)), installation_path(path));
    }
    if let Some(DeviceCode { device_authorization_url: url }) = device_code
        && !url.is_empty()
    {
        let part = format!("auth-additions, device-authorization-url `{}`", shorten(url));
        let whole = ensure(
            !url.contains(['{', '}']),
            "the device authorization URL has neither a part of an account's address nor another placeholder",
        );
        found.add(part, whole.and_then(|()| line(url)).and_then(|()| address::secret_url(url)));
    }
    found.0
}

fn check_ended_codes(codes: &[&str], is_oauth2: bool, found: &mut Violations) {
    let part = "auth-additions, `ended-codes`";
    found.add(part, ensure(is_oauth2 || codes.is_empty(), "it needs the auth scheme `oauth2`"));
    found.add(part, ensure(codes.len() <= ENDED_CODES, "at most 32 codes"));
    for code in codes.iter().take(ENDED_CODES) {
        let form =
            ensure(is_ended_code(code), "a code has 1 to 64 visible ASCII characters, among them a letter or a digit");
        found.add(format!("{part}, `{}`", shorten(code)), form);
    }
}

/// Returns `true` if a text has the form of a provider's error code.
#[must_use]
pub const fn is_ended_code(code: &str) -> bool {
    let (mut has_letter, mut rest) = (false, code.as_bytes());
    while let [byte, others @ ..] = rest {
        if !byte.is_ascii_graphic() {
            return false;
        }
        has_letter |= byte.is_ascii_alphanumeric();
        rest = others;
    }
    has_letter && code.len() <= ENDED_CODE_BYTES
}

/// The auth scheme names the header for a signature, and a connector declares one kind of it.
fn check_signatures(manifest: &Manifest<'_>, additions: &AuthAdditions<'_>, found: &mut Violations) {
    let AuthAdditions { aws_signature, hmac_signature, .. } = additions;
    let header = match &manifest.auth {
        Auth::ApiKey(ApiKey { header: Some(header), prefix, form_field: None, .. }) => {
            Some((*header, prefix.unwrap_or_default()))
        }
        _ => None,
    };
    const SCHEME: &str = "it needs the auth scheme `api-key`, with the header for the signature as its `placement` and without a \
                          `form-field`";
    if let Some(declared) = aws_signature {
        let part = "auth-additions, `aws-signature-v4`";
        found.add(part, ensure(header.is_some(), SCHEME));
        let is_authorization =
            header.is_none_or(|(header, prefix)| header.eq_ignore_ascii_case("authorization") && prefix.is_empty());
        found.add(part, ensure(is_authorization, "the header of its signature is `Authorization`, without a prefix"));
        found.add(part, declared.check());
        if let Region::Part(name) = declared.region {
            let mut parts = manifest.upstream_additions.parts.iter();
            let is_known = parts.any(|part| part.name == name && part.source == PartSource::User);
            found.add(part, ensure(is_known, "the part of its region is a part of the address that the user gives"));
        }
        found.add(part, ensure(hmac_signature.is_none(), "a connector declares one kind of signature"));
    }
    if let Some(declared) = hmac_signature {
        let part = "auth-additions, `hmac-signature`";
        found.add(part, ensure(header.is_some(), SCHEME));
        found.add(part, declared.check(header.map(|(header, _)| header).unwrap_or_default()));
    }
}

/// Returns `true` if a URL has a declared part of accounts' addresses. Tokens are fetched before a
/// service can tell the parts of an account.
fn has_part(manifest: &Manifest<'_>, url: &str) -> bool {
    let mut parts = manifest.upstream_additions.parts.iter();
    parts.any(|part| url.contains(&format!("{{{}}}", part.name)))
}

fn installation_path(path: &str) -> Result<(), Broken> {
    let rule = "the path begins with `/`, has no query, and contains `{installation_id}` once, as a whole segment";
    ensure(is_installation_path(path), rule)?;
    path::check(&path.replace(INSTALLATION_ID, "1"))
}

/// Returns `true` for a path without a query that has the placeholder once, as a whole segment.
/// `connector!` refuses other paths at compile time.
#[must_use]
pub const fn is_installation_path(path: &str) -> bool {
    let (mut braces, mut segments, mut rest) = (0, 0, path.as_bytes());
    let is_absolute = matches!(rest, [b'/', ..]);
    while let [byte, others @ ..] = rest {
        match *byte {
            b'?' | b'#' => return false,
            b'{' => braces += 1,
            b'/' if begins_with_placeholder(others) => segments += 1,
            _ => {}
        }
        rest = others;
    }
    is_absolute && braces == 1 && segments == 1
}

/// Returns `true` if the first segment is the placeholder.
const fn begins_with_placeholder(path: &[u8]) -> bool {
    let (mut rest, mut placeholder) = (path, INSTALLATION_ID.as_bytes());
    while let ([byte, others @ ..], [expected, further @ ..]) = (rest, placeholder) {
        if *byte != *expected {
            return false;
        }
        (rest, placeholder) = (others, further);
    }
    placeholder.is_empty() && matches!(rest, [] | [b'/', ..])
}
