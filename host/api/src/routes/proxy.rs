//! The route of requests to the services of connectors, around their operations.

use crate::openapi;
use auth::Scope::Proxy;
use endpoint::route::Handler::Scoped;
use endpoint::route::Members::By;
use endpoint::route::{Endpoint, Family, Query, Route};
use rest::proxy;

pub(super) static ROUTES: &[Route] = &[Route {
    path: super::PROXY,
    family: Family::Proxy,
    methods: &[
        Endpoint::get(Scoped(Proxy, |call, caller| Box::pin(proxy::send_request(call, caller))))
            .query(Query::Any)
            .described("get", "Sends a GET or HEAD request to a service.", By(openapi::proxy::describe)),
        Endpoint::post(Scoped(Proxy, |call, caller| Box::pin(proxy::send_request(call, caller))))
            .query(Query::Any)
            .described("post", "Sends a POST request to a service.", By(openapi::proxy::describe_with_body)),
        Endpoint::put(Scoped(Proxy, |call, caller| Box::pin(proxy::send_request(call, caller))))
            .query(Query::Any)
            .described("put", "Sends a PUT request to a service.", By(openapi::proxy::describe_with_body)),
        Endpoint::patch(Scoped(Proxy, |call, caller| Box::pin(proxy::send_request(call, caller))))
            .query(Query::Any)
            .described("patch", "Sends a PATCH request to a service.", By(openapi::proxy::describe_with_body)),
        Endpoint::delete(Scoped(Proxy, |call, caller| Box::pin(proxy::send_request(call, caller))))
            .query(Query::Any)
            .described("delete", "Sends a DELETE request to a service.", By(openapi::proxy::describe)),
    ],
}];
