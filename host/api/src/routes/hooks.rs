//! The route of notifications of services.

use hyper::Method;

use crate::hooks;
use crate::route::{Endpoint, Family, Handler, Query, Route};

pub(super) static ROUTES: &[Route] = &[Route {
    path: "/hooks/{address}",
    family: Family::Hooks,
    methods: &[
        Endpoint {
            method: Method::GET,
            takes_head: false,
            query: Query::Any,
            handler: Handler::Public(|call| Box::pin(hooks::receive(call))),
            description: None,
        },
        Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::Any,
            handler: Handler::Public(|call| Box::pin(hooks::receive(call))),
            description: None,
        },
    ],
}];
