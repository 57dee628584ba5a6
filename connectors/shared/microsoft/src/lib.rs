//! The parts that connectors of Microsoft Graph share: the OAuth 2.0 provider, the account's
//! identity, the hosts of files, the descriptions of parameters, and what happens in an account.
//!
//! A table is in [`graph!`] in place of `connector!`, and uses the parts as follows.
//! - `auth Auth::OAuth2(OAuth2 { scopes: &[…], ..connector_microsoft::OAUTH2 });` The scopes
//!   include `offline_access` and `User.Read`.
//! - `upstream graph "https://graph.microsoft.com/v1.0";` If an operation returns a file, the
//!   statement ends with `links connector_microsoft::FILE_HOSTS`.
//! - `header "ConsistencyLevel" "eventual" when query ["$search", "$count" unless "false"];`
//! - `userinfo: read fn connector_microsoft::userinfo example {};`
//! - In a test, `connector_microsoft::testing::check(&CONNECTOR);`
//!
//! Rows of Graph are as follows.
//! - A list: `query?: entries["$select", …, "$skiptoken"]` and
//!   `pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken"`.
//!   Calendars and mail continue with `$skip` instead of `$skiptoken`.
//! - A file: `GET graph "…/content" answers file`. Graph redirects to an address that needs no
//!   credential. The gateway follows it without the credential, and takes the name of the file from
//!   the response.
//! - A search: the text is a field with `odata_string`, in the path `/search(q='{q}')`.
//!
//! Connectors of SharePoint sites are declared with [`sites!`], which has the rows that they have
//! in common.

pub mod delta;
pub mod sites;
#[cfg(test)]
mod sites_tests;
pub mod subscription;
#[cfg(not(target_family = "wasm"))]
pub mod testing;

use connector_sdk::auth::{Identity, OAuth2};
use connector_sdk::http::{self, Error, Request};
use connector_sdk::userinfo::Userinfo;
use connector_sdk::{Fault, Outcome};

/// The Microsoft identity platform as an OAuth 2.0 provider. Each connector adds its scopes.
///
/// The tenant `common` is for personal, work and school accounts. The operator can set the URLs of
/// one tenant.
///
/// Microsoft issues a refresh token only for the scope `offline_access`. Each refresh issues a new
/// one, and the old one stays valid. Microsoft offers no revocation (RFC 7009).
pub const OAUTH2: OAuth2 = OAuth2 {
    provider: "microsoft",
    authorization_url: "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
    token_url: "https://login.microsoftonline.com/common/oauth2/v2.0/token",
    authorization_parameters: &[("response_mode", "query")],
    identity: Some(Identity::USERINFO),
    ..OAuth2::STANDARD
};

/// The hosts that Graph redirects downloads of files to.
pub const FILE_HOSTS: &[&str] = &[
    "sharepoint.com",
    "*.sharepoint.com",
    "svc.ms",
    "*.svc.ms",
    "1drv.com",
    "*.1drv.com",
    "storage.live.com",
    "*.storage.live.com",
    "onedrive.live.com",
    "*.onedrive.live.com",
    "onedrive.com",
    "*.onedrive.com",
    "microsoftpersonalcontent.com",
    "*.microsoftpersonalcontent.com",
];

/// Declares a connector of Microsoft Graph. The macro adds the descriptions of OData's parameters,
/// which are entries of `query`, to the connector's own statements and rows.
#[macro_export]
macro_rules! graph {
    ($(#[$($documentation:tt)*])* connector $identifier:ident $title:tt; $($own_parts:tt)*) => {
        ::connector_sdk::connector! {
            $(#[$($documentation)*])*
            connector $identifier $title;

            entries {
                /// properties of the answer, with commas between
                "$select",
                /// related objects to include, with commas between
                "$expand",
                /// condition that items must meet
                "$filter",
                /// words to find, in double quotes
                "$search",
                /// properties to sort by, such as name desc
                "$orderby",
                /// size of a page
                "$top",
                /// number of items to skip
                "$skip",
                /// true adds the number of all items
                "$count",
                /// token of the next page, from @odata.nextLink
                "$skiptoken",
            };

            $($own_parts)*
        }
    };
}

/// Returns the identity of the connected account. Sends one request to the upstream `graph`.
///
/// # Errors
/// Microsoft's own refusal, or [`Error::BadAnswer`] if the response has no account id.
pub fn userinfo() -> Result<Outcome, Fault> {
    let path = "/me?$select=id,displayName,mail,userPrincipalName";
    let user = http::send(Request::get("graph", path))?.successful()?.document()?;
    let Some(id) = user.string("/id") else {
        return Err(Error::BadAnswer("Microsoft's response for /me has no `id`".to_owned()).into());
    };
    let username = user.string("/userPrincipalName");
    Userinfo {
        id,
        // Only accounts with a mailbox have a separate address.
        email: user.string("/mail").or_else(|| username.clone()),
        username,
        name: user.string("/displayName"),
        picture: None,
        organization: None,
    }
    .answer()
}

#[cfg(test)]
mod tests {
    use connector_sdk::http::Error;
    use connector_sdk::testing::{Answer, Gateway};
    use connector_sdk::{Fault, Outcome};

    use super::userinfo;

    fn answer(user: &str) -> String {
        let gateway = Gateway::new().answer(Answer::json(200, user));
        let Ok(Outcome::Reply(text)) = userinfo() else { panic!("a reply") };
        let requests = gateway.requests();
        assert_eq!((requests.len(), requests[0].upstream.as_str()), (1, "graph"));
        assert_eq!(requests[0].path, "/me?$select=id,displayName,mail,userPrincipalName");
        text
    }

    #[test]
    fn a_user_becomes_the_common_shape() {
        assert_eq!(
            answer(
                r#"{"id":"48d31887","displayName":"Ada L","mail":"ada@acme.test","userPrincipalName":"ada.l@acme.test"}"#
            ),
            r#"{"data":{"id":"48d31887","email":"ada@acme.test","username":"ada.l@acme.test","name":"Ada L","picture":null,"organization":null},"meta":null}"#
        );
    }

    #[test]
    fn a_user_without_a_mailbox_has_the_address_that_it_signs_in_with() {
        assert_eq!(
            answer(r#"{"id":"48d31887","displayName":null,"mail":null,"userPrincipalName":"ada@acme.test"}"#),
            r#"{"data":{"id":"48d31887","email":"ada@acme.test","username":"ada@acme.test","name":null,"picture":null,"organization":null},"meta":null}"#
        );
        assert_eq!(
            answer(r#"{"id":"48d31887"}"#),
            r#"{"data":{"id":"48d31887","email":null,"username":null,"name":null,"picture":null,"organization":null},"meta":null}"#
        );
    }

    #[test]
    fn a_response_without_an_account_is_an_error() {
        let _gateway = Gateway::new().answer(Answer::json(200, "{}"));
        assert!(matches!(userinfo(), Err(Fault::Http(Error::BadAnswer(_)))));
    }

    #[test]
    fn a_refused_token_is_passed_on_as_401() {
        let body = r#"{"error":{"code":"InvalidAuthenticationToken","message":"Access token has expired."}}"#;
        let _gateway = Gateway::new().answer(Answer::json(401, body));
        let Err(Fault::Upstream(failure)) = userinfo() else { panic!("Microsoft's refusal") };
        assert_eq!((failure.status, failure.body.as_deref()), (401, Some(body)));
    }
}
