//! The result of an authorization, which the gateway appends to the URL that the user is sent to.

use std::fmt::Display;

use url::form_urlencoded::Serializer;
use url::{Url, UrlQuery};

use contract::Owner;
use contract::words::sentence;
use oauth::TokenError;
use store::{Authorization, ShownOnce};

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
        completion: ShownOnce,
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
    /// The account is not connected.
    Failed {
        /// The code, which comes from the provider or from the gateway.
        code: String,
        /// The words of the provider or the service, if it gave any.
        cause: Option<String>,
    },
}

/// Why no account was connected, for people.
pub struct Failure {
    /// The code.
    pub code: String,
    /// The party that can act.
    pub owner: Owner,
    /// The event.
    pub detail: String,
}

/// The codes of the gateway and the usual ones of providers, who can act, and what happened.
const CODES: [(&str, Owner, &str); 16] = [
    ("access_denied", Owner::User, "The user has not given access."),
    ("address_unavailable", Owner::Provider, "The service did not say at which address the account is."),
    ("answer_not_understood", Owner::Provider, "The provider answered in a form that the gateway does not understand."),
    (
        "authorization_failed",
        Owner::Provider,
        "The provider ended the authorization without a code that can be passed on.",
    ),
    ("connector_changed", Owner::Operator, "The connector was removed, or no longer uses OAuth 2."),
    ("exchange_refused", Owner::User, "The provider does not accept the code that the user came back with."),
    ("expired_token", Owner::User, "The user has not entered the code in time."),
    ("identity_unavailable", Owner::Provider, "The service did not say whose account it is."),
    ("internal_error", Owner::Operator, "The gateway could not store or read what it needs; the log has the cause."),
    ("not_configured", Owner::Operator, "A setting of the gateway's OAuth client is missing or wrong."),
    ("other_account", Owner::User, "The user has signed in with another account than the connected one."),
    (
        "other_issuer",
        Owner::Provider,
        "The user came back from another provider than the one of the authorization URL.",
    ),
    ("provider_unavailable", Owner::Provider, "The provider did not answer, or cannot answer now."),
    ("server_error", Owner::Provider, "The provider has failed."),
    ("too_many_integrations", Owner::User, "The user has connected as many accounts as the gateway allows."),
    (
        "withdrawn",
        Owner::Caller,
        "The link was deleted or finished, or the API key that began the authorization was revoked.",
    ),
];

impl Failure {
    /// The codes of the gateway and the usual ones of providers, which may send others.
    pub fn codes() -> impl Iterator<Item = &'static str> {
        CODES.into_iter().map(|(code, ..)| code)
    }
}

impl AuthorizationResult {
    /// A failure with a code of the gateway.
    pub fn failed(code: &str) -> Self {
        Self::Failed { code: code.to_owned(), cause: None }
    }

    /// As [`AuthorizationResult::failed`], with what the provider or the service said.
    pub fn failed_because(code: &str, cause: impl Display) -> Self {
        Self::Failed { code: code.to_owned(), cause: Some(cause.to_string()) }
    }

    /// Why no account was connected. `None` if an account was.
    pub fn failure(&self) -> Option<Failure> {
        let (code, cause) = match self {
            Self::Connected { .. } | Self::Pending { .. } => return None,
            Self::OtherAccount { .. } => ("other_account", None),
            Self::Failed { code, cause } => (code.as_str(), cause.as_deref()),
        };
        let known = CODES.iter().find(|(known, ..)| *known == code);
        let (owner, happened) = known.map_or(
            (Owner::Provider, "The provider ended the authorization with this code."),
            |(_, owner, happened)| (*owner, *happened),
        );
        let cause = cause.map(|cause| format!(" {}", sentence(cause))).unwrap_or_default();
        Some(Failure { code: code.to_owned(), owner, detail: format!("{happened}{cause}") })
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
                .append_pair("completion", &completion.shown().to_string()),
            Self::OtherAccount { .. } => append_error(&mut query, "other_account", authorization),
            Self::Failed { code, .. } => append_error(&mut query, code, authorization),
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
        let code = match error {
            TokenError::Refused { .. } => "exchange_refused",
            TokenError::Misconfigured { .. } => "not_configured",
            TokenError::Unavailable { .. } => "provider_unavailable",
            TokenError::NotUnderstood { .. } => "answer_not_understood",
        };
        Self::failed_because(code, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::{DatabaseTime, Holder, StateHash};

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
            key_id: None,
            oauth_client: None,
            expires_at: DatabaseTime::EPOCH,
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
        let pending =
            AuthorizationResult::Pending { user_identifier: "ann".to_owned(), completion: "c-1".to_owned().into() };
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
                AuthorizationResult::of_provider(odd)
                    .failure()
                    .is_some_and(|failure| failure.code == "authorization_failed"),
                "{odd}"
            );
        }
    }

    #[test]
    fn a_failure_says_what_happened_who_can_act_and_what_the_provider_said() {
        let error = TokenError::Refused { error: "invalid_grant".to_owned(), description: None };
        let failure = AuthorizationResult::from(&error).failure().unwrap();
        assert_eq!((failure.code.as_str(), failure.owner), ("exchange_refused", Owner::User));
        assert_eq!(
            failure.detail,
            "The provider does not accept the code that the user came back with. The provider refused the code or token: invalid_grant."
        );
        let unknown = AuthorizationResult::of_provider("consent_gone").failure().unwrap();
        assert_eq!((unknown.code.as_str(), unknown.owner), ("consent_gone", Owner::Provider));
    }

    #[test]
    fn every_code_is_documented() {
        let page = include_str!("../../docs/accounts.md");
        for (code, owner, _) in CODES {
            let row = page.lines().find(|line| line.starts_with(&format!("| `{code}` |")));
            assert!(row.is_some_and(|row| row.ends_with(&format!("| {} |", owner.name()))), "{code}: {row:?}");
        }
    }
}
