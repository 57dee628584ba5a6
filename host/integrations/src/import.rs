//! Imports accounts of other systems, with their tokens and keys. Nothing is called at a provider.

use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};

use ring::pbkdf2;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::key::Key;
use super::key_form::KeyUse;
use super::ways::grant_types;
use super::{AccountSecret, IntegrationError, Integrations};
use clock::timestamp::Timestamp;
use config::rsa_key;
use contract::{AuthAdditions, AuthScheme, Signature};
use oauth::{AccountGrant, Tokens};
use registry::RefusedPart;
use store::digest::sha256_hex;
use store::{Account, Holder, Imported, Labels, NewImport, StoreError};

/// An account to import.
pub struct Import {
    /// The user, and the connector.
    pub holder: Holder,
    /// The name of the integration.
    pub user_identifier: String,
    /// The credentials of the account.
    pub credentials: ImportedCredentials,
    /// The scopes that the user has permitted. `None` for the scopes of the
    /// connector.
    pub scopes: Option<Vec<String>>,
    /// The account at the service.
    pub account: Account,
    /// Labels of the integration.
    pub labels: Option<Labels>,
}

/// The credentials of an account to import. Which of them are needed depends on the connector.
#[derive(Default)]
pub struct ImportedCredentials {
    /// An OAuth 2.0 access token.
    pub access_token: Option<SecretString>,
    /// An OAuth 2.0 refresh token.
    pub refresh_token: Option<SecretString>,
    /// The end of the access token. `None` if it does not end.
    pub expires_at: Option<SystemTime>,
    /// An API key.
    pub api_key: Option<SecretString>,
    /// The user name of HTTP Basic.
    pub username: Option<String>,
    /// The password of HTTP Basic.
    pub password: Option<SecretString>,
    /// A key that signs requests.
    pub signing_key: Option<Key>,
    /// The credentials from which access tokens are made.
    pub grant: Option<AccountGrant>,
}

impl ImportedCredentials {
    /// The name of a secret that no request can carry.
    fn with_control_character(&self) -> Option<&'static str> {
        let secrets = [
            ("access_token", &self.access_token),
            ("refresh_token", &self.refresh_token),
            ("api_key", &self.api_key),
            ("password", &self.password),
        ];
        let breaks = |secret: &SecretString| secret.expose_secret().contains(char::is_control);
        let of_user = self.username.as_deref().filter(|name| name.contains(char::is_control)).map(|_| "username");
        let of_secret = secrets.iter().find(|(_, secret)| secret.as_ref().is_some_and(breaks)).map(|(name, _)| *name);
        of_secret.or(of_user)
    }
}

/// The outcome for an account. The error is a sentence for the operator.
type ImportResult = Result<Imported, String>;

impl Integrations {
    /// Imports accounts in one transaction. The results are in the order of the accounts. With
    /// `replaces`, an account that is there is replaced.
    pub async fn import(&self, imports: Vec<Import>, replaces: bool) -> Vec<ImportResult> {
        let mut results: Vec<Option<ImportResult>> = Vec::with_capacity(imports.len());
        let mut sealed = Vec::with_capacity(imports.len());
        for import in &imports {
            match self.sealed_import(import).await {
                Ok(import) => {
                    sealed.push(import);
                    results.push(None);
                }
                Err(error) => results.push(Some(Err(error))),
            }
        }
        let mut imported = self.import_sealed(sealed, replaces).await.into_iter();
        let results: Vec<ImportResult> = results
            .into_iter()
            .map(|refused| {
                refused.or_else(|| imported.next()).unwrap_or_else(|| Err("Send the line again.".to_owned()))
            })
            .collect();
        for (import, result) in imports.iter().zip(&results) {
            if matches!(result, Ok(Imported::Created(_) | Imported::Replaced(_))) {
                self.cache.changed(&import.holder, &import.user_identifier).await;
            }
        }
        results
    }

    /// Stores accounts in one transaction. If the database refuses it because of one account, each is
    /// stored by itself, so that the others are imported.
    async fn import_sealed(&self, sealed: Vec<NewImport>, replaces: bool) -> Vec<ImportResult> {
        let count = sealed.len();
        let error = match self.store.integrations().import(sealed.clone(), replaces).await {
            Ok(imported) => return imported.into_iter().map(Ok).collect(),
            Err(error) => error,
        };
        if error.is_failure() {
            tracing::warn!(%error, "accounts are not imported");
            return vec![Err("The database does not respond. Send the line again.".to_owned()); count];
        }
        let mut results = Vec::with_capacity(count);
        for import in sealed {
            let imported = self.store.integrations().import(vec![import], replaces).await;
            results.push(match imported.map(|mut imported| imported.pop()) {
                Ok(Some(imported)) => Ok(imported),
                Ok(None) => Err("Send the line again.".to_owned()),
                Err(error) => {
                    tracing::warn!(%error, "an account is not imported");
                    Err(refused_by_database(&error))
                }
            });
        }
        results
    }

    /// # Errors
    /// A sentence that says why the account cannot be imported.
    async fn sealed_import(&self, import: &Import) -> Result<NewImport, String> {
        let Import { holder, user_identifier, scopes, account, labels, .. } = import;
        let Some(connector) = self.registry.get(&holder.connector) else {
            return Err(format!("There is no connector `{}`.", holder.connector));
        };
        if let Err(RefusedPart { name, detail }) = connector.check_address(&account.address) {
            return Err(format!("/address/{name}: {detail}"));
        }
        if let Some(unknown) =
            account.address.keys().find(|name| connector.address_parts().iter().all(|part| part.name != **name))
        {
            return Err(format!("/address/{unknown}: The connector has no such part of an address."));
        }
        let auth = &connector.manifest().auth;
        if let Some(member) = import.credentials.with_control_character() {
            return Err(format!("/credentials/{member}: It has a control character, such as a line break at its end."));
        }
        if let Some(grant) = &import.credentials.grant {
            check_grant(grant, connector.auth_additions())?;
        }
        let mut secret = secret_of(import, auth, connector.auth_additions().signature.as_ref())?;
        if secret.is_too_short() {
            return Err("The token or key is too short to be masked in answers; it needs 8 bytes.".to_owned());
        }
        let failed = |error: IntegrationError| {
            error.log("an account cannot be imported");
            "The gateway cannot seal the credentials now. Send the line again.".to_owned()
        };
        if let (AuthScheme::Oauth2(scheme), AccountSecret::OAuth2 { client, scopes: requested, .. }) =
            (auth, &mut secret)
        {
            // Tokens that are made from the account's credentials belong to no client of the tenant.
            if import.credentials.grant.is_none() {
                let own = self.client_for_new(&holder.tenant, &connector, scheme).await.map_err(failed)?;
                *client = own.map(|own| own.id);
            }
            *requested = scopes.clone().unwrap_or_else(|| scheme.scopes.clone());
        }
        let connected = self.sealed_account(holder, user_identifier, labels.clone(), account.clone(), &secret).await;
        let connected = connected.map_err(failed)?;
        // Stretching takes so long that it must not run on a serving thread.
        let bytes = if guessable(&import.credentials).is_some() { STRETCHING_BYTES } else { 0 };
        let hash = compute::run(bytes, || hash_of(import)).await;
        Ok(NewImport { holder: holder.clone(), user_identifier: user_identifier.clone(), connected, hash })
    }
}

/// Why the database does not take one account.
fn refused_by_database(error: &StoreError) -> String {
    let refused = match error {
        StoreError::ZeroByte => "A text of the line has a zero byte (U+0000), which the database cannot store.",
        error if error.is_failure() => "The database does not respond. Send the line again.",
        // The data key was retired after the credentials were sealed.
        StoreError::DataKeyInUse => "The gateway cannot seal the credentials now. Send the line again.",
        _ => "The database does not take the account; the gateway's log says why.",
    };
    refused.to_owned()
}

fn secret_of(import: &Import, auth: &AuthScheme, signature: Option<&Signature>) -> Result<AccountSecret, String> {
    let ImportedCredentials {
        access_token,
        refresh_token,
        expires_at,
        api_key,
        username,
        password,
        signing_key,
        grant,
    } = &import.credentials;
    match auth {
        AuthScheme::Oauth2(_) => {
            let since = clock::now();
            let lifetime = expires_at.map(|at| at.duration_since(since).unwrap_or_default());
            let (access_token, expires_in) = match (access_token, refresh_token.is_some() || grant.is_some()) {
                (Some(token), _) => (token.clone(), lifetime),
                // The first call refreshes it.
                (None, true) => (SecretString::from(UNKNOWN_TOKEN), Some(Duration::ZERO)),
                (None, false) => {
                    return Err(
                        "The connector uses OAuth 2: `credentials` needs an `access_token`, a `refresh_token` or a `grant`."
                            .to_owned(),
                    );
                }
            };
            let refresh_token = refresh_token.clone().filter(|_| grant.is_none());
            let tokens = Tokens { access_token, refresh_token, expires_in, scopes: None, grant: grant.clone() };
            Ok(AccountSecret::OAuth2 { tokens, scopes: Vec::new(), since, client: None })
        }
        AuthScheme::ApiKey(scheme) => {
            let usage = KeyUse::of(scheme, signature, &import.account.address);
            let placed = || Key::new(api_key.clone(), username.clone(), password.clone());
            let key = signing_key.clone().or_else(placed);
            let fits = key.filter(|key| key.credential(&usage).is_ok());
            let key = fits.ok_or_else(|| {
                "The connector takes a key: `credentials` needs the members that GET /connectors/{connector}/auth-schema says."
                    .to_owned()
            })?;
            Ok(AccountSecret::ApiKey(key, usage))
        }
        AuthScheme::None => Ok(AccountSecret::None),
    }
}

/// Checks that a connector takes such credentials, and that the gateway can use them.
///
/// # Errors
/// A sentence that says what is wrong.
fn check_grant(grant: &AccountGrant, additions: &AuthAdditions) -> Result<(), String> {
    if !grant_types(additions).any(|known| known == grant.grant_type()) {
        return Err(
            "The connector does not take such a `grant`; GET /connectors/{connector}/auth-schema says what it takes."
                .to_owned(),
        );
    }
    let needs_subject = additions.service_account.as_ref().is_some_and(|declared| declared.needs_subject);
    if needs_subject && matches!(grant, AccountGrant::ServiceAccount { subject: None, .. }) {
        return Err(
            "/credentials/grant/subject: The connector needs the user for whom the service account acts.".to_owned()
        );
    }
    match grant.private_key().map(rsa_key) {
        Some(Err(error)) => Err(format!("The private key of the `grant` cannot be used: {error}.")),
        _ => Ok(()),
    }
}

/// The secret that could be guessed from its hash: a password, or a short key.
fn guessable(credentials: &ImportedCredentials) -> Option<&SecretString> {
    let is_short = |key: &&SecretString| key.expose_secret().len() < LONG_KEY;
    credentials.password.as_ref().or_else(|| credentials.api_key.as_ref().filter(is_short))
}

/// Length from which a key is taken to be random and too long to be guessed.
const LONG_KEY: usize = 20;

/// Iterations of PBKDF2. They take some 30 ms.
const ITERATIONS: NonZeroU32 = NonZeroU32::MIN.saturating_add(99_999);

/// The size of a computation that takes as long.
const STRETCHING_BYTES: usize = 1 << 20;

/// The access token of an account that was imported without one. It has expired, so no request
/// carries it.
const UNKNOWN_TOKEN: &str = "not-imported";

/// The hash of what is imported, by which the same line is recognised. It is stored as it is.
/// Tokens and long keys cannot be guessed from it. A password or a short key could, so it is
/// stretched first.
fn hash_of(import: &Import) -> String {
    let Import { holder, user_identifier, credentials, scopes, account, labels } = import;
    let stretched = guessable(credentials).map(|secret| {
        let salt = [&*holder.tenant, &holder.subject, &holder.connector, user_identifier].join("\0");
        let mut key = [0; 32];
        pbkdf2::derive(
            pbkdf2::PBKDF2_HMAC_SHA256,
            ITERATIONS,
            salt.as_bytes(),
            secret.expose_secret().as_bytes(),
            &mut key,
        );
        sha256_hex(&key)
    });
    let text = |secret: &Option<SecretString>| secret.as_ref().map(|secret| secret.expose_secret().to_owned());
    let mut whole = json!([
        holder.tenant,
        holder.subject,
        holder.connector,
        user_identifier,
        text(&credentials.access_token),
        text(&credentials.refresh_token),
        credentials.expires_at.map(|at| Timestamp::from(at).to_string()),
        text(&credentials.api_key).filter(|_| stretched.is_none()),
        credentials.username,
        stretched,
        scopes,
        [&account.id, &account.email, &account.name],
        labels,
    ]);
    // Added only if they are there, so that lines without them keep the hash that is stored.
    if let Some(parts) = whole.as_array_mut() {
        let signing = credentials.signing_key.as_ref().map(Key::to_bytes);
        parts.extend(signing.map(|key| json!(String::from_utf8_lossy(key.expose_secret()))));
        parts.extend(credentials.grant.as_ref().map(AccountGrant::to_export));
        parts.extend(Some(&account.address).filter(|address| !address.is_empty()).map(|address| json!(address)));
    }
    let whole = SecretString::from(whole.to_string());
    sha256_hex(whole.expose_secret().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{account, account_secret, holder, site};
    use contract::ServiceAccount;

    fn import(api_key: &str, password: Option<&str>, user_identifier: &str) -> Import {
        Import {
            holder: Holder { tenant: "acme".into(), subject: "ann".into(), connector: "mail".into() },
            user_identifier: user_identifier.to_owned(),
            credentials: ImportedCredentials {
                api_key: Some(api_key.into()),
                password: password.map(SecretString::from),
                ..ImportedCredentials::default()
            },
            scopes: None,
            account: Account::default(),
            labels: None,
        }
    }

    #[tokio::test]
    async fn an_account_that_the_database_refuses_does_not_keep_the_others_out() {
        let site = site().await;
        let integrations = &site.integrations;
        let mut sealed = Vec::new();
        for name in ["first", "refused", "last"] {
            let (holder, secret) = (holder("ann"), account_secret(Duration::from_secs(60)));
            let connected = integrations.sealed_account(&holder, name, None, account("a@example.com"), &secret).await;
            let connected = connected.unwrap();
            sealed.push(NewImport { holder, user_identifier: name.to_owned(), connected, hash: name.to_owned() });
        }
        // As if its data key had been deleted.
        sealed[1].connected.details.secret.as_mut().unwrap().key_id = "gone".to_owned();
        let results = integrations.import_sealed(sealed, false).await;
        assert!(matches!(&results[..], [Ok(Imported::Created(_)), Err(_), Ok(Imported::Created(_))]), "{results:?}");
        assert!(integrations.find(&holder("ann"), "last").await.unwrap().is_some());
        assert!(integrations.find(&holder("ann"), "refused").await.unwrap().is_none());
        assert!(refused_by_database(&StoreError::ZeroByte).contains("zero byte"));
    }

    #[test]
    fn a_service_account_is_refused_without_the_subject_that_the_connector_needs() {
        let refusal = |subject: &str, needs_subject: bool| {
            let key_file = r#"{"client_email":"robot@acme","private_key":"no key"}"#;
            let grant = format!(r#"{{"type":"service_account","key_file":{key_file}{subject}}}"#);
            let service_account = Some(ServiceAccount { audience: None, needs_subject });
            let additions = AuthAdditions { service_account, ..AuthAdditions::default() };
            check_grant(&AccountGrant::from_export(&grant).unwrap(), &additions).unwrap_err()
        };
        assert!(refusal("", true).starts_with("/credentials/grant/subject: "));
        let named = r#","subject":"ada@acme""#;
        for key_is_wrong in [refusal(named, true), refusal("", false)] {
            assert!(key_is_wrong.contains("private key"), "{key_is_wrong}");
        }
    }

    #[test]
    fn each_part_of_a_line_changes_its_hash() {
        let long = "a-key-of-many-characters";
        let imports = [
            import(long, None, "a"),
            import(long, None, "b"),
            import("a-longer-key-of-many-characters", None, "a"),
            import("short-key", None, "a"),
            import("other-key", None, "a"),
            import(long, Some("password"), "a"),
            import(long, Some("passw0rd"), "a"),
        ];
        let mut hashes: Vec<_> = imports.iter().map(hash_of).collect();
        assert_eq!(hashes[0], hash_of(&import(long, None, "a")));
        hashes.sort();
        hashes.dedup();
        assert_eq!(hashes.len(), imports.len());
    }
}
