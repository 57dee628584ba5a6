//! The routes of agents. The Model Context Protocol describes their messages, so the API's
//! description leaves them out.

use hyper::Method;

use crate::api::mcp::{self, metadata};
use crate::api::route::{Endpoint, Family, Handler, Query, Route};
use crate::auth::Scope::Operate;

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/mcp",
        family: Family::Mcp,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Operate, |call, caller| Box::pin(mcp::post_all(call, caller))),
            description: None,
        }],
    },
    Route {
        path: "/mcp/readonly",
        family: Family::Mcp,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Operate, |call, caller| Box::pin(mcp::post_readonly(call, caller))),
            description: None,
        }],
    },
    Route {
        path: "/mcp/{connector}",
        family: Family::Mcp,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Operate, |call, caller| Box::pin(mcp::post_all(call, caller))),
            description: None,
        }],
    },
    Route {
        path: "/mcp/{connector}/readonly",
        family: Family::Mcp,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Operate, |call, caller| Box::pin(mcp::post_readonly(call, caller))),
            description: None,
        }],
    },
    Route {
        path: "/.well-known/oauth-protected-resource/mcp",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Public(|call| Box::pin(metadata::get_metadata(call))),
            description: None,
        }],
    },
    Route {
        path: "/.well-known/oauth-protected-resource/mcp/readonly",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Public(|call| Box::pin(metadata::get_metadata(call))),
            description: None,
        }],
    },
    Route {
        path: "/.well-known/oauth-protected-resource/mcp/{connector}",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Public(|call| Box::pin(metadata::get_metadata(call))),
            description: None,
        }],
    },
    Route {
        path: "/.well-known/oauth-protected-resource/mcp/{connector}/readonly",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Public(|call| Box::pin(metadata::get_metadata(call))),
            description: None,
        }],
    },
];
