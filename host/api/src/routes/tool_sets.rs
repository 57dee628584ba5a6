//! The routes of tool sets.

use crate::openapi::tool_sets as described;
use agents::tool_sets;
use auth::Scope::Integrate;
use endpoint::route::Handler::Scoped;
use endpoint::route::Members::{By, Record};
use endpoint::route::{Endpoint, Family, Route};

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/mcp-sets",
        family: Family::ToolSets,
        methods: &[
            Endpoint::get(Scoped(Integrate, |call, caller| Box::pin(tool_sets::list_sets(call, caller))))
                .page()
                .described(
                    "list",
                    "The tool sets of the tenant.",
                    Record("The tool sets, in the order of their names.", "ToolSetPage"),
                ),
            Endpoint::post(Scoped(Integrate, |call, caller| Box::pin(tool_sets::create_set(call, caller)))).described(
                "create",
                "Makes a tool set: the operations that agents get at one address, and how.",
                By(described::describe_create),
            ),
        ],
    },
    Route {
        path: "/mcp-sets/{set}",
        family: Family::ToolSets,
        methods: &[
            Endpoint::get(Scoped(Integrate, |call, caller| Box::pin(tool_sets::get_set(call, caller)))).described(
                "get",
                "Shows a tool set.",
                Record("The tool set.", "ToolSet"),
            ),
            Endpoint::delete(Scoped(Integrate, |call, caller| Box::pin(tool_sets::delete_set(call, caller))))
                .described(
                    "delete",
                    "Deletes a tool set. Its address is 404 from then on.",
                    Record("The tool set is deleted.", "ToolSetDeleted"),
                ),
        ],
    },
];
