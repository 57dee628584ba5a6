//! The address at which a service notifies the gateway, in requests that subscribe.

use std::sync::Arc;

use secrecy::SecretString;

/// The address and the secret of an inbox. A connector writes placeholders, and never sees the
/// values.
#[derive(Clone)]
pub struct Hook {
    address: SecretString,
    secret: SecretString,
    masked: Arc<[SecretString]>,
}

impl Hook {
    /// `address` is a URL, and `secret` has no character that JSON escapes.
    pub fn new(address: String, secret: SecretString) -> Self {
        // A service may repeat the path without the host, and the last segment is the secret part.
        let segment = address.rsplit('/').next().unwrap_or_default();
        let segment = SecretString::from(segment);
        let address = SecretString::from(address);
        let masked = [address.clone(), segment, secret.clone()].into();
        Self { address, secret, masked }
    }

    /// The values, which are masked in responses.
    pub(super) fn masked(&self) -> &Arc<[SecretString]> {
        &self.masked
    }

    /// The body with the values in place of the placeholders.
    pub(super) fn fill(&self, body: egress::Body) -> egress::Body {
        body.with_secrets(&[
            ("{{hook.url}}", &self.address),
            ("{{hook.lifecycle-url}}", &self.address),
            ("{{hook.secret}}", &self.secret),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook() -> Hook {
        Hook::new("https://hooks.example/hooks/abc".to_owned(), "s3cret".into())
    }

    #[test]
    fn placeholders_in_json_and_forms_are_replaced() {
        let json =
            egress::Body::Json(r#"{"url":"{{hook.url}}","x":["{{hook.secret}}"],"l":"{{hook.lifecycle-url}}"}"#.into());
        let egress::Body::Json(filled) = hook().fill(json) else { panic!("JSON") };
        assert_eq!(
            filled,
            r#"{"url":"https://hooks.example/hooks/abc","x":["s3cret"],"l":"https://hooks.example/hooks/abc"}"#
        );
        let egress::Body::Form(fields) =
            hook().fill(egress::Body::Form(vec![("token".into(), "{{hook.secret}}".into())]))
        else {
            panic!("a form")
        };
        assert_eq!(fields, [("token".to_owned(), "s3cret".to_owned())]);
    }

    #[test]
    fn other_bodies_stay_as_they_are() {
        let bytes = egress::Body::Typed { content_type: "text/plain".into(), bytes: "{{hook.secret}}".into() };
        let egress::Body::Typed { bytes, .. } = hook().fill(bytes) else { panic!("bytes") };
        assert_eq!(bytes, "{{hook.secret}}");
    }
}
