//! The connector that `make bench` calls: a forwarding operation, like most operations of
//! connectors, without a rate limit, and the same with one that is never reached.

use connector_sdk::connector;

connector! {
    /// A service that exists only during a measurement.
    connector bench "Bench";

    auth Auth::None;

    upstream api "https://service.invalid";

    rate_limit plenty 1000000 per minute;

    /// An item by its id
    get_item: GET api "/items/{item_id}" {
        item_id: string,
        /// The members of the item to answer with
        view?: string,
    }
    example { item_id: "17", view: "full" };

    /// An item by its id, with a rate limit
    get_limited_item: GET api "/items/{item_id}" {
        item_id: string,
        /// The members of the item to answer with
        view?: string,
    }
    rate_limit plenty;
}
