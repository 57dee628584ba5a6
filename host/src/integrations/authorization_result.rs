//! The result of an authorization, which the gateway appends to the URL that the user is sent to.

use secrecy::{ExposeSecret, SecretString};
use url::form_urlencoded::Serializer;
use url::{Url, UrlQuery};

use crate::oauth::TokenError;
use store::Authorization;

/// The result of an authorization. Its codes never change, because applications read them.
#[derive(Clone, Debug)]
pub enum AuthorizationResult {
    /// The account is connected.
    Connected {
        /// The integration's identifier.
        user_identifier: String,
    },
    /// The account is connected once the caller confirms it.
    Pending {
        /// The integration's identifier.
        user_identifier: String,
        /// Confirms the grant, once.
        completion: SecretString,
    },
    /// The user has consented with another account than the one behind the identifier. Nothing is
    /// changed.
    OtherAccount {
        /// The integration's identifier.
        user_identifier: String,
        /// The account behind the identifier.
        connected: String,
        /// The account that the user has consented with.
        consented: String,
    },
    /// The account is not connected. The code comes from the provider or from the gateway.
    Failed(String),
}

impl AuthorizationResult {
    /// A failure with a code of the gateway.
    pub fn failed(code: &str) -> Self {
        Self::Failed(code.to_owned())
    }

    /// A failure that the provider reports. Its code is forwarded if it has the form of RFC 6749,
    /// section 4.1.2.1.
    pub fn of_provider(error: &str) -> Self {
        let is_code = (1..=64).contains(&error.len())
            && error.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
        Self::failed(if is_code { error } else { "authorization_failed" })
    }

    /// The URL that the user is sent to: the callback URL, with the result added to its query.
    ///
    /// # Errors
    /// If the stored callback URL cannot be parsed.
    pub fn location(&self, authorization: &Authorization) -> Result<Url, url::ParseError> {
        let mut url = Url::parse(&authorization.callback_url)?;
        let mut query = url.query_pairs_mut();
        match self {
            Self::Connected { user_identifier } => query
                .append_pair("status", "success")
                .append_pair("connector", &authorization.holder.connector)
                .append_pair("user_identifier", user_identifier),
            Self::Pending { user_identifier, completion } => query
                .append_pair("status", "pending")
                .append_pair("connector", &authorization.holder.connector)
                .append_pair("user_identifier", user_identifier)
                .append_pair("completion", completion.expose_secret()),
            Self::OtherAccount { .. } => append_error(&mut query, "other_account", authorization),
            Self::Failed(error) => append_error(&mut query, error, authorization),
        };
        drop(query);
        Ok(url)
    }
}

fn append_error<'a, 'q>(
    query: &'a mut Serializer<'q, UrlQuery<'q>>,
    error: &str,
    authorization: &Authorization,
) -> &'a mut Serializer<'q, UrlQuery<'q>> {
    query
        .append_pair("status", "error")
        .append_pair("error", error)
        .append_pair("connector", &authorization.holder.connector)
}

impl From<&TokenError> for AuthorizationResult {
    fn from(error: &TokenError) -> Self {
        Self::failed(match error {
            TokenError::Refused { .. } => "exchange_refused",
            TokenError::Misconfigured { .. } => "not_configured",
            TokenError::Unavailable { .. } => "provider_unavailable",
            TokenError::NotUnderstood { .. } => "answer_not_understood",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use store::{Holder, StateHash};

    fn authorization(callback_url: &str) -> Authorization {
        Authorization {
            hash: StateHash::default(),
            holder: Holder { tenant: "t".to_owned(), subject: "s".to_owned(), connector: "calendar".to_owned() },
            user_identifier: None,
            replaces: false,
            confirms: false,
            callback_url: callback_url.to_owned(),
            connect_link: None,
            redirect_uri: String::new(),
            verifier: None,
            labels: None,
            address: store::AccountAddress::new(),
            oauth_client: None,
            expires_at: SystemTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn the_query_of_the_callback_url_is_kept() {
        let connected = AuthorizationResult::Connected { user_identifier: "a+b@example.com".to_owned() };
        let url = connected.location(&authorization("https://app.example/done?x=%20y&x=2")).unwrap();
        assert_eq!(
            url.as_str(),
            "https://app.example/done?x=%20y&x=2&status=success&connector=calendar&user_identifier=a%2Bb%40example.com"
        );
    }

    #[test]
    fn the_callback_url_of_a_pending_grant_has_its_completion_and_the_debug_text_has_not() {
        let pending = AuthorizationResult::Pending { user_identifier: "ann".to_owned(), completion: "c-1".into() };
        let url = pending.location(&authorization("https://app.example/done")).unwrap();
        assert_eq!(url.query(), Some("status=pending&connector=calendar&user_identifier=ann&completion=c-1"));
        assert!(!format!("{pending:?}").contains("c-1"));
    }

    #[test]
    fn the_providers_error_is_passed_on_if_it_is_a_code() {
        let failed =
            AuthorizationResult::of_provider("access_denied").location(&authorization("http://localhost/")).unwrap();
        assert_eq!(failed.as_str(), "http://localhost/?status=error&error=access_denied&connector=calendar");
        for odd in ["", "a b", "<script>", &"x".repeat(65)] {
            assert!(
                matches!(AuthorizationResult::of_provider(odd), AuthorizationResult::Failed(code) if code == "authorization_failed"),
                "{odd}"
            );
        }
    }
}
