//! A table of a service whose base URL differs from account to account.

use connector_sdk::connector;
use connector_sdk::table::{PartForm, PartSource};
use connector_sdk::testing::forwarded;

connector! {
    /// Tickets of a help desk.
    connector helpdesk "Help desk";
    auth Auth::OAuth2(OAuth2 {
        provider: "acme",
        authorization_url: "https://{subdomain}.acme.example/authorize",
        token_url: "https://{subdomain}.acme.example/token",
        identity: Some(Identity { operation: "me", id: "/id", email: None, name: None }),
        ..OAuth2::STANDARD
    });

    /// Your subdomain
    address subdomain: label(..=30) from user;
    /// Site of the user
    address cloud: segment from "/cloud/id";

    upstream sites "https://{subdomain}.acme.example" site "acme.example";
    upstream api "https://{subdomain}.acme.example/ex/{cloud}" site "acme.example" credential standard;
    upstream files "{api}/files";

    /// The connected user
    me: GET sites "/me";

    /// Tickets
    tickets: GET api "/tickets";
}

#[test]
fn a_table_has_the_parts_of_addresses_and_the_sites_of_upstreams() {
    let [subdomain, cloud] = CONNECTOR.address else { panic!("two parts") };
    assert_eq!((subdomain.name, subdomain.title, subdomain.max_length), ("subdomain", "Your subdomain", 30));
    assert!(matches!((&subdomain.source, subdomain.form), (PartSource::User, PartForm::Label)));
    assert!(matches!((&cloud.source, cloud.form), (PartSource::Account("/cloud/id"), PartForm::Segment)));
    let sites: Vec<_> = CONNECTOR.upstreams.iter().map(|upstream| upstream.site).collect();
    assert_eq!(sites, [Some("acme.example"), Some("acme.example"), None]);
    assert_eq!(forwarded(&CONNECTOR, "tickets", "{}").path, "/tickets");
}
