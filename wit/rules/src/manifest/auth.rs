//! The auth scheme of a manifest.

use std::collections::HashSet;

use serde_json::Value;

use super::violations::Violations;
use super::{ApiKey, Auth, Manifest, Oauth2, shorten};
use crate::{Broken, address, ensure, header, name, pointer};

/// The form field for the credential, if the scheme names one.
pub(super) fn form_field<'a>(auth: &Auth<'a>) -> Option<&'a str> {
    match auth {
        Auth::None => None,
        Auth::Oauth2(oauth2) => oauth2.form_field,
        Auth::ApiKey(key) => key.form_field,
    }
}

pub(super) fn check(manifest: &Manifest<'_>, operations: &HashSet<&str>, found: &mut Violations) {
    match &manifest.auth {
        Auth::None => {}
        Auth::Oauth2(oauth2) => {
            let own = name::identifier_is_no_provider(manifest.identifier, oauth2.provider);
            found.add(format!("identifier `{}`", shorten(manifest.identifier)), own);
            check_oauth2(manifest, oauth2, found);
        }
        Auth::ApiKey(key) => check_key(key, found),
    }
    if let Some(operation) = manifest.auth.account_operation().filter(|operation| !operations.contains(operation)) {
        found.add("auth", Err(format!("there is no operation `{}`", shorten(operation)).into()));
    }
    if let Some(field) = form_field(&manifest.auth) {
        found.add("auth.form-field", ensure(!field.is_empty(), "the name of a form field is not empty"));
    }
}

/// No one can connect an account if the schema of its operation refuses the body `{}`.
pub(super) fn takes_no_input(operation: &str, input: &Value) -> Result<(), Broken> {
    let mut required = input.get("required").and_then(Value::as_array).into_iter().flatten();
    match required.find_map(Value::as_str) {
        None => Ok(()),
        Some(field) => Err(format!(
            "the gateway invokes the operation `{}` with the body `{{}}` when a user connects an account, but its field `{}` is \
             required; make the field optional, or name another operation",
            shorten(operation),
            shorten(field)
        )
        .into()),
    }
}

fn check_oauth2(manifest: &Manifest<'_>, oauth2: &Oauth2<'_>, found: &mut Violations) {
    let urls = [
        ("authorization-url", Some(oauth2.authorization_url)),
        ("token-url", Some(oauth2.token_url)),
        ("refresh-url", oauth2.refresh_url),
        ("revocation", oauth2.revocation_url),
    ];
    for (key, url) in urls {
        if let Some(url) = url.filter(|url| !url.is_empty()) {
            let example = manifest.upstream_additions.example_url(url, None);
            found.add(format!("oauth2.{key} `{}`", shorten(url)), example.and_then(|url| address::secret_url(&url)));
        }
    }
    let separator = matches!(oauth2.scope_separator, " " | ",");
    found.add("oauth2.scope-separator", ensure(separator, "scopes are separated by a space or a comma"));
    let identity = oauth2.identity.iter().flat_map(|identity| &identity.pointers);
    for text in identity.chain([&oauth2.token_pointer]) {
        found.add(format!("oauth2, pointer `{}`", shorten(text)), pointer::check(text));
    }
}

/// A user's key must not replace a header that decides where a request goes, where it ends, or how
/// it is to be read.
fn check_key(key: &ApiKey<'_>, found: &mut Violations) {
    if let Some(name) = key.header {
        found.add(format!("api-key, header `{}`", shorten(name)), header::key(name));
    }
    if let Some(name) = key.query {
        found.add("api-key, query", ensure(!name.is_empty(), "the name of a query parameter is not empty"));
    }
}
