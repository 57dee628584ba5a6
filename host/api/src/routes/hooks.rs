//! The route of notifications of services.

use endpoint::route::Handler::Public;
use endpoint::route::{Endpoint, Family, Query, Route};
use rest::hooks;

pub(super) static ROUTES: &[Route] = &[Route {
    path: "/hooks/{address}",
    family: Family::Hooks,
    methods: &[
        Endpoint::get(Public(|call| Box::pin(hooks::receive(call)))).without_head().query(Query::Any),
        Endpoint::post(Public(|call| Box::pin(hooks::receive(call)))).query(Query::Any),
    ],
}];
