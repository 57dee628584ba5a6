//! The route of notifications of services.

use crate::hooks;
use crate::route::Handler::Public;
use crate::route::{Endpoint, Family, Query, Route};

pub(super) static ROUTES: &[Route] = &[Route {
    path: "/hooks/{address}",
    family: Family::Hooks,
    methods: &[
        Endpoint::get(Public(|call| Box::pin(hooks::receive(call)))).without_head().query(Query::Any),
        Endpoint::post(Public(|call| Box::pin(hooks::receive(call)))).query(Query::Any),
    ],
}];
