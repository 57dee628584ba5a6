//! URLs that callers give to the gateway.

use url::Url;

/// Reads an absolute http or https URL without user, password and fragment. `example` shows a right
/// one.
///
/// # Errors
/// A sentence that says what is wrong with the URL.
pub fn parse(text: &str, example: &str) -> Result<Url, String> {
    // URLs may be stored as they were written, and PostgreSQL cannot store this.
    if text.contains('\0') {
        return Err("Must have no zero byte (U+0000).".to_owned());
    }
    let url = Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| format!("Must be an absolute http or https URL, such as {example}."))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("Must not contain a user name or a password.".to_owned());
    }
    if url.fragment().is_some() {
        return Err("Must not have a fragment (`#…`).".to_owned());
    }
    Ok(url)
}
