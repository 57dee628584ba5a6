//! Methods of requests, in the terms of the contract, of rows and of HTTP.

use crate::bindings::gateway::connector::http as wit;

/// The method of a request of the guest.
pub(super) fn method(method: wit::Method) -> hyper::Method {
    match method {
        wit::Method::Get => hyper::Method::GET,
        wit::Method::Head => hyper::Method::HEAD,
        wit::Method::Post => hyper::Method::POST,
        wit::Method::Put => hyper::Method::PUT,
        wit::Method::Patch => hyper::Method::PATCH,
        wit::Method::Delete => hyper::Method::DELETE,
    }
}

/// The method of a declared row.
pub(crate) fn method_of_row(method: wit::Method) -> rows::Method {
    match method {
        wit::Method::Get => rows::Method::Get,
        wit::Method::Head => rows::Method::Head,
        wit::Method::Post => rows::Method::Post,
        wit::Method::Put => rows::Method::Put,
        wit::Method::Patch => rows::Method::Patch,
        wit::Method::Delete => rows::Method::Delete,
    }
}

/// The method of a request that is made from a declared row.
pub(crate) fn method_for_guest(method: rows::Method) -> wit::Method {
    match method {
        rows::Method::Get => wit::Method::Get,
        rows::Method::Head => wit::Method::Head,
        rows::Method::Post => wit::Method::Post,
        rows::Method::Put => wit::Method::Put,
        rows::Method::Patch => wit::Method::Patch,
        rows::Method::Delete => wit::Method::Delete,
    }
}
