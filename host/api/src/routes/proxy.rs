//! The route of requests to the services of connectors, around their operations.

use hyper::Method;

use crate::route::{Description, Endpoint, Family, Handler, Query, Route};
use crate::{openapi, proxy};
use auth::Scope::Proxy;

pub(super) static ROUTES: &[Route] = &[Route {
    path: super::PROXY,
    family: Family::Proxy,
    methods: &[
        Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Any,
            handler: Handler::Scoped(Proxy, |call, caller| Box::pin(proxy::send_request(call, caller))),
            description: Some(Description {
                id: "get",
                summary: "Sends a GET or HEAD request to a service.",
                members: openapi::proxy::describe,
            }),
        },
        Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::Any,
            handler: Handler::Scoped(Proxy, |call, caller| Box::pin(proxy::send_request(call, caller))),
            description: Some(Description {
                id: "post",
                summary: "Sends a POST request to a service.",
                members: openapi::proxy::describe_with_body,
            }),
        },
        Endpoint {
            method: Method::PUT,
            takes_head: false,
            query: Query::Any,
            handler: Handler::Scoped(Proxy, |call, caller| Box::pin(proxy::send_request(call, caller))),
            description: Some(Description {
                id: "put",
                summary: "Sends a PUT request to a service.",
                members: openapi::proxy::describe_with_body,
            }),
        },
        Endpoint {
            method: Method::PATCH,
            takes_head: false,
            query: Query::Any,
            handler: Handler::Scoped(Proxy, |call, caller| Box::pin(proxy::send_request(call, caller))),
            description: Some(Description {
                id: "patch",
                summary: "Sends a PATCH request to a service.",
                members: openapi::proxy::describe_with_body,
            }),
        },
        Endpoint {
            method: Method::DELETE,
            takes_head: false,
            query: Query::Any,
            handler: Handler::Scoped(Proxy, |call, caller| Box::pin(proxy::send_request(call, caller))),
            description: Some(Description {
                id: "delete",
                summary: "Sends a DELETE request to a service.",
                members: openapi::proxy::describe,
            }),
        },
    ],
}];
