//! The routes of agent sessions.

use hyper::Method;

use crate::agent_sessions;
use crate::openapi::agent_sessions as described;
use crate::route::{Description, Endpoint, Family, Handler, Query, Route};
use auth::Scope::Operate;

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/agent-sessions",
        family: Family::AgentSessions,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Operate, |call, caller| Box::pin(agent_sessions::create_session(call, caller))),
            description: Some(Description {
                id: "create",
                summary: "Makes an agent session: a token for one address of agents, and shows it this once.",
                members: described::describe_create,
            }),
        }],
    },
    Route {
        path: "/agent-sessions/{session_id}",
        family: Family::AgentSessions,
        methods: &[Endpoint {
            method: Method::DELETE,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Operate, |call, caller| Box::pin(agent_sessions::delete_session(call, caller))),
            description: Some(Description {
                id: "delete",
                summary: "Ends an agent session. Every gateway that reaches the database refuses its token within two seconds.",
                members: described::describe_delete,
            }),
        }],
    },
];
