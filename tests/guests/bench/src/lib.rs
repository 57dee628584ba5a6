//! What `make bench` calls: a thin operation as connectors have them by the hundred, but with no rate limit.

use connector_sdk::connector;

connector! {
    /// A service that exists only while it is measured.
    connector bench "Bench";

    auth Auth::None;

    upstream api "https://service.invalid";

    /// Item by its id
    get_item: GET api "/items/{item_id}" {
        item_id: string,
        /// Members that are wanted of the item
        view?: string,
    }
    example { item_id: "17", view: "full" };
}
