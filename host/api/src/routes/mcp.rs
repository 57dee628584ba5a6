//! The routes of agents. The Model Context Protocol describes their messages, so the API's
//! description leaves them out.

use agents::mcp::{self, files, metadata};
use auth::Scope::Operate;
use endpoint::route::Handler::{Public, Scoped};
use endpoint::route::{Endpoint, Family, Route};

/// The tools of a caller at an address.
static ALL: &[Endpoint] = &[Endpoint::post(Scoped(Operate, |call, caller| Box::pin(mcp::post_all(call, caller))))];

/// Those of them that only read.
static READONLY: &[Endpoint] =
    &[Endpoint::post(Scoped(Operate, |call, caller| Box::pin(mcp::post_readonly(call, caller))))];

static FILE: &[Endpoint] = &[Endpoint::get(Public(|call| Box::pin(files::get_file(call)))).without_head()];

/// Each address of agents has one.
static METADATA: &[Endpoint] = &[Endpoint::get(Public(|call| Box::pin(metadata::get_metadata(call))))];

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
