//! The routes of agents. The Model Context Protocol describes their messages, so the API's
//! description leaves them out.

use hyper::Method;

use crate::mcp::{self, files, metadata};
use crate::route::{Endpoint, Family, Handler, Query, Route};
use auth::Scope::Operate;

/// The tools of a caller at an address.
static ALL: &[Endpoint] = &[Endpoint {
    method: Method::POST,
    takes_head: false,
    query: Query::None,
    handler: Handler::Scoped(Operate, |call, caller| Box::pin(mcp::post_all(call, caller))),
    description: None,
}];

/// Those of them that only read.
static READONLY: &[Endpoint] = &[Endpoint {
    method: Method::POST,
    takes_head: false,
    query: Query::None,
    handler: Handler::Scoped(Operate, |call, caller| Box::pin(mcp::post_readonly(call, caller))),
    description: None,
}];

static FILE: &[Endpoint] = &[Endpoint {
    method: Method::GET,
    takes_head: false,
    query: Query::None,
    handler: Handler::Public(|call| Box::pin(files::get_file(call))),
    description: None,
}];

/// Each address of agents has one.
static METADATA: &[Endpoint] = &[Endpoint {
    method: Method::GET,
    takes_head: true,
    query: Query::None,
    handler: Handler::Public(|call| Box::pin(metadata::get_metadata(call))),
    description: None,
}];

pub(super) static ROUTES: &[Route] = &[
    Route { path: "/mcp", family: Family::Mcp, methods: ALL },
    Route { path: "/mcp/readonly", family: Family::Mcp, methods: READONLY },
    Route { path: "/mcp/sets/{set}", family: Family::Mcp, methods: ALL },
    Route { path: "/mcp/sets/{set}/readonly", family: Family::Mcp, methods: READONLY },
    Route { path: "/mcp/{connector}", family: Family::Mcp, methods: ALL },
    Route { path: "/mcp/{connector}/readonly", family: Family::Mcp, methods: READONLY },
    Route { path: "/mcp-files/{token}", family: Family::Mcp, methods: FILE },
    Route { path: "/.well-known/oauth-protected-resource/mcp", family: Family::System, methods: METADATA },
    Route { path: "/.well-known/oauth-protected-resource/mcp/readonly", family: Family::System, methods: METADATA },
    Route { path: "/.well-known/oauth-protected-resource/mcp/sets/{set}", family: Family::System, methods: METADATA },
    Route {
        path: "/.well-known/oauth-protected-resource/mcp/sets/{set}/readonly",
        family: Family::System,
        methods: METADATA,
    },
    Route { path: "/.well-known/oauth-protected-resource/mcp/{connector}", family: Family::System, methods: METADATA },
    Route {
        path: "/.well-known/oauth-protected-resource/mcp/{connector}/readonly",
        family: Family::System,
        methods: METADATA,
    },
];
