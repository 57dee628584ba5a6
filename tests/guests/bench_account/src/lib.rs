//! As the guest `bench`, but users need accounts: `make bench` compares the two to find the price
//! of a credential.

use connector_sdk::connector;

connector! {
    /// A service with accounts that exists only during a measurement.
    connector bench_account "Bench with accounts";

    auth Auth::OAuth2(OAuth2 {
        provider: "acme",
        authorization_url: "https://service.invalid/authorize",
        token_url: "https://service.invalid/token",
        scopes: &["items"],
        identity: Some(Identity { operation: "me", id: "/id", email: Some("/email"), name: Some("/name") }),
        ..OAuth2::STANDARD
    });

    upstream api "https://service.invalid";
    upstream accounts "https://service.invalid" credential standard;

    /// An item by its id
    get_item: GET api "/items/{item_id}" {
        item_id: string,
        /// The members of the item to answer with
        view?: string,
    }
    example { item_id: "17", view: "full" };

    /// The connected account
    me: GET accounts "/me" {}
    example {};
}
