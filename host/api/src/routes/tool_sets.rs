//! The routes of tool sets.

use hyper::Method;

use crate::openapi::tool_sets as described;
use crate::route::{Description, Endpoint, Family, Handler, Query, Route};
use crate::tool_sets;
use auth::Scope::Integrate;

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/mcp-sets",
        family: Family::ToolSets,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::Read,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(tool_sets::list_sets(call, caller))),
                description: Some(Description {
                    id: "list",
                    summary: "The tool sets of the tenant.",
                    members: described::describe_list,
                }),
            },
            Endpoint {
                method: Method::POST,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(tool_sets::create_set(call, caller))),
                description: Some(Description {
                    id: "create",
                    summary: "Makes a tool set: the operations that agents get at one address, and how.",
                    members: described::describe_create,
                }),
            },
        ],
    },
    Route {
        path: "/mcp-sets/{set}",
        family: Family::ToolSets,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::None,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(tool_sets::get_set(call, caller))),
                description: Some(Description {
                    id: "get",
                    summary: "Shows a tool set.",
                    members: described::describe_set,
                }),
            },
            Endpoint {
                method: Method::DELETE,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(tool_sets::delete_set(call, caller))),
                description: Some(Description {
                    id: "delete",
                    summary: "Deletes a tool set. Its address is 404 from then on.",
                    members: described::describe_delete,
                }),
            },
        ],
    },
];
